// Many binary logistic regressions over the same columns: sums of loss, gradient and second derivatives of all of them
// in one pass over the rows. Each row belongs to a group (class), and a problem counts the rows of a group as positive,
// as negative, or not at all: the columns of a code matrix. Rows are visited group by group, so that a
// problem of two groups touches the rows of these two alone.
//
// Each thread takes some of the problems and passes over the rows for them, block by block: every sum is one
// thread's, in the order of the rows, and the same for any number of threads.
#pragma once

#include "base/buffer.hpp"
#include "data/columns.hpp"
#include "threads/interrupt.hpp"
#include "threads/team.hpp"

namespace linnet::inline LINNET_ISA {

// Which rows each problem sees, and as which class: a matrix of groups x problems with entries +1 (positive), -1
// (negative) and 0 (left out), stored by group (see fit/solvers/code_matrix.py).
struct CodeMatrix {
  const std::int64_t* row_order;     // rows, group by group
  const std::int64_t* group_starts;  // first place of each group in the row order, and one more: the end
  const std::int64_t* starts;        // first entry of each group in the two arrays that follow, and one more
  const std::int32_t* problem;       // ascending within a group
  const std::int8_t* sign;           // +1 or -1
  int groups, problems;
};

struct BinaryWeights {
  const double* weights;       // of rows; null: all one
  const double* side_weights;  // problems x (negative, positive): factors of the weights of a problem's rows; null: one
  const double* least_curvature;  // of problems: rows of no more curvature are left out of second derivatives
                                  // (infinite: there are none); null: 0
};

class Binaries {
 public:
  Binaries(Columns columns, std::vector<double> center, int threads);
  ~Binaries();

  // Of one problem: weights of the columns, in their order, then the bias.
  std::ptrdiff_t size() const { return columns_.cols() + std::ptrdiff_t{1}; }
  std::int64_t rows() const { return columns_.rows; }

  // loss (problems), gradient (problems x size) and curvature (problems x size x size) = sums over the rows, weighted,
  // at theta (problems x size). Dense columns only, which count from their centers. False when interrupted.
  bool sums(const double* theta, const CodeMatrix& codes, const BinaryWeights& weights, double* loss, double* gradient,
            double* curvature, const Interrupt::Ask& interrupted);

  // step (problems x size) = the solutions of curvature step = gradient.
  bool solve(const double* curvature, const double* gradient, double* step, int problems,
             const Interrupt::Ask& interrupted);

  // z (count) = x theta for pairs of a row and a problem; of any columns. Rows without such a pair cost nothing.
  bool dots(const double* theta, const std::int64_t* row, const std::int32_t* problem, std::int64_t count, double* z,
            const Interrupt::Ask& interrupted);

 private:
  struct Scratch;  // of a thread

  void pass(Scratch& s, const double* theta, const CodeMatrix& codes, const BinaryWeights& weights, int p0, int p1,
            double* loss, double* gradient, double* curvature, int rank, Interrupt& interrupt) const;
  void add(Scratch& s, const double* theta, const double* side_weights, double least_curvature, int r0, int r1,
           double& loss, double* total) const;

  const Columns columns_;
  const std::vector<double> center_;
  const int threads_;
  int block_rows_ = 0;
  std::ptrdiff_t ld_ = 0;
  std::vector<Scratch> scratch_;
  Team team_;
};

}  // namespace linnet::inline LINNET_ISA
