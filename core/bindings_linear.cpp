// Python's view of linear models: their sums, their heads row by row, and the solvers' inner steps.
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <tuple>

#include "bindings.hpp"
#include "changes.hpp"
#include "cholesky.hpp"
#include "head_rows.hpp"
#include "lasso.hpp"
#include "linear.hpp"
#include "row_products.hpp"

namespace linnet {

namespace {

// A linear model's sums and the arrays they are taken over.
struct PyLinear {
  Linear linear;
  PyColumns columns;
  InUse in_use;
};

// An array of rows x outputs.
void require_rows(const Linear& linear, const auto& a, const char* message) {
  require(is_shaped(a, linear.rows(), linear.outputs()), message);
}

void bind_sums(nb::module_& m) {
  using Offset = Matrix<double>;
  using Out = OutMatrix<double>;
  nb::class_<PyLinear>(m, "Linear")
      .def(
          "__init__",
          [](PyLinear* self, const PyColumns& columns, Vector<double> center, Family family, double power,
             std::int64_t outputs, int threads) {
            const Columns& x = columns.x;
            require(x.rows >= 1, "rows: at least 1");
            const int wanted = counted("outputs", outputs, 1, most_outputs);
            counted("threads", threads, 1, most_threads);
            require(is_long(center, x.dense_cols), "center: one a dense column");
            require(family != Family::custom, "a linear model has no custom loss");
            new (self) PyLinear{
                {x, {center.data(), center.data() + center.size()}, {family, power}, wanted, threads}, columns, {}};
          },
          nb::arg("columns"), nb::arg("center"), nb::arg("family"), nb::arg("power"), nb::arg("outputs"),
          nb::arg("threads"))
      .def_prop_ro("size", [](const PyLinear& self) { return self.linear.size(); })
      .def(
          "sums",
          [](PyLinear& self, Vector<double> theta, Vector<std::int32_t> labels, Matrix<double> values,
             Vector<double> weights, Offset offset, OutVector<double> gradient, Out curvature, bool expected,
             int every) {
            const InUse::Turn turn(self.in_use);
            Linear& linear = self.linear;
            const std::ptrdiff_t size = linear.size();
            const std::int64_t rows = linear.rows();
            require(static_cast<std::ptrdiff_t>(theta.size()) == size, "theta: wrong length");
            require(labels.is_valid() != values.is_valid(), "give labels or values");
            if (labels.is_valid()) require(static_cast<std::int64_t>(labels.size()) == rows, "labels: one a row");
            if (labels.is_valid()) require(linear.outputs() > 1, "labels: several outputs");
            if (values.is_valid()) require_rows(linear, values, "values: rows x outputs");
            if (weights.is_valid()) require(static_cast<std::int64_t>(weights.size()) == rows, "weights: one a row");
            if (offset.is_valid()) require_rows(linear, offset, "offset: rows x outputs");
            if (gradient.is_valid())
              require(static_cast<std::ptrdiff_t>(gradient.size()) == size, "gradient: wrong length");
            if (curvature.is_valid())
              require(
                  static_cast<std::ptrdiff_t>(curvature.shape(0)) == size && curvature.shape(1) == curvature.shape(0),
                  "curvature: size x size");
            require(every >= 1, "every: at least 1");
            const Answer answer{
                {labels.is_valid() ? labels.data() : nullptr, values.is_valid() ? values.data() : nullptr},
                weights.is_valid() ? weights.data() : nullptr,
                offset.is_valid() ? offset.data() : nullptr};
            const Linear::Request wanted{theta.data(), gradient.is_valid() ? gradient.data() : nullptr,
                                         curvature.is_valid() ? curvature.data() : nullptr, expected, every};
            Linear::Sums sums;
            finish([&] { return linear.sums(wanted, answer, sums, interrupted); });
            return std::make_tuple(sums.loss, std::make_tuple(sums.low, sums.high));
          },
          nb::arg("theta"), nb::arg("labels").none(), nb::arg("values").none(), nb::arg("weights").none(),
          nb::arg("offset").none(), nb::arg("gradient").noconvert().none(), nb::arg("curvature").noconvert().none(),
          nb::arg("expected") = false, nb::arg("every") = 1)
      .def(
          "predict",
          [](PyLinear& self, Vector<double> theta, Out out) {
            const InUse::Turn turn(self.in_use);
            require(static_cast<std::ptrdiff_t>(theta.size()) == self.linear.size(), "theta: wrong length");
            require_rows(self.linear, out, "out: rows x outputs");
            finish([&] { return self.linear.predict(theta.data(), out.data(), interrupted); });
          },
          nb::arg("theta"), nb::arg("out").noconvert())
      .def(
          "gradient",
          [](PyLinear& self, Matrix<double> d, OutVector<double> out) {
            const InUse::Turn turn(self.in_use);
            require_rows(self.linear, d, "d: rows x outputs");
            require(static_cast<std::ptrdiff_t>(out.size()) == self.linear.size(), "out: wrong length");
            finish([&] { return self.linear.gradient(d.data(), out.data(), interrupted); });
          },
          nb::arg("d"), nb::arg("out").noconvert())
      .def(
          "gradient_by_group",
          [](PyLinear& self, Matrix<double> d, Vector<std::int64_t> group, Out out) {
            const InUse::Turn turn(self.in_use);
            require_rows(self.linear, d, "d: rows x outputs");
            require(static_cast<std::int64_t>(group.size()) == self.linear.rows(), "group: one a row");
            require(static_cast<std::ptrdiff_t>(out.shape(1)) == self.linear.size(), "out: groups x size");
            for (std::size_t r = 0; r < group.size(); ++r)
              require(group.data()[r] >= 0 && group.data()[r] < static_cast<std::int64_t>(out.shape(0)),
                      "group: out of range");
            std::fill_n(out.data(), out.size(), 0.0);
            finish([&] { return self.linear.gradient_by_group(d.data(), group.data(), out.data(), interrupted); });
          },
          nb::arg("d"), nb::arg("group"), nb::arg("out").noconvert())
      .def(
          "sandwich",
          [](PyLinear& self, Vector<double> w, Out out) {
            const InUse::Turn turn(self.in_use);
            const std::ptrdiff_t size = self.linear.size() / self.linear.outputs();
            require(static_cast<std::int64_t>(w.size()) == self.linear.rows(), "w: one a row");
            require(static_cast<std::ptrdiff_t>(out.shape(0)) == size && out.shape(1) == out.shape(0),
                    "out: columns + 1, squared");
            finish([&] { return self.linear.sandwich(w.data(), out.data(), interrupted); });
          },
          nb::arg("w"), nb::arg("out").noconvert())
      .def(
          "quadratic",
          [](PyLinear& self, Matrix<double> m, OutVector<double> out) {
            const InUse::Turn turn(self.in_use);
            const std::ptrdiff_t size = self.linear.size() / self.linear.outputs();
            require(static_cast<std::ptrdiff_t>(m.shape(0)) == size && m.shape(1) == m.shape(0),
                    "m: columns + 1, squared");
            require(static_cast<std::int64_t>(out.size()) == self.linear.rows(), "out: one a row");
            finish([&] { return self.linear.quadratic(m.data(), out.data(), interrupted); });
          },
          nb::arg("m"), nb::arg("out").noconvert());
}

void bind_head(nb::module_& m) {
  using Out = OutMatrix<double>;
  m.def(
      "head_rows",
      [](Family family, double power, Matrix<double> z, Vector<std::int32_t> labels, Matrix<double> values, Out mean,
         OutVector<double> loss, Out slope, Out curvature, bool expected) {
        const std::size_t rows = z.shape(0), outputs = z.shape(1);
        const int count = counted("outputs", outputs, 1, most_outputs);
        require(labels.is_valid() + values.is_valid() < 2, "give labels or values");
        require(
            labels.is_valid() || values.is_valid() || !(loss.is_valid() || slope.is_valid() || curvature.is_valid()),
            "only the mean needs no labels or values");
        if (labels.is_valid()) require(labels.size() == rows, "labels: one a row");
        if (values.is_valid()) require(values.shape(0) == rows && values.shape(1) == outputs, "values: like z");
        if (loss.is_valid()) require(loss.size() == rows, "loss: one a row");
        for (const Out& out : {mean, slope, curvature})
          if (out.is_valid())
            require(out.shape(0) == rows && out.shape(1) == outputs, "mean, slope, curvature: like z");
        auto at = [](const auto& array) { return array.is_valid() ? array.data() : nullptr; };
        const HeadRows wanted{at(mean), at(loss), at(slope), at(curvature), expected};
        nb::gil_scoped_release free;
        head_rows({family, power}, z.data(), {at(labels), at(values)}, static_cast<std::int64_t>(rows), count, wanted);
      },
      nb::arg("family"), nb::arg("power"), nb::arg("z"), nb::arg("labels").none() = nb::none(),
      nb::arg("values").none() = nb::none(), nb::arg("mean").noconvert().none() = nb::none(),
      nb::arg("loss").noconvert().none() = nb::none(), nb::arg("slope").noconvert().none() = nb::none(),
      nb::arg("curvature").noconvert().none() = nb::none(), nb::arg("expected") = false);
}

void bind_cholesky(nb::module_& m) {
  using Kept = OutVector<std::uint8_t>;
  m.def(
      "cholesky",
      [](OutMatrix<double> a, double tolerance, Kept kept) {
        require(a.shape(0) == a.shape(1) && kept.size() == a.shape(0), "a: square, kept: one a row");
        Interrupt interrupt(interrupted);
        const auto n = static_cast<std::ptrdiff_t>(a.shape(0));
        finish([&] { return cholesky(a.data(), n, tolerance, kept.data(), interrupt); });
      },
      nb::arg("a").noconvert(), nb::arg("tolerance"), nb::arg("kept").noconvert());
  m.def(
      "cholesky_solve",
      [](Matrix<double> l, Kept kept, OutMatrix<double> x) {
        require(l.shape(0) == l.shape(1) && kept.size() == l.shape(0) && x.shape(1) == l.shape(0),
                "x: rows of unknowns");
        nb::gil_scoped_release free;
        cholesky_solve(l.data(), static_cast<std::ptrdiff_t>(l.shape(0)), kept.data(), x.data(),
                       static_cast<std::ptrdiff_t>(x.shape(0)));
      },
      nb::arg("l"), nb::arg("kept").noconvert(), nb::arg("x").noconvert());
}

template <class T>
struct PyChanges {
  Changes<T> changes;
  InUse in_use;
};

template <class T>
void bind_changes(nb::module_& m, const char* name) {
  using Kept = PyChanges<T>;
  auto check = [](const Kept& self, const auto& x) { require(is_long(x, self.changes.size()), "wrong length"); };
  nb::class_<Kept>(m, name)
      .def(
          "__init__",
          [](Kept* self, std::ptrdiff_t size, std::ptrdiff_t half, int memory, int threads) {
            require(size >= 1 && size <= most_rows, "size: too many, or none");
            counted("memory", memory, 1, 1 << 16);
            counted("threads", threads, 1, most_threads);
            require(half >= 0 && 2 * half <= size, "half: no more than half the size");
            new (self) Kept{{size, half, memory, threads}, {}};
          },
          nb::arg("size"), nb::arg("half"), nb::arg("memory"), nb::arg("threads"))
      .def("__len__", [](const Kept& self) { return self.changes.count(); })
      .def("clear",
           [](Kept& self) {
             const InUse::Turn turn(self.in_use);
             self.changes.clear();
           })
      .def(
          "push",
          [check](Kept& self, Vector<double> s, Vector<double> y) {
            const InUse::Turn turn(self.in_use);
            check(self, s);
            check(self, y);
            nb::gil_scoped_release free;
            self.changes.push(s.data(), y.data());
          },
          nb::arg("s"), nb::arg("y"))
      .def(
          "forward",
          [check](Kept& self, OutVector<double> q) {
            const InUse::Turn turn(self.in_use);
            check(self, q);
            nb::gil_scoped_release free;
            self.changes.forward(q.data());
          },
          nb::arg("q").noconvert())
      .def(
          "backward",
          [check](Kept& self, OutVector<double> r) {
            const InUse::Turn turn(self.in_use);
            check(self, r);
            nb::gil_scoped_release free;
            self.changes.backward(r.data());
          },
          nb::arg("r").noconvert());
}

struct PyRowProducts {
  RowProducts products;
  InUse in_use;
};

void bind_row_products(nb::module_& m) {
  nb::class_<PyRowProducts>(m, "RowProducts")
      .def(
          "__init__",
          [](PyRowProducts* self, nb::tuple sparse, Vector<double> penalty, int threads) {
            const SparseArrays arrays = SparseArrays::of(sparse);
            Columns x;
            x.sparse = arrays.rows(counted("columns", penalty.size(), 1, most_columns));
            x.rows = counted("rows", arrays.start.size() - 1, 1, RowProducts::most_rows);
            counted("threads", threads, 1, most_threads);
            require(x.sparse.start[x.rows] <= RowProducts::most_entries, "too many entries");
            nb::gil_scoped_release free;
            new (self) PyRowProducts{{x, penalty.data(), threads}, {}};
          },
          nb::arg("sparse"), nb::arg("penalty"), nb::arg("threads"))
      .def_prop_ro_static("most_rows", [](nb::handle) { return RowProducts::most_rows; })
      .def_prop_ro_static("most_entries", [](nb::handle) { return RowProducts::most_entries; })
      .def(
          "apply",
          [](PyRowProducts& py, Matrix<double> u, OutMatrix<double> out) {
            const InUse::Turn turn(py.in_use);
            RowProducts& self = py.products;
            const int outputs = counted("outputs", u.shape(1), 1, most_outputs);
            require(is_shaped(u, self.rows(), outputs) && is_shaped(out, self.rows(), outputs),
                    "u, out: rows x outputs");
            finish([&] { return self.apply(u.data(), outputs, out.data(), interrupted); });
          },
          nb::arg("u"), nb::arg("out").noconvert());
}

// What solvers do with long vectors between two passes, on the calling thread: a BLAS would wake its own threads for
// it, and its sums depend on their number.
void bind_vectors(nb::module_& m) {
  m.def(
      "dot",
      [](Vector<double> a, Vector<double> b, std::ptrdiff_t half) {
        const auto size = static_cast<std::ptrdiff_t>(a.size());
        require(static_cast<std::ptrdiff_t>(b.size()) == size, "a and b: of one length");
        require(half >= 0 && 2 * half <= size, "half: no more than half the size");
        return product_of(a.data(), b.data(), half, 0, size - half);
      },
      nb::arg("a"), nb::arg("b"), nb::arg("half") = 0);
  m.def(
      "take_off_means",
      [](OutMatrix<double> x) {
        const auto cols = static_cast<std::ptrdiff_t>(x.shape(1));
        for (std::size_t r = 0; r < x.shape(0); ++r) {
          double* row = x.data() + static_cast<std::ptrdiff_t>(r) * cols;
          double sum = 0;
          for (std::ptrdiff_t c = 0; c < cols; ++c) sum += row[c];
          for (std::ptrdiff_t c = 0; c < cols; ++c) row[c] -= sum / static_cast<double>(cols);
        }
      },
      nb::arg("x").noconvert(), "Takes off every row its mean.");
}

void bind_lasso(nb::module_& m) {
  using Flags = Vector<std::uint8_t>;
  m.def(
      "lasso_step",
      [](Matrix<double> h, Vector<double> g, Vector<double> theta, Vector<double> l1, Flags free, Flags nonnegative,
         double tolerance, int rounds, OutVector<double> d) {
        const std::size_t n = h.shape(0);
        require(h.shape(1) == n && g.size() == n && theta.size() == n && l1.size() == n && free.size() == n &&
                    nonnegative.size() == n && d.size() == n,
                "all of one length");
        Interrupt interrupt(interrupted);
        int done = 0;
        finish([&] {
          done = lasso_step(d.data(), h.data(), g.data(), theta.data(), l1.data(), free.data(), nonnegative.data(),
                            static_cast<std::ptrdiff_t>(n), tolerance, rounds, interrupt);
          return done > 0;
        });
        return done;
      },
      nb::arg("h"), nb::arg("g"), nb::arg("theta"), nb::arg("l1"), nb::arg("free"), nb::arg("nonnegative"),
      nb::arg("tolerance"), nb::arg("rounds"), nb::arg("d").noconvert());
}

}  // namespace

void bind_linear(nb::module_& m) {
  bind_sums(m);
  bind_head(m);
  bind_cholesky(m);
  bind_lasso(m);
  bind_changes<double>(m, "Changes");
  bind_changes<float>(m, "NarrowChanges");
  bind_row_products(m);
  bind_vectors(m);
}

}  // namespace linnet
