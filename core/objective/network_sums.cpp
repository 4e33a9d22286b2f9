#include "objective/network_sums.hpp"

namespace linnet::inline LINNET_ISA {

namespace {

// Adds each piece of the gradient to the total.
template <class T>
struct Add : PlainSink {
  double* total;

  explicit Add(double* to) : total(to) {}
  bool skips_zeros() const { return true; }

  void operator()(std::size_t, std::ptrdiff_t at, const T* g, int count, bool) const {
    for (int i = 0; i < count; ++i) total[at + i] += static_cast<double>(g[i]);
  }
};

}  // namespace

template <class T>
void Objective<T>::set_theta(const T* theta) {
  layout_.each([&](std::ptrdiff_t flat, std::ptrdiff_t at) { packed_[at] = theta[flat] + T(0); });  // as in training
}

template <class T>
Pass<T>& Objective<T>::pass(const Columns& x, std::int64_t rows) {
  const int wanted = static_cast<int>(std::min<std::int64_t>(rows, Pass<T>::chunk_rows));
  if (!pass_ || !pass_->takes(x, wanted)) pass_ = std::make_unique<Pass<T>>(net_, layout_, x, wanted, max_threads_);
  pass_->use(threads_);
  return *pass_;
}

template <class T>
Sums Objective<T>::sums(const Batch<T>& whole, std::int64_t rows, double* grad) {
  Pass<T>& pass = this->pass(*whole.x, rows);
  Sums sums;
  Buffer<double> total(grad ? packed_.size() : 0);
  Team& team = team_;
  team.run(threads_, [&](int rank) {
    for (std::int64_t first = 0; first < rows; first += Pass<T>::chunk_rows) {
      Batch<T> batch = whole;
      batch.first += first;
      batch.rows = static_cast<int>(std::min<std::int64_t>(Pass<T>::chunk_rows, rows - first));
      const PassMode mode{grad != nullptr, false, 0, 0};
      pass.run(team, rank, packed_.get(), batch, mode, nullptr);
      team.barrier();
      if (rank == 0) {
        for (int r = 0; r < batch.rows; ++r) {
          sums.loss += static_cast<double>(pass.losses()[r]);
          sums.weight += batch.weights ? static_cast<double>(batch.weights[batch.row(r)]) : 1.0;
        }
      }
      if (grad) pass.gradient(rank, batch.rows, mode, Add<T>(total.get()));
      team.barrier();
    }
  });
  if (grad) layout_.each([&](std::ptrdiff_t flat, std::ptrdiff_t at) { grad[flat] = total[at]; });
  return sums;
}

template <class T>
void Objective<T>::predict(const Columns& x, std::int64_t first_row, std::int64_t rows, bool mean, T* out) {
  Pass<T>& pass = this->pass(x, rows);
  const int outputs = net_.outputs();
  Team& team = team_;
  team.run(threads_, [&](int rank) {
    for (std::int64_t first = 0; first < rows; first += Pass<T>::chunk_rows) {
      Batch<T> batch{&x,
                     {},
                     nullptr,
                     nullptr,
                     nullptr,
                     first_row + first,
                     static_cast<int>(std::min<std::int64_t>(Pass<T>::chunk_rows, rows - first))};
      pass.run(team, rank, packed_.get(), batch, {}, nullptr);
      team.barrier();
      const Part mine = part_of(batch.rows, Pass<T>::row_grain, rank, threads_);
      pass.output(out + first * outputs, mine.first, mine.last, mean, rank);
      team.barrier();
    }
  });
}

template class Objective<float>;
template class Objective<double>;

}  // namespace linnet::inline LINNET_ISA
