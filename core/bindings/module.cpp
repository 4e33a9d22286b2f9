// The module, built once for every instruction set and called LINNET_MODULE (_core_v2, _core_v3, ...). Only the files
// of this folder depend on Python; type checkers read src/linnet/_core.pyi. Arrays are checked here for shape and type
// only; what they mean is checked in Python, where errors can name columns and rows.
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <optional>
#include <stdexcept>
#include <tuple>

#include "base/cpu.hpp"
#include "base/random.hpp"
#include "bindings/arrays.hpp"
#include "threads/team.hpp"

using namespace linnet;

#define LINNET_TEXT_OF(name) #name
#define LINNET_TEXT(macro) LINNET_TEXT_OF(macro)

#if defined(__clang__)
constexpr const char* compiler = "clang " __clang_version__;
#else
constexpr const char* compiler = "gcc " __VERSION__;
#endif

NB_MODULE(LINNET_MODULE, m) {
  m.doc() = "linnet's native core, built for one instruction set";
  m.attr("isa") = LINNET_TEXT(LINNET_ISA);
  m.attr("compiler") = compiler;
  m.attr("vector_bytes") = vector_bytes;
  m.attr("has_fma") = has_fma;
#ifdef NDEBUG  // users need no warning about a model that is still alive at interpreter exit
  nb::set_leak_warnings(false);
#endif

  m.def("supported", &supported_isas, "The instruction sets this processor can run, the best last.");

  bind_heads(m);
  bind_network(m);
  bind_network_sums(m);
  bind_trainer(m);
  bind_columns(m);
  bind_linear_sums(m);
  bind_binary_sums(m);
  bind_lbfgs_history(m);
  bind_row_products(m);
  bind_kernels(m);
  bind_metric_counts(m);

  m.def(
      "set_teams_of_any_size", [](bool any) { teams_of_any_size = any; }, nb::arg("any"),
      "For tests: use as many threads as requested, however little work there is.");
  m.def(
      "first_nonfinite",
      [](Table x, int threads) {
        const Design d = design_of(x);
        if (d.kind == Design::Kind::u8) return std::make_tuple(std::int64_t{-1}, std::int64_t{-1});
        nb::gil_scoped_release free;
        const auto parts =
            static_cast<int>(std::clamp<std::int64_t>(d.rows, 1, counted("threads", threads, 1, max_threads)));
        std::vector<Cell> found(parts);
        Team().share(parts, parts, [&](int, std::int64_t part) {
          const std::int64_t first = d.rows * part / parts, count = d.rows * (part + 1) / parts - first;
          auto look = [&](const auto* data) {
            return first_nonfinite(data + first * d.row_stride, count, d.cols, d.row_stride, d.col_stride);
          };
          Cell cell = d.kind == Design::Kind::f32 ? look(static_cast<const float*>(d.data))
                                                  : look(static_cast<const double*>(d.data));
          if (cell.row >= 0) cell.row += first;
          found[part] = cell;
          return true;
        });
        for (const Cell& cell : found)
          if (cell.row >= 0) return std::make_tuple(cell.row, cell.col);
        return std::make_tuple(std::int64_t{-1}, std::int64_t{-1});
      },
      nb::arg("x"), nb::arg("threads") = 1, "Row and column of the first NaN or infinity, or (-1, -1).");
  m.def(
      "uniform",
      [](std::uint64_t seed, std::uint64_t stream, OutVector<double> out) {
        const std::uint64_t key = random_key(seed, Purpose::initial, stream);
        for (std::size_t i = 0; i < out.size(); ++i) out.data()[i] = random_uniform(key, i);
      },
      nb::arg("seed"), nb::arg("stream"), nb::arg("out").noconvert(),
      "Uniform numbers in [0, 1), a function of seed and stream.");
  m.def(
      "permutation",
      [](std::uint64_t seed, std::uint64_t epoch,
         nb::ndarray<std::uint32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu> out) {
        require(out.size() < (std::size_t{1} << 32), "out: fewer than 2^32 rows");
        random_permutation(out.data(), static_cast<std::uint32_t>(out.size()),
                           random_key(seed, Purpose::shuffle, epoch));
      },
      nb::arg("seed"), nb::arg("epoch"), nb::arg("out").noconvert(), "The order of rows in an epoch.");
}
