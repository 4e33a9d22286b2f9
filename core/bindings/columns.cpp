// Python's view of columns.
#include <nanobind/stl/vector.h>

#include "bindings/arrays.hpp"
#include "kernels/combination.hpp"

namespace linnet::inline LINNET_ISA {

namespace {

PyColumns columns_of(std::int64_t rows, std::vector<Table> tables, nb::object sparse, std::int64_t sparse_cols,
                     std::vector<AnyVector> codes, const std::vector<std::int64_t>& levels) {
  PyColumns columns{{}, std::move(tables), {}, std::move(codes)};
  Columns& x = columns.x;
  require(rows >= 0 && rows <= max_rows, "rows: negative or too many");
  x.rows = rows;
  std::int64_t cols = 0;  // of all kinds
  auto add = [&](int& to, std::int64_t more) {
    cols += counted("columns", more, 0, max_columns);
    counted("columns", cols, 0, max_columns);
    to += static_cast<int>(more);
  };
  for (const Table& table : columns.tables) {
    x.tables.push_back(design_of(table));
    require(x.tables.back().rows == rows, "tables: wrong number of rows");
    add(x.dense_cols, x.tables.back().cols);
  }
  if (!sparse.is_none()) {
    columns.sparse = SparseArrays::of(nb::cast<nb::tuple>(sparse));
    require(is_long(columns.sparse.start, rows + 1), "sparse: wrong number of rows");
    add(x.sparse_cols, sparse_cols);
    x.sparse = columns.sparse.rows(x.sparse_cols);
  }
  require(columns.codes.size() == levels.size(), "levels: one per column of codes");
  for (std::size_t c = 0; c < levels.size(); ++c) {
    require(is_long(columns.codes[c], rows), "codes: one per row");
    const AnyVector& column = columns.codes[c];
    const nb::dlpack::dtype type = column.dtype();
    require(type == nb::dtype<std::int8_t>() || type == nb::dtype<std::int16_t>() || type == nb::dtype<std::int32_t>(),
            "codes: int8, int16 or int32");
    add(x.sparse_cols, levels[c]);
    x.codes.push_back({column.data(), type.bits / 8, static_cast<int>(levels[c])});
  }
  x.count_entries();
  return columns;
}

}  // namespace

void bind_columns(nb::module_& m) {
  nb::class_<PyColumns>(m, "Columns")
      .def(
          "__init__",
          [](PyColumns* self, std::int64_t rows, std::vector<Table> tables, nb::object sparse, std::int64_t sparse_cols,
             std::vector<AnyVector> codes, const std::vector<std::int64_t>& levels) {
            new (self) PyColumns(columns_of(rows, std::move(tables), sparse, sparse_cols, std::move(codes), levels));
          },
          nb::arg("rows"), nb::arg("tables"), nb::arg("sparse").none(), nb::arg("sparse_cols"), nb::arg("codes"),
          nb::arg("levels"))
      .def_prop_rw(
          "entries_per_row", [](const PyColumns& self) { return self.x.entries_per_row; },
          [](PyColumns& self, double entries) { self.x.entries_per_row = entries; },
          "Mean number of nonzero values per row, estimated from some rows. Rows that have few are taken entry by "
          "entry; the results are the same.")
      .def(
          "combination",
          [](const PyColumns& self, Vector<double> factors, OutVector<double> out) {
            require(static_cast<int>(factors.size()) == self.x.cols() + 1, "factors: one per column, plus one");
            require(static_cast<std::int64_t>(out.size()) == self.x.rows, "out: one per row");
            Interrupt interrupt(interrupted);
            finish([&] { return combination(self.x, factors.data(), out.data(), interrupt); });
          },
          nb::arg("factors"), nb::arg("out").noconvert(),
          "The sum of all columns times their factors, and of the last factor, in twice the precision and rounded "
          "once.");
  m.def(
      "has_duplicates",
      [](Vector<std::int64_t> start, decltype(SparseArrays::column) column, std::int64_t cols) {
        const SparseRows x = SparseArrays{start, column, {}}.places(counted("columns", cols, 0, max_columns));
        nb::gil_scoped_release free;
        return has_duplicates(x, static_cast<std::int64_t>(start.size()) - 1);
      },
      nb::arg("start"), nb::arg("column"), nb::arg("cols"), "Whether any row has two entries in one column.");
}

}  // namespace linnet::inline LINNET_ISA
