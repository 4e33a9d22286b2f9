// Python's view of a network's sums and predictions.
#include "objective/network_sums.hpp"

#include <nanobind/stl/tuple.h>

#include <tuple>

#include "bindings/targets.hpp"

namespace linnet::inline LINNET_ISA {

namespace {

// Rows [first, first + rows) of columns that a network can take.
void require_rows_of(const Network& net, const Columns& x, std::int64_t first, std::int64_t rows) {
  require(x.cols() == net.inputs(), "x: wrong number of columns");
  require(first >= 0 && rows >= 1 && rows <= x.rows && first <= x.rows - rows, "rows out of range");
}

template <class T>
struct PyObjective {
  Objective<T> objective;
  InUse in_use;
};

template <class T>
void bind(nb::module_& m, const char* name) {
  using Labels = Vector<std::int32_t>;
  using Values = Matrix<T>;
  using Weights = Vector<T>;

  nb::class_<PyObjective<T>>(m, name)
      .def(
          "__init__",
          [](PyObjective<T>* self, const Network& net, int threads) {
            new (self) PyObjective<T>{{net, counted("threads", threads, 1, max_threads)}, {}};
          },
          nb::arg("network"), nb::arg("threads"))
      .def(
          "use_threads",
          [](PyObjective<T>& py, int threads) {
            const InUse::Turn turn(py.in_use);
            py.objective.use(counted("threads", threads, 1, max_threads));
          },
          nb::arg("threads"))
      .def(
          "set_theta",
          [](PyObjective<T>& py, Vector<T> theta) {
            const InUse::Turn turn(py.in_use);
            Objective<T>& self = py.objective;
            require(is_long(theta, self.network().parameters()), "theta: wrong length");
            self.set_theta(theta.data());
          },
          nb::arg("theta"))
      .def(
          "sums",
          [](PyObjective<T>& py, const PyColumns& columns, Labels labels, Values values, Weights weights, Values offset,
             std::int64_t first, std::int64_t rows, OutVector<double> grad) {
            const InUse::Turn turn(py.in_use);
            Objective<T>& self = py.objective;
            const Columns& x = columns.x;
            const PyTargets<T> given{labels, values, weights, offset};
            require_rows_of(self.network(), x, first, rows);
            const Batch<T> batch{
                &x, given.targets(self.network(), x.rows), given.weight_data(), given.offset_data(), nullptr, first, 0};
            if (grad.is_valid()) require(is_long(grad, self.network().parameters()), "grad: wrong length");
            nb::gil_scoped_release free;
            const Sums sums = self.sums(batch, rows, grad.is_valid() ? grad.data() : nullptr);
            return std::make_tuple(sums.loss, sums.weight);
          },
          nb::arg("x"), nb::arg("labels").none(), nb::arg("values").none(), nb::arg("weights").none(),
          nb::arg("offset").none(), nb::arg("first"), nb::arg("rows"), nb::arg("grad").noconvert().none())
      .def(
          "predict",
          [](PyObjective<T>& py, const PyColumns& columns, std::int64_t first, std::int64_t rows, bool mean,
             OutMatrix<T> out) {
            const InUse::Turn turn(py.in_use);
            Objective<T>& self = py.objective;
            const Columns& x = columns.x;
            require_rows_of(self.network(), x, first, rows);
            require(is_shaped(out, rows, self.network().outputs()), "out: rows x outputs");
            nb::gil_scoped_release free;
            self.predict(x, first, rows, mean, out.data());
          },
          nb::arg("x"), nb::arg("first"), nb::arg("rows"), nb::arg("mean"), nb::arg("out").noconvert());
}

}  // namespace

void bind_network_sums(nb::module_& m) {
  bind<float>(m, "ObjectiveF32");
  bind<double>(m, "ObjectiveF64");
}

}  // namespace linnet::inline LINNET_ISA
