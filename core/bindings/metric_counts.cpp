// Python's view of counting for metrics.
#include "kernels/metric_counts.hpp"

#include <nanobind/stl/tuple.h>

#include <limits>
#include <tuple>

#include "bindings/arrays.hpp"

namespace linnet::inline LINNET_ISA {

namespace {

using Scores = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Doubles = nb::ndarray<nb::numpy, double, nb::ndim<1>>;

Doubles give_away(Buffer<double>& values, std::int64_t count) {
  auto* owned = new Buffer<double>(std::move(values));
  nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<Buffer<double>*>(p); });
  return Doubles(owned->get(), {static_cast<std::size_t>(count)}, owner);
}

std::tuple<Doubles, Doubles, Doubles> arrays_of(Cutoffs found) {
  return {give_away(found.threshold, found.count), give_away(found.tp, found.count), give_away(found.fp, found.count)};
}

// Calls f with the scores in their own type.
template <class F>
auto with_scores(const Scores& scores, F&& f) {
  require(scores.size() <= std::numeric_limits<std::uint32_t>::max(), "scores: at most 2^32 - 1 rows");
  if (scores.dtype() == nb::dtype<float>()) return f(static_cast<const float*>(scores.data()));
  require(scores.dtype() == nb::dtype<double>(), "scores: float32 or float64");
  return f(static_cast<const double*>(scores.data()));
}

void require_labels(const Vector<std::int32_t>& labels, std::int64_t classes) {
  bool good = true;
  for (std::size_t i = 0; i < labels.size(); ++i) good &= labels.data()[i] >= 0 && labels.data()[i] < classes;
  require(good, "labels: 0 to classes - 1");
}

}  // namespace

void bind_metric_counts(nb::module_& m) {
  m.def(
      "cutoffs",
      [](Scores scores, Vector<std::uint8_t> positive, Vector<double> weights, int threads) {
        const auto n = static_cast<std::int64_t>(scores.size());
        require(positive.size() == scores.size(), "positive: one per row");
        require(weights.size() == scores.size(), "weights: one per row");
        counted("threads", threads, 1, max_threads);
        std::uint8_t largest = 0;
        for (std::int64_t i = 0; i < n; ++i) largest |= positive.data()[i];
        require(largest <= 1, "positive: 0 or 1");
        auto count = [&] {
          nb::gil_scoped_release free;
          return with_scores(
              scores, [&](const auto* s) { return weigh_cutoffs(s, positive.data(), weights.data(), n, threads); });
        };
        return arrays_of(count());
      },
      nb::arg("scores"), nb::arg("positive"), nb::arg("weights"), nb::arg("threads"),
      "Distinct scores from the highest down, and the weights of positives and negatives at or above each.");
  m.def(
      "merge_cutoffs",
      [](Scores positives, Scores negatives) {
        require(positives.dtype() == negatives.dtype(), "scores: positives and negatives of one type");
        const auto p = static_cast<std::int64_t>(positives.size()), q = static_cast<std::int64_t>(negatives.size());
        auto merge = [&] {
          nb::gil_scoped_release free;
          return with_scores(positives, [&](const auto* s) {
            return merge_cutoffs(s, p, static_cast<decltype(s)>(negatives.data()), q);
          });
        };
        return arrays_of(merge());
      },
      nb::arg("positives"), nb::arg("negatives"),
      "Distinct scores from the highest down, and the numbers of positives and negatives at or above each, from the "
      "scores of positives and of negatives, each sorted from the lowest up.");
  m.def(
      "pairwise_wins",
      [](Scores scores, Vector<std::int32_t> labels, Vector<double> weights, int one, OutVector<double> wins,
         OutVector<double> weight, int threads) {
        const auto n = static_cast<std::int64_t>(scores.size());
        const int classes = counted("classes", wins.size(), 0, max_columns);
        require(labels.size() == scores.size(), "labels: one per row");
        require(!weights.is_valid() || weights.size() == scores.size(), "weights: one per row");
        require(weight.size() == wins.size() && one >= 0 && one < classes, "wins, weight, one");
        counted("threads", threads, 1, max_threads);
        require_labels(labels, classes);
        nb::gil_scoped_release free;
        with_scores(scores, [&](const auto* s) {
          pairwise_wins(s, labels.data(), weights.is_valid() ? weights.data() : nullptr, n, one, wins.data(),
                        weight.data(), classes, threads);
        });
      },
      nb::arg("scores"), nb::arg("labels"), nb::arg("weights").none(), nb::arg("one"), nb::arg("wins").noconvert(),
      nb::arg("weight").noconvert(), nb::arg("threads"));
  m.def(
      "areas",
      [](Vector<double> tp, Vector<double> fp, double beta) {
        require(tp.size() == fp.size(), "tp, fp: one per cut-off");
        nb::gil_scoped_release free;
        const Areas a = areas_of(tp.data(), fp.data(), static_cast<std::int64_t>(tp.size()), beta * beta);
        return std::make_tuple(a.roc, a.average_precision, a.precision_recall, a.best_f, a.best);
      },
      nb::arg("tp"), nb::arg("fp"), nb::arg("beta"),
      "Areas under the curves, not yet divided by the class weights, the highest F-beta and its first cut-off.");
  m.def(
      "count_pairs",
      [](Vector<std::int32_t> actual, Vector<std::int32_t> predicted, Vector<double> weights,
         OutMatrix<double> counts) {
        const auto n = static_cast<std::int64_t>(actual.size()), classes = static_cast<std::int64_t>(counts.shape(0));
        require(predicted.size() == actual.size(), "predicted: one per row");
        require(!weights.is_valid() || weights.size() == actual.size(), "weights: one per row");
        require(counts.shape(1) == counts.shape(0), "counts: classes x classes");
        require_labels(actual, classes);
        require_labels(predicted, classes);
        nb::gil_scoped_release free;
        count_pairs(counts.data(), actual.data(), predicted.data(), weights.is_valid() ? weights.data() : nullptr, n,
                    classes);
      },
      nb::arg("actual"), nb::arg("predicted"), nb::arg("weights").none(), nb::arg("counts").noconvert());
}

}  // namespace linnet::inline LINNET_ISA
