// Python's view of a linear model's sums.
#include "objective/linear_sums.hpp"

#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <tuple>

#include "bindings/arrays.hpp"

namespace linnet::inline LINNET_ISA {

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

}  // namespace

void bind_linear_sums(nb::module_& m) {
  using Offset = Matrix<double>;
  using Out = OutMatrix<double>;
  nb::class_<PyLinear>(m, "Linear")
      .def(
          "__init__",
          [](PyLinear* self, const PyColumns& columns, Vector<double> center, Family family, double parameter,
             std::int64_t outputs, int threads) {
            const Columns& x = columns.x;
            require(x.rows >= 1, "rows: at least 1");
            const int wanted = counted("outputs", outputs, 1, max_outputs);
            counted("threads", threads, 1, max_threads);
            require(is_long(center, x.dense_cols), "center: one per dense column");
            require(family != Family::custom, "a linear model has no custom loss");
            new (self) PyLinear{
                {x, {center.data(), center.data() + center.size()}, {family, parameter}, wanted, threads}, columns, {}};
          },
          nb::arg("columns"), nb::arg("center"), nb::arg("family"), nb::arg("parameter"), nb::arg("outputs"),
          nb::arg("threads"))
      .def_prop_ro("size", [](const PyLinear& self) { return self.linear.size(); })
      .def(
          "sums",
          [](PyLinear& self, Vector<double> theta, Vector<std::int32_t> labels, Matrix<double> values,
             Vector<double> weights, Offset offset, OutVector<double> gradient, Out curvature, bool expected,
             int row_stride) {
            const InUse::Turn turn(self.in_use);
            Linear& linear = self.linear;
            const std::ptrdiff_t size = linear.size();
            const std::int64_t rows = linear.rows();
            require(static_cast<std::ptrdiff_t>(theta.size()) == size, "theta: wrong length");
            require(labels.is_valid() != values.is_valid(), "give labels or values");
            if (labels.is_valid()) require(static_cast<std::int64_t>(labels.size()) == rows, "labels: one per row");
            if (labels.is_valid()) require(linear.outputs() > 1, "labels: several outputs");
            if (values.is_valid()) require_rows(linear, values, "values: rows x outputs");
            if (weights.is_valid()) require(static_cast<std::int64_t>(weights.size()) == rows, "weights: one per row");
            if (offset.is_valid()) require_rows(linear, offset, "offset: rows x outputs");
            if (gradient.is_valid())
              require(static_cast<std::ptrdiff_t>(gradient.size()) == size, "gradient: wrong length");
            if (curvature.is_valid())
              require(
                  static_cast<std::ptrdiff_t>(curvature.shape(0)) == size && curvature.shape(1) == curvature.shape(0),
                  "curvature: size x size");
            require(row_stride >= 1, "row_stride: at least 1");
            const LinearTargets targets{
                {labels.is_valid() ? labels.data() : nullptr, values.is_valid() ? values.data() : nullptr},
                weights.is_valid() ? weights.data() : nullptr,
                offset.is_valid() ? offset.data() : nullptr};
            const Linear::Request wanted{theta.data(), gradient.is_valid() ? gradient.data() : nullptr,
                                         curvature.is_valid() ? curvature.data() : nullptr, expected, row_stride};
            Linear::Sums sums;
            finish([&] { return linear.sums(wanted, targets, sums, interrupted); });
            return std::make_tuple(sums.loss, std::make_tuple(sums.low, sums.high));
          },
          nb::arg("theta"), nb::arg("labels").none(), nb::arg("values").none(), nb::arg("weights").none(),
          nb::arg("offset").none(), nb::arg("gradient").noconvert().none(), nb::arg("curvature").noconvert().none(),
          nb::arg("expected") = false, nb::arg("row_stride") = 1)
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
          "squares",
          [](PyLinear& self, Matrix<double> d, OutVector<double> out) {
            const InUse::Turn turn(self.in_use);
            require_rows(self.linear, d, "d: rows x outputs");
            require(static_cast<std::ptrdiff_t>(out.size()) == self.linear.size(), "out: wrong length");
            finish([&] { return self.linear.squares(d.data(), out.data(), interrupted); });
          },
          nb::arg("d"), nb::arg("out").noconvert())
      .def(
          "gradient_by_group",
          [](PyLinear& self, Matrix<double> d, Vector<std::int64_t> group, Out out) {
            const InUse::Turn turn(self.in_use);
            require_rows(self.linear, d, "d: rows x outputs");
            require(static_cast<std::int64_t>(group.size()) == self.linear.rows(), "group: one per row");
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
            require(static_cast<std::int64_t>(w.size()) == self.linear.rows(), "w: one per row");
            require(static_cast<std::ptrdiff_t>(out.shape(0)) == size && out.shape(1) == out.shape(0),
                    "out: columns + 1, squared");
            finish([&] { return self.linear.sandwich(w.data(), out.data(), interrupted); });
          },
          nb::arg("w"), nb::arg("out").noconvert())
      .def(
          "quadratic",
          [](PyLinear& self, Matrix<double> matrix, OutVector<double> out) {
            const InUse::Turn turn(self.in_use);
            const std::ptrdiff_t size = self.linear.size() / self.linear.outputs();
            require(static_cast<std::ptrdiff_t>(matrix.shape(0)) == size && matrix.shape(1) == matrix.shape(0),
                    "m: columns + 1, squared");
            require(static_cast<std::int64_t>(out.size()) == self.linear.rows(), "out: one per row");
            finish([&] { return self.linear.quadratic(matrix.data(), out.data(), interrupted); });
          },
          nb::arg("m"), nb::arg("out").noconvert());
}

}  // namespace linnet::inline LINNET_ISA
