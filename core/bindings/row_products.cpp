// Python's view of products with rows of a sparse matrix.
#include "kernels/row_products.hpp"

#include "bindings/arrays.hpp"

namespace linnet::inline LINNET_ISA {

namespace {

struct PyRowProducts {
  RowProducts products;
  InUse in_use;
};

}  // namespace

void bind_row_products(nb::module_& m) {
  nb::class_<PyRowProducts>(m, "RowProducts")
      .def(
          "__init__",
          [](PyRowProducts* self, nb::tuple sparse, Vector<double> penalty, int threads) {
            const SparseArrays arrays = SparseArrays::of(sparse);
            Columns x;
            x.sparse = arrays.rows(counted("columns", penalty.size(), 1, max_columns));
            x.rows = counted("rows", arrays.start.size() - 1, 1, RowProducts::max_rows);
            counted("threads", threads, 1, max_threads);
            require(x.sparse.start[x.rows] <= RowProducts::max_entries, "too many entries");
            nb::gil_scoped_release free;
            new (self) PyRowProducts{{x, penalty.data(), threads}, {}};
          },
          nb::arg("sparse"), nb::arg("penalty"), nb::arg("threads"))
      .def_prop_ro_static("most_rows", [](nb::handle) { return RowProducts::max_rows; })
      .def_prop_ro_static("most_entries", [](nb::handle) { return RowProducts::max_entries; })
      .def(
          "apply",
          [](PyRowProducts& py, Matrix<double> u, OutMatrix<double> out) {
            const InUse::Turn turn(py.in_use);
            RowProducts& self = py.products;
            const int outputs = counted("outputs", u.shape(1), 1, max_outputs);
            require(is_shaped(u, self.rows(), outputs) && is_shaped(out, self.rows(), outputs),
                    "u, out: rows x outputs");
            finish([&] { return self.apply(u.data(), outputs, out.data(), interrupted); });
          },
          nb::arg("u"), nb::arg("out").noconvert());
}

}  // namespace linnet::inline LINNET_ISA
