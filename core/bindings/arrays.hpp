// Shared by the files that bind to Python: arrays as they arrive, checks, and Ctrl-C.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <utility>

#include "data/columns.hpp"

#if defined(NB_FREE_THREADED)
#error "The module must not declare that it runs without the GIL: see docs/decisions/0019-python-without-a-gil.md"
#endif

namespace linnet::inline LINNET_ISA {

namespace nb = nanobind;

using Table = nb::ndarray<nb::ro, nb::ndim<2>, nb::device::cpu>;
template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using OutVector = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Matrix = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using OutMatrix = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using AnyVector = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

inline void require(bool condition, const char* message) {
  if (!condition) throw std::invalid_argument(message);
}

// The largest sizes the core handles: columns and outputs in an int, with room for products with the vector width; rows
// in 64 bits. Larger sizes are refused here, so that none is ever truncated.
constexpr std::int64_t max_rows = std::int64_t{1} << 48, max_columns = 1 << 30, max_outputs = 1 << 24,
                       max_threads = 1024;

// A size as an int, checked to lie within the range that the core handles.
template <class Number>
int counted(const char* what, Number n, std::int64_t least, std::int64_t most) {
  if (std::cmp_less(n, least) || std::cmp_greater(n, most))
    throw std::invalid_argument(std::string(what) + ": from " + std::to_string(least) + " to " + std::to_string(most) +
                                ", got " + std::to_string(n));
  return static_cast<int>(n);
}

// Whether an array has a given shape or length.
inline bool is_shaped(const auto& array, std::int64_t rows, std::int64_t cols) {
  return std::cmp_equal(array.shape(0), rows) && std::cmp_equal(array.shape(1), cols);
}
inline bool is_long(const auto& array, std::int64_t length) { return std::cmp_equal(array.size(), length); }

inline Design design_of(const Table& x) {
  Design d;
  if (x.dtype() == nb::dtype<float>())
    d.kind = Design::Kind::f32;
  else if (x.dtype() == nb::dtype<double>())
    d.kind = Design::Kind::f64;
  else if (x.dtype() == nb::dtype<std::uint8_t>())
    d.kind = Design::Kind::u8;
  else
    throw std::invalid_argument("x must be float32, float64 or uint8");
  d.data = x.data();
  require(x.shape(0) <= static_cast<std::size_t>(max_rows), "x: too many rows");
  d.rows = static_cast<std::int64_t>(x.shape(0));
  d.cols = counted("columns", x.shape(1), 0, max_columns);
  d.row_stride = x.stride(0);
  d.col_stride = x.stride(1);
  return d;
}

// A sparse matrix whose indices and values have any of the supported types.
struct SparseArrays {
  Vector<std::int64_t> start;
  AnyVector column, value;

  static SparseArrays of(const nb::tuple& parts) {
    return {nb::cast<decltype(start)>(parts[0]), nb::cast<decltype(column)>(parts[1]),
            nb::cast<decltype(value)>(parts[2])};
  }

  // The structure without the values. Row starts are checked, column indices are not.
  SparseRows places(int cols) const {
    SparseRows s;
    s.start = start.data();
    bool rising = start.size() >= 1 && s.start[0] >= 0;
    for (std::size_t r = 1; rising && r < start.size(); ++r) {
      rising = s.start[r - 1] <= s.start[r];
      s.max_row_entries = std::max(s.max_row_entries, s.start[r] - s.start[r - 1]);
    }
    require(rising && std::cmp_less_equal(s.start[start.size() - 1], column.size()),
            "sparse: row starts must ascend and end within the entries");
    s.column = column.data();
    s.long_column = column.dtype() == nb::dtype<std::int64_t>();
    require(s.long_column || column.dtype() == nb::dtype<std::int32_t>(), "sparse columns: int32 or int64");
    s.cols = cols;
    return s;
  }

  SparseRows rows(int cols) const {
    SparseRows s = places(cols);
    s.kind = value.dtype() == nb::dtype<double>() ? Design::Kind::f64 : Design::Kind::f32;
    require(s.kind == Design::Kind::f64 || value.dtype() == nb::dtype<float>(), "sparse values: float32 or float64");
    require(value.size() == column.size(), "sparse: one value per column index");
    s.value = value.data();
    return s;
  }
};

// Columns and the Python arrays that hold their data.
struct PyColumns {
  Columns x;
  std::vector<Table> tables;
  SparseArrays sparse;
  std::vector<AnyVector> codes;
};

// A native object can run one computation at a time, and runs it without the GIL: a second call meanwhile, by another
// thread or by a custom loss that calls back, is refused before it can corrupt either.
class InUse {
 public:
  class Turn {
   public:
    explicit Turn(InUse& object) : object_(object) {
      if (object_.taken_.exchange(true))
        throw std::runtime_error("in use by another call: an object of the core serves one at a time");
    }
    ~Turn() { object_.taken_ = false; }
    Turn(const Turn&) = delete;

   private:
    InUse& object_;
  };

 private:
  std::atomic<bool> taken_{false};
};

// Checks with Python whether Ctrl-C was pressed. To be called without the GIL; the exception is raised by `finish`.
inline bool interrupted() {
  nb::gil_scoped_acquire hold;
  return PyErr_CheckSignals() != 0;
}

// Runs a pass over the rows without the GIL, and rethrows the exception caught in it.
template <class Pass>
void finish(Pass&& pass) {
  bool done;
  {
    nb::gil_scoped_release free;
    done = pass();
  }
  if (!done) throw nb::python_error();
}

// Each defined in the file of its name
void bind_columns(nb::module_& m);
void bind_heads(nb::module_& m);
void bind_network(nb::module_& m);
void bind_network_sums(nb::module_& m);
void bind_trainer(nb::module_& m);
void bind_linear_sums(nb::module_& m);
void bind_binary_sums(nb::module_& m);
void bind_lbfgs_history(nb::module_& m);
void bind_row_products(nb::module_& m);
void bind_kernels(nb::module_& m);
void bind_metric_counts(nb::module_& m);

}  // namespace linnet::inline LINNET_ISA
