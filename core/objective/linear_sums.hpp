// A network without hidden layers on all its rows, in float64: sums of loss, gradient and second derivatives, for
// solvers that converge to the last digit. theta is the network's: the weights (columns x outputs, in row order), then
// the biases. Dense columns count from their centers.
//
// Rows are cut into ranges, whose number depends on the shape of the problem and not on the threads; each has a
// partial sum, to which its blocks of rows are added in order, and the partial sums are added in order: the same bytes
// for any number of threads.
#pragma once

#include <functional>
#include <limits>
#include <utility>

#include "base/buffer.hpp"
#include "data/columns.hpp"
#include "heads/family.hpp"
#include "threads/interrupt.hpp"
#include "threads/team.hpp"

namespace linnet::inline LINNET_ISA {

// Targets, weights and offsets of the rows.
struct LinearTargets {
  Targets<double> t;                // labels only if there are several outputs
  const double* weights = nullptr;  // null: all one
  const double* offset = nullptr;   // rows x outputs, added to z; null: none
};

class Linear {
 public:
  // center, one per dense column, is subtracted from them
  Linear(Columns columns, std::vector<double> center, Head head, int outputs, int threads);
  ~Linear();

  int outputs() const { return outputs_; }
  std::int64_t rows() const { return columns_.rows; }
  std::ptrdiff_t size() const { return (columns_.cols() + std::ptrdiff_t{1}) * outputs_; }  // of theta

  // Called now and then from the calling thread; true ends the computation.
  using Interrupted = Interrupt::Ask;

  struct Request {
    const double* theta = nullptr;
    double* gradient = nullptr;   // as long as theta, or null
    double* curvature = nullptr;  // size x size, or null
    bool expected = false;        // the curvature's mean over the distribution of t
    int row_stride = 1;           // use one block of rows in `row_stride`
  };

  struct Sums {
    double loss = 0;                                                    // sum over rows of weight x loss
    double low = std::numeric_limits<double>::infinity(), high = -low;  // the smallest and the largest z
  };

  // Sums over the rows; false when interrupted.
  bool sums(const Request& wanted, const LinearTargets& targets, Sums& sums, const Interrupted& interrupted);

  // out (rows x outputs) = z, without the offset.
  bool predict(const double* theta, double* out, const Interrupted& interrupted);

  // out (size of theta) = sum over rows of x_i d_ik: the transposed product; d is rows x outputs.
  bool gradient(const double* d, double* out, const Interrupted& interrupted);

  // out (groups x size of theta) = that sum over the rows of each group; group[r] in 0 .. groups - 1.
  bool gradient_by_group(const double* d, const std::int64_t* group, double* out, const Interrupted& interrupted);

  // out (size of theta) = sum over rows of x_ij^2 d_ik.
  bool squares(const double* d, double* out, const Interrupted& interrupted);

  // out (columns + 1, squared) = sum over rows of w x x'. Rows whose w is 0 cost nothing.
  bool sandwich(const double* w, double* out, const Interrupted& interrupted);

  // out (rows) = x' m x, m (columns + 1, squared) symmetric.
  bool quadratic(const double* m, double* out, const Interrupted& interrupted);

 private:
  struct PartialSum;  // sums over a range of rows
  struct Scratch;     // of a thread

  // What is summed: the gradient, and the second derivatives for these pairs of outputs.
  struct Plan {
    bool gradient = false;
    bool together = false;  // the outputs are those of a categorical head
    std::vector<std::pair<int, int>> pairs;
    bool squared = false;  // the squares of entries take their place
  };

  void set_theta(const double* theta);
  void prepare(const Plan& plan, std::int64_t rows, double more = 0);
  template <class Work>
  bool over_blocks(const Interrupted& interrupted, Work&& work, int row_stride = 1,
                   const std::vector<std::int64_t>& index = {});
  void linear_output(Scratch& s, std::int64_t first, int rows) const;
  void head(Scratch& s, PartialSum& partial, const LinearTargets& targets, std::int64_t first, int rows, bool curved,
            bool expected) const;
  template <class Formulas>
  void head_of_one(const Formulas& formulas, Scratch& s, PartialSum& partial, const LinearTargets& targets,
                   std::int64_t first, int rows, bool curved, bool expected) const;
  template <class Formulas>
  void head_of_many(const Formulas& formulas, Scratch& s, PartialSum& partial, const LinearTargets& targets,
                    std::int64_t first, int rows, bool curved, bool expected) const;
  void add(Scratch& s, PartialSum& partial, BlockRows row, int rows) const;
  void collect(double* gradient, double* curvature, int outputs);
  void cut_columns();
  bool scatter(double* out, const Interrupted& interrupted);
  bool products(const double* d, double* out, bool squared, const Interrupted& interrupted);

  const Columns columns_;
  const std::vector<double> center_;
  const Head head_;
  const int outputs_, threads_;
  int block_rows_ = 0;
  std::ptrdiff_t ld_ = 0;
  Buffer<double> dense_theta_, bias_;  // in panels of outputs; of one output both in a row
  std::ptrdiff_t sparse_step_ = 1;     // outputs, filled up to whole vectors if there are several
  Buffer<double> sparse_theta_;        // sparse columns x sparse_step_
  // With very many sparse columns, every partial sum would need a large gradient of its own. Instead dz is kept, and in
  // a second round each thread adds up the columns between two cuts, rows in order: no sum depends on where the cuts
  // are.
  const bool scattered_;
  Buffer<double> slopes_;  // rows x outputs
  std::vector<int> cuts_;  // bounds of the members' columns in that round
  bool sorted_ = true;     // the entries of every row
  Plan plan_;
  int members_ = 1;  // that go over the rows
  std::vector<PartialSum> partial_sums_;
  std::vector<Scratch> scratch_;
  Team team_;
};

}  // namespace linnet::inline LINNET_ISA
