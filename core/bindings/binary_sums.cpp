// Python's view of many binary problems over the same columns.
#include "objective/binary_sums.hpp"

#include "bindings/arrays.hpp"

namespace linnet::inline LINNET_ISA {

namespace {

struct PyBinaries {
  Binaries binaries;
  PyColumns columns;
  InUse in_use;
};

using Blocks = nb::ndarray<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using OutBlocks = nb::ndarray<double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

// Checks start positions: ascending from 0 to `end`.
void require_starts(const Vector<std::int64_t>& starts, std::size_t end, const char* message) {
  bool good =
      starts.size() >= 1 && starts.data()[0] == 0 && static_cast<std::size_t>(starts.data()[starts.size() - 1]) == end;
  for (std::size_t i = 1; good && i < starts.size(); ++i) good = starts.data()[i] >= starts.data()[i - 1];
  require(good, message);
}

void require_below(const auto& numbers, std::int64_t end, const char* message) {
  for (std::size_t i = 0; i < numbers.size(); ++i) require(numbers.data()[i] >= 0 && numbers.data()[i] < end, message);
}

}  // namespace

void bind_binary_sums(nb::module_& m) {
  nb::class_<PyBinaries>(m, "Binaries")
      .def(
          "__init__",
          [](PyBinaries* self, const PyColumns& columns, Vector<double> center, int threads) {
            require(columns.x.rows >= 1, "rows: at least 1");
            counted("threads", threads, 1, max_threads);
            require(is_long(center, columns.x.dense_cols), "center: one per dense column");
            new (self) PyBinaries{{columns.x, {center.data(), center.data() + center.size()}, threads}, columns, {}};
          },
          nb::arg("columns"), nb::arg("center"), nb::arg("threads"))
      .def(
          "sums",
          [](PyBinaries& self, Matrix<double> theta, Vector<std::int64_t> row_order, Vector<std::int64_t> group_starts,
             Vector<std::int64_t> starts, Vector<std::int32_t> problem, Vector<std::int8_t> sign,
             Vector<double> weights, Matrix<double> side_weights, Vector<double> least_curvature,
             OutVector<double> loss, OutMatrix<double> gradient, OutBlocks curvature) {
            const InUse::Turn turn(self.in_use);
            Binaries& binaries = self.binaries;
            const std::size_t problems = theta.shape(0), size = static_cast<std::size_t>(binaries.size());
            require(self.columns.x.sparse_cols == 0, "dense columns only");
            require(theta.shape(1) == size, "theta: problems x size");
            require(group_starts.size() == starts.size(), "group_starts, starts: one per group, plus one");
            require_starts(group_starts, row_order.size(), "group_starts: must ascend to the end of the row order");
            require_starts(starts, problem.size(), "starts: must ascend to the end of the problems");
            require_below(row_order, binaries.rows(), "row_order: rows");
            require_below(problem, static_cast<std::int64_t>(problems), "problem: out of range");
            require(sign.size() == problem.size(), "sign: one per entry");
            if (weights.is_valid()) require(is_long(weights, binaries.rows()), "weights: one per row");
            if (side_weights.is_valid())
              require(side_weights.shape(0) == problems && side_weights.shape(1) == 2, "side_weights: problems x 2");
            if (least_curvature.is_valid())
              require(least_curvature.size() == problems, "least_curvature: one per problem");
            require(loss.size() == problems && gradient.shape(0) == problems && gradient.shape(1) == size &&
                        curvature.shape(0) == problems && curvature.shape(1) == size && curvature.shape(2) == size,
                    "loss, gradient, curvature: one per problem");
            const CodeMatrix codes{row_order.data(),
                                   group_starts.data(),
                                   starts.data(),
                                   problem.data(),
                                   sign.data(),
                                   counted("groups", group_starts.size() - 1, 0, max_columns),
                                   counted("problems", problems, 0, max_columns)};
            const BinaryWeights factors{weights.is_valid() ? weights.data() : nullptr,
                                        side_weights.is_valid() ? side_weights.data() : nullptr,
                                        least_curvature.is_valid() ? least_curvature.data() : nullptr};
            finish([&] {
              return binaries.sums(theta.data(), codes, factors, loss.data(), gradient.data(), curvature.data(),
                                   interrupted);
            });
          },
          nb::arg("theta"), nb::arg("row_order"), nb::arg("group_starts"), nb::arg("starts"), nb::arg("problem"),
          nb::arg("sign"), nb::arg("weights").none(), nb::arg("side_weights").none(), nb::arg("least_curvature").none(),
          nb::arg("loss").noconvert(), nb::arg("gradient").noconvert(), nb::arg("curvature").noconvert())
      .def(
          "solve",
          [](PyBinaries& self, Blocks curvature, Matrix<double> gradient, OutMatrix<double> step) {
            const InUse::Turn turn(self.in_use);
            const std::size_t problems = gradient.shape(0), size = static_cast<std::size_t>(self.binaries.size());
            require(gradient.shape(1) == size && step.shape(0) == problems && step.shape(1) == size &&
                        curvature.shape(0) == problems && curvature.shape(1) == size && curvature.shape(2) == size,
                    "curvature, gradient, step: one per problem");
            const int all = counted("problems", problems, 0, max_columns);
            finish(
                [&] { return self.binaries.solve(curvature.data(), gradient.data(), step.data(), all, interrupted); });
          },
          nb::arg("curvature"), nb::arg("gradient"), nb::arg("step").noconvert())
      .def(
          "dots",
          [](PyBinaries& self, Matrix<double> theta, Vector<std::int64_t> row, Vector<std::int32_t> problem,
             OutVector<double> z) {
            const InUse::Turn turn(self.in_use);
            require(static_cast<std::ptrdiff_t>(theta.shape(1)) == self.binaries.size(), "theta: problems x size");
            require(row.size() == problem.size() && z.size() == row.size(), "row, problem, z: of equal length");
            require_below(row, self.binaries.rows(), "row: out of range");
            require_below(problem, static_cast<std::int64_t>(theta.shape(0)), "problem: out of range");
            finish([&] {
              return self.binaries.dots(theta.data(), row.data(), problem.data(), static_cast<std::int64_t>(row.size()),
                                        z.data(), interrupted);
            });
          },
          nb::arg("theta"), nb::arg("row"), nb::arg("problem"), nb::arg("z").noconvert());
}

}  // namespace linnet::inline LINNET_ISA
