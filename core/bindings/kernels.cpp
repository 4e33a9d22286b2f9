// What solvers do between two passes over the rows, as functions of arrays.
#include <nanobind/stl/tuple.h>

#include <tuple>

#include "bindings/arrays.hpp"
#include "kernels/cholesky.hpp"
#include "kernels/eigenvalues.hpp"
#include "kernels/lasso.hpp"
#include "objective/lbfgs_history.hpp"

namespace linnet::inline LINNET_ISA {

namespace {

void bind_cholesky(nb::module_& m) {
  using Kept = OutVector<std::uint8_t>;
  m.def(
      "cholesky",
      [](OutMatrix<double> a, double tolerance, Kept kept) {
        require(a.shape(0) == a.shape(1) && kept.size() == a.shape(0), "a: square, kept: one per row");
        Interrupt interrupt(interrupted);
        const auto n = static_cast<std::ptrdiff_t>(a.shape(0));
        finish([&] { return cholesky(a.data(), n, tolerance, kept.data(), interrupt); });
      },
      nb::arg("a").noconvert(), nb::arg("tolerance"), nb::arg("kept").noconvert());
  m.def(
      "cholesky_solve",
      [](Matrix<double> l, Kept kept, OutMatrix<double> x) {
        require(l.shape(0) == l.shape(1) && kept.size() == l.shape(0) && x.shape(1) == l.shape(0),
                "l: square, kept: one per row, x: one column per row of l");
        nb::gil_scoped_release free;
        cholesky_solve(l.data(), static_cast<std::ptrdiff_t>(l.shape(0)), kept.data(), x.data(),
                       static_cast<std::ptrdiff_t>(x.shape(0)));
      },
      nb::arg("l"), nb::arg("kept").noconvert(), nb::arg("x").noconvert());
  m.def(
      "solve_each",
      [](nb::ndarray<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu> a, OutMatrix<double> x) {
        const std::size_t n = x.shape(1);
        require(a.shape(0) == x.shape(0) && a.shape(1) == n && a.shape(2) == n, "a: one matrix per row of x");
        Interrupt interrupt(interrupted);
        std::vector<double> l(n * n), scale(n);
        std::vector<std::uint8_t> kept(n);
        finish([&] {
          for (std::size_t i = 0; i < x.shape(0); ++i) {
            if (i % 256 == 0 && interrupt.due()) return false;
            cholesky_solve_scaled(a.data() + i * n * n, static_cast<std::ptrdiff_t>(n), x.data() + i * n, l.data(),
                                  scale.data(), kept.data());
          }
          return true;
        });
      },
      nb::arg("a"), nb::arg("x").noconvert(), "Each row of x becomes the solution of a x = x with its own matrix a.");
  m.def(
      "eigenvalues",
      [](OutMatrix<double> a, OutVector<double> values) {
        require(a.shape(0) == a.shape(1) && values.size() == a.shape(0) && a.shape(0) >= 1,
                "a: square, values: one per row");
        Interrupt interrupt(interrupted);
        const auto n = static_cast<std::ptrdiff_t>(a.shape(0));
        finish([&] { return eigenvalues(a.data(), n, values.data(), interrupt); });
      },
      nb::arg("a").noconvert(), nb::arg("values").noconvert(),
      "Eigenvalues of a symmetric matrix, which is overwritten, in ascending order.");
}

// What solvers do with long vectors between two passes, on the calling thread: a BLAS would wake its own threads for
// it, and its sums depend on their number.
void bind_vectors(nb::module_& m) {
  m.def(
      "dot",
      [](Vector<double> a, Vector<double> b, std::ptrdiff_t dual_size) {
        const auto size = static_cast<std::ptrdiff_t>(a.size());
        require(static_cast<std::ptrdiff_t>(b.size()) == size, "a and b: of equal length");
        require(dual_size >= 0 && 2 * dual_size <= size, "dual_size: no more than half the size");
        return inner_product(a.data(), b.data(), dual_size, 0, size - dual_size);
      },
      nb::arg("a"), nb::arg("b"), nb::arg("dual_size") = 0);
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
      nb::arg("x").noconvert(), "Subtracts its mean from each row.");
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
                "all of equal length");
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

void bind_kernels(nb::module_& m) {
  bind_cholesky(m);
  bind_vectors(m);
  bind_lasso(m);
}

}  // namespace linnet::inline LINNET_ISA
