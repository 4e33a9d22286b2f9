// A network without hidden layers on all its rows, in float64: sums of loss, gradient and second derivatives, for
// solvers that go to the last digit. theta is the network's: the weights (columns x outputs, in row order), then the
// biases. Dense columns count from their centers.
//
// Rows are cut into strands, as many as the shape of the problem says and whatever the number of threads; a strand adds
// up its blocks of rows in order, and the sums of the strands are added in order: the same bytes for any number of
// threads.
#pragma once

#include <functional>
#include <limits>
#include <utility>

#include "buffer.hpp"
#include "columns.hpp"
#include "family.hpp"
#include "interrupt.hpp"
#include "team.hpp"

namespace linnet {

// The rows' other half.
struct Answer {
  Targets<double> t;                // labels only if there are several outputs
  const double* weights = nullptr;  // null: all one
  const double* offset = nullptr;   // rows x outputs, added to z; null: none
};

class Linear {
 public:
  // center, one a dense column, is taken off them
  Linear(Columns columns, std::vector<double> center, Head head, int outputs, int threads);
  ~Linear();

  int outputs() const { return outputs_; }
  std::int64_t rows() const { return columns_.rows; }
  std::ptrdiff_t size() const { return (columns_.cols() + std::ptrdiff_t{1}) * outputs_; }  // of theta

  // Asked now and then from the calling thread; true ends what is going on.
  using Interrupted = Interrupt::Ask;

  struct Request {
    const double* theta = nullptr;
    double* gradient = nullptr;   // as long as theta, or null
    double* curvature = nullptr;  // size x size, or null
    bool expected = false;        // the curvature's mean over the distribution of t
    int every = 1;                // look at one block of rows in so many
  };

  struct Sums {
    double loss = 0;                                                    // sum over rows of weight x loss
    double low = std::numeric_limits<double>::infinity(), high = -low;  // the smallest and the largest z
  };

  // Sums over the rows; false when interrupted.
  bool sums(const Request& wanted, const Answer& answer, Sums& sums, const Interrupted& interrupted);

  // out (rows x outputs) = z, without the offset.
  bool predict(const double* theta, double* out, const Interrupted& interrupted);

  // out (size of theta) = sum over rows of x_i d_ik: the transposed product; d is rows x outputs.
  bool gradient(const double* d, double* out, const Interrupted& interrupted);

  // out (groups x size of theta) = the same sum for the rows of each group; group[r] in 0 .. groups - 1.
  bool gradient_by_group(const double* d, const std::int64_t* group, double* out, const Interrupted& interrupted);

  // out (columns + 1, squared) = sum over rows of w x x'. Rows whose w is 0 cost nothing.
  bool sandwich(const double* w, double* out, const Interrupted& interrupted);

  // out (rows) = x' m x, m (columns + 1, squared) symmetric.
  bool quadratic(const double* m, double* out, const Interrupted& interrupted);

 private:
  struct Strand;   // sums over part of the rows
  struct Scratch;  // of a thread

  // What is summed: the gradient, and the second derivatives for these pairs of outputs.
  struct Plan {
    bool gradient = false;
    bool together = false;  // the outputs are those of a categorical head
    std::vector<std::pair<int, int>> pairs;
  };

  void set_theta(const double* theta);
  void prepare(const Plan& plan, std::int64_t rows, double more = 0);
  template <class Work>
  bool over_blocks(const Interrupted& interrupted, Work&& work, int every = 1,
                   const std::vector<std::int64_t>& index = {});
  void linear_output(Scratch& s, std::int64_t first, int rows) const;
  void head(Scratch& s, Strand& strand, const Answer& answer, std::int64_t first, int rows, bool curved,
            bool expected) const;
  template <Family family>
  void head_of_one(Scratch& s, Strand& strand, const Answer& answer, std::int64_t first, int rows, bool curved,
                   bool expected) const;
  void head_of_many(Scratch& s, Strand& strand, const Answer& answer, std::int64_t first, int rows, bool curved,
                    bool expected) const;
  void add(Scratch& s, Strand& strand, BlockRows row, int rows) const;
  void collect(double* gradient, double* curvature, int outputs);
  void cut_columns();
  bool scatter(double* out, const Interrupted& interrupted);

  const Columns columns_;
  const std::vector<double> center_;
  const Head head_;
  const int outputs_, threads_;
  int block_rows_ = 0;
  std::ptrdiff_t ld_ = 0;
  Buffer<double> dense_theta_, bias_;  // in panels of outputs; of one output both in a row
  std::ptrdiff_t sparse_step_ = 1;     // outputs, filled up to whole vectors if there are several
  Buffer<double> sparse_theta_;        // sparse columns x sparse_step_
  // Of very many sparse columns every strand would need a gradient of its own. Instead dz is kept, and in a second
  // round each thread adds up the columns between two cuts, rows in order: no sum depends on where the cuts are.
  const bool scattered_;
  Buffer<double> slopes_;  // rows x outputs
  std::vector<int> cuts_;  // one more than the members that do so
  bool sorted_ = true;     // the entries of every row
  Plan plan_;
  int members_ = 1;  // that go over the rows
  std::vector<Strand> strands_;
  std::vector<Scratch> scratch_;
  Team team_;
};

}  // namespace linnet
