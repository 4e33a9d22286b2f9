#include <bit>

#include "kernels/product.hpp"
#include "objective/linear_blocks.hpp"

namespace linnet::inline LINNET_ISA {

namespace {

constexpr int V = lanes<double>;
constexpr int group = Tile<double>::panels;  // panels that are summed together
constexpr std::ptrdiff_t cached_sparse_parameters =
    32768;  // parameters of sparse columns that no longer fit in a fast cache

}  // namespace

Linear::~Linear() = default;

Linear::Linear(Columns columns, std::vector<double> center, Head head, int outputs, int threads)
    : columns_(std::move(columns)),
      center_(std::move(center)),
      head_(head),
      outputs_(outputs),
      threads_(threads),
      sparse_step_(outputs == 1 ? 1 : std::ptrdiff_t{panels_of<double>(outputs)} * V),
      scattered_(std::ptrdiff_t{columns_.sparse_cols} * outputs > cached_sparse_parameters) {
  const int dense = columns_.dense_cols + 1;
  block_rows_ = std::clamp(24576 / dense / 8 * 8, 32, 256);  // a block of x and its weighted twin in L2
  block_rows_ = static_cast<int>(std::min<std::int64_t>(block_rows_, (columns_.rows + 7) / 8 * 8));
  ld_ = block_rows_ + cache_line / vector_bytes;
  dense_theta_ = Buffer<double>(outputs == 1 ? std::ptrdiff_t{panels_of<double>(dense)} * V
                                             : std::ptrdiff_t{panels_of<double>(outputs)} * columns_.dense_cols * V);
  bias_ = Buffer<double>(panels_of<double>(outputs) * V);
  sparse_theta_ = Buffer<double>(columns_.sparse_cols * sparse_step_);
}

void Linear::set_theta(const double* theta) {
  const int dense = columns_.dense_cols;
  if (outputs_ == 1) {
    std::copy_n(theta, dense, dense_theta_.get());
    dense_theta_[dense] = theta[columns_.cols()];  // the intercept is the last column of x
    std::copy_n(theta + dense, columns_.sparse_cols, sparse_theta_.get());
    return;
  }
  for (int c = 0; c < dense; ++c)
    for (int k = 0; k < outputs_; ++k)
      dense_theta_[(std::ptrdiff_t{k / V} * dense + c) * V + k % V] = theta[std::ptrdiff_t{c} * outputs_ + k];
  for (std::ptrdiff_t c = 0; c < columns_.sparse_cols; ++c)
    std::copy_n(theta + (dense + c) * outputs_, outputs_, sparse_theta_.get() + c * sparse_step_);
  for (int k = 0; k < outputs_; ++k) bias_[k] = theta[std::ptrdiff_t{columns_.cols()} * outputs_ + k];
}

// Allocates the partial sums of a plan over `rows` rows and zeroes them. `more`: further multiply-adds per row.
void Linear::prepare(const Plan& plan, std::int64_t rows, double more) {
  const std::ptrdiff_t dense = columns_.dense_cols + 1, sparse = columns_.sparse_cols;
  const std::ptrdiff_t in_gradient = plan.gradient && !scattered_ ? sparse * outputs_ : 0;
  const std::ptrdiff_t pairs = static_cast<std::ptrdiff_t>(plan.pairs.size());
  const std::ptrdiff_t extra = plan.gradient ? outputs_ : 0;
  const std::ptrdiff_t width = std::ptrdiff_t{panels_of<double>(static_cast<int>(dense))} * V;
  // the gradient's columns ride along with the first pair
  const std::ptrdiff_t first = std::ptrdiff_t{panels_of<double>(static_cast<int>((pairs ? dense : 0) + extra))} * V;
  const std::ptrdiff_t in_dense = (first + std::max<std::ptrdiff_t>(0, pairs - 1) * width) * dense;
  const std::ptrdiff_t in_curvature = pairs * sparse * (width + sparse);
  const double bytes = 8.0 * static_cast<double>(1 + in_dense + in_gradient + in_curvature);
  // no more memory than a quarter of float32 data, so a wide problem has fewer partial sums; and each partial sum of
  // second derivatives has enough rows to be worth its memory
  const double limit = std::max(16e6, static_cast<double>(columns_.rows) * columns_.dense_cols) / bytes;
  const std::int64_t least = pairs ? std::max(block_rows_, 512) : block_rows_;
  // threads share a power of two evenly
  const std::int64_t most =
      limit < max_partial_sums ? std::bit_floor(static_cast<std::uint64_t>(limit)) : max_partial_sums;
  const auto partials = std::clamp<std::int64_t>(most, 1, (rows + least - 1) / least);
  plan_ = plan;
  const auto wide = static_cast<double>(dense);
  more += (wide + 4 * columns_.entries_per_row) * outputs_ + static_cast<double>(pairs) * wide * wide / 2;
  members_ = members_for(static_cast<double>(rows) * more, std::min(threads_, max_partial_sums));
  const bool fits = !partial_sums_.empty() && static_cast<std::int64_t>(partial_sums_.size()) == partials &&
                    partial_sums_[0].dense.size() == in_dense &&
                    partial_sums_[0].sparse_curvature.size() == in_curvature &&
                    partial_sums_[0].sparse_gradient.size() == in_gradient;
  if (!fits) {
    partial_sums_.clear();
    partial_sums_.resize(static_cast<std::size_t>(partials));
    for (PartialSum& s : partial_sums_) {
      s.dense = Buffer<double>(in_dense);
      s.sparse_gradient = Buffer<double>(in_gradient);
      s.sparse_curvature = Buffer<double>(in_curvature);
    }
  } else {
    for (PartialSum& s : partial_sums_) {
      s.sums = {};
      for (Buffer<double>* b : {&s.dense, &s.sparse_gradient, &s.sparse_curvature})
        std::fill_n(b->get(), b->size(), 0.0);
    }
  }
  if (plan.gradient && scattered_ && slopes_.size() == 0) slopes_ = Buffer<double>(columns_.rows * outputs_);
  if (scratch_.empty()) {
    scratch_.resize(std::min(threads_, max_partial_sums));
    const int outputs = panels_of<double>(outputs_) * V;
    for (Scratch& s : scratch_) {
      s.x = Buffer<double>(width * ld_);
      s.scaled = Buffer<double>((width + outputs + V) * ld_);
      s.z = Buffer<double>(outputs * ld_);
      s.dz = Buffer<double>(outputs_ * ld_);
      s.curved = Buffer<double>(outputs_ * ld_);
      s.z_lanes = Buffer<double>(outputs * V);
      s.t_lanes = Buffer<double>(outputs * V);
      s.out_lanes = Buffer<double>(outputs * V);
      s.loss = Buffer<double>(ld_);
      s.factor = Buffer<double>(ld_);
    }
  }
}

// sums (one per column) = x' d for rows in panels: the same chains of sums as those of outer_product, but a panel of
// columns at a time.
static void weighted_sums(double* sums, const double* d, const double* x, std::ptrdiff_t ld, int rows, int panels) {
  constexpr int most = 8;  // panels whose sums stay in registers
  for (int p = 0; p < panels; p += most) {
    with_constant<most>(std::min(most, panels - p), [&](auto count) {
      Vec<double> sum[count.value];
      for (int q = 0; q < count.value; ++q) sum[q] = Vec<double>{};
      for (int r = 0; r < rows; ++r) {
        const Vec<double> slope = broadcast(d[r]);
#pragma GCC unroll 8
        for (int q = 0; q < count.value; ++q) sum[q] = fma(slope, load(x + ((p + q) * ld + r) * V), sum[q]);
      }
      for (int q = 0; q < count.value; ++q) store(sums + (p + q) * V, sum[q]);
    });
  }
}

// z = x theta for a block of rows: one per row, or in panels if there are several outputs.
void Linear::linear_output(Scratch& s, std::int64_t first, int rows) const {
  if (outputs_ == 1) {
    row_dots(s.z.get(), s.x.get(), ld_, dense_theta_.get(), panels_of<double>(columns_.dense_cols + 1), rows);
    if (columns_.sparse_cols)
      for (int r = 0; r < rows; ++r) s.z[r] += columns_.entries_dot(first + r, sparse_theta_.get());
    return;
  }
  const int panels = panels_of<double>(outputs_);
  product<double>(s.z.get(), ld_, bias_.get(), 1, s.x.get(), ld_, dense_theta_.get(), columns_.dense_cols,
                  columns_.dense_cols, 0, rows, 0, panels);
  if (columns_.sparse_cols == 0) return;
  constexpr int most = 8;  // panels whose sums stay in registers
  for (int p = 0; p < panels; p += most) {
    with_constant<most>(std::min(most, panels - p), [&](auto count) {
      const double* theta = sparse_theta_.get() + p * V;
      for (int r = 0; r < rows; ++r) {
        Vec<double> sum[count.value];
        for (int q = 0; q < count.value; ++q) sum[q] = load(s.z.get() + ((p + q) * ld_ + r) * V);
        columns_.each_entry(first + r, [&](int c, double v) {
#pragma GCC unroll 8
          for (int q = 0; q < count.value; ++q)
            sum[q] = fma(broadcast(v), load(theta + c * sparse_step_ + q * V), sum[q]);
        });
        for (int q = 0; q < count.value; ++q) store(s.z.get() + ((p + q) * ld_ + r) * V, sum[q]);
      }
    });
  }
}

// Loss, dz and (if wanted) curvature of a block of rows, all times the rows' weights.
void Linear::head(Scratch& s, PartialSum& partial, const LinearTargets& targets, std::int64_t first, int rows,
                  bool curved, bool expected) const {
  with_formulas<double>(head_, [&](const auto& formulas) {
    if (outputs_ == 1)
      head_of_one(formulas, s, partial, targets, first, rows, curved, expected);
    else
      head_of_many(formulas, s, partial, targets, first, rows, curved, expected);
  });
}

// `head` for one output, whose z, targets, weights and offsets are contiguous.
template <class Formulas>
void Linear::head_of_one(const Formulas& formulas, Scratch& s, PartialSum& partial, const LinearTargets& targets,
                         std::int64_t first, int rows, bool curved, bool expected) const {
  Vec<double> low = broadcast(partial.sums.low), high = broadcast(partial.sums.high);
  for (int r = 0; r < rows; r += V) {
    const int count = std::min(V, rows - r);
    const auto from = [&](const double* of_rows, double none) {  // beyond the end, the last row repeated
      if (!of_rows) return broadcast(none);
      if (count == V) return load(of_rows + first + r);
      Vec<double> v{};
      for (int lane = 0; lane < V; ++lane) v[lane] = of_rows[first + r + std::min(lane, count - 1)];
      return v;
    };
    Vec<double> z = load(s.z.get() + r) + from(targets.offset, 0.0), weight = from(targets.weights, 1.0);
    for (int lane = count; lane < V; ++lane) z[lane] = z[count - 1], weight[lane] = 0;
    low = min(z, low), high = max(z, high);
    const Vec<double> t = from(targets.t.values, 0.0), none{};
    double at[V], dz[V], second[V] = {};
    store(at, z);
    const auto target = [t](int) { return t; };
    if (curved) curvature_lanes(formulas, second, at, 1, target, expected);
    const Vec<double> loss = loss_lanes<true>(formulas, dz, at, 1, target, weight);
    const auto counts = weight != 0.0;  // a row without weight adds nothing, even if its loss is infinite
    store(s.dz.get() + r, counts ? load(dz) : none);
    if (curved) store(s.curved.get() + r, counts ? load(second) : none);
    store(s.loss.get() + r, counts ? loss : none);
    store(s.factor.get() + r, weight);
  }
  partial.sums.low = low[0], partial.sums.high = high[0];
  for (int lane = 1; lane < V; ++lane) {
    partial.sums.low = std::min(partial.sums.low, low[lane]);
    partial.sums.high = std::max(partial.sums.high, high[lane]);
  }
  for (int r = 0; r < rows; ++r) partial.sums.loss += s.loss[r];
}

template <class Formulas>
void Linear::head_of_many(const Formulas& formulas, Scratch& s, PartialSum& partial, const LinearTargets& targets,
                          std::int64_t first, int rows, bool curved, bool expected) const {
  const int K = outputs_, panels = panels_of<double>(K);
  double *z = s.z_lanes.get(), *out = s.out_lanes.get();
  Sums sums = partial.sums;
  for (int r = 0; r < rows; r += V) {
    for (int p = 0; p < panels; ++p) transpose_square(z + p * V * V, s.z.get() + (p * ld_ + r) * V);
    Vec<double> weight{};
    std::int64_t row[V];
    for (int lane = 0; lane < V; ++lane) {
      row[lane] = first + std::min(r + lane, rows - 1);  // beyond the end, the last row repeated, with no weight
      weight[lane] = r + lane < rows ? (targets.weights ? targets.weights[row[lane]] : 1.0) : 0.0;
      for (int k = 0; k < K; ++k) {
        double& at = z[k * V + lane];
        if (r + lane >= rows)
          at = z[k * V + rows - 1 - r];
        else if (targets.offset)
          at += targets.offset[row[lane] * K + k];
        sums.low = std::min(sums.low, at), sums.high = std::max(sums.high, at);
      }
    }
    const Vec<double> loss = with_targets(formulas, targets.t, row, K, s.t_lanes.get(), [&](auto&& target) {
      if (curved) curvature_lanes(formulas, out, z, K, target, expected);
      return loss_lanes<true>(formulas, z, z, K, target, weight);
    });
    store(s.loss.get() + r, loss);
    store(s.factor.get() + r, weight);
    for (int k = 0; k < K; ++k) {
      store(s.dz.get() + k * ld_ + r, load(z + k * V));
      if (curved) store(s.curved.get() + k * ld_ + r, load(out + k * V));
    }
  }
  for (int r = 0; r < rows; ++r) {
    if (s.factor[r] != 0) {
      sums.loss += s.loss[r];
    } else {  // a row without weight adds nothing, even if its loss is infinite
      for (int k = 0; k < K; ++k) s.dz[k * ld_ + r] = s.curved[k * ld_ + r] = 0;
    }
  }
  partial.sums = sums;
}

// Adds a block's x' dz, and x' diag(c) x for every pair of outputs, to a partial sum. The weights c are the curvature
// times the row's factor; of joint outputs, c_kl = p_k (k = l) - p_k p_l.
void Linear::add(Scratch& s, PartialSum& partial, BlockRows row, int rows) const {
  const int K = outputs_, dense = columns_.dense_cols + 1, width = panels_of<double>(dense);
  const std::ptrdiff_t sparse = columns_.sparse_cols;
  double* total = partial.dense.get();
  // total (panels x dense rows) += x' d
  auto outer = [&](const double* d, int panels, int triangle) {
    for (int p = 0; p < panels; p += group) {
      const int count = std::min(group, panels - p);
      const int last = p + count <= triangle ? std::min(dense, (p + count) * V) : dense;
      outer_product(total + std::ptrdiff_t{p} * dense * V, dense, s.x.get(), ld_, d + std::ptrdiff_t{p} * ld_ * V, ld_,
                    rows, 0, last, count, true, [&] { s.ahead.fetch(); });
    }
    total += std::ptrdiff_t{panels} * dense * V;
  };
  auto put_gradient = [&](int column) {
    for (int k = 0; k < K; ++k) {
      double* to = s.scaled.get() + std::ptrdiff_t{(column + k) / V} * ld_ * V + (column + k) % V;
      for (int r = 0; r < rows; ++r) to[r * V] = s.dz[k * ld_ + r];
    }
  };
  if (plan_.pairs.empty() && K == 1) {
    weighted_sums(s.scaled.get(), s.dz.get(), s.x.get(), ld_, rows, width);
    for (int c = 0; c < dense; ++c) total[c * V] += s.scaled[c];
  } else if (plan_.pairs.empty()) {
    put_gradient(0);
    outer(s.scaled.get(), panels_of<double>(K), 0);
  }
  double* sparse_total = partial.sparse_curvature.get();
  bool is_first = true;
  double* others = s.z.get();  // of joint outputs: 1 - p of the one above 1/2, in full precision
  for (int r = 0; plan_.together && r < rows; ++r) {
    others[r] = 0;
    for (int k = 0; k < K; ++k) others[r] += s.curved[k * ld_ + r] > 0.5 ? 0.0 : s.curved[k * ld_ + r];
  }
  for (const auto& [k, l] : plan_.pairs) {
    double* factor = s.loss.get();  // the losses are added up by now
    for (int r = 0; r < rows; ++r) {
      const double p = s.curved[k * ld_ + r];
      if (!plan_.together)
        factor[r] = s.factor[r] * p;
      else if (k == l)
        factor[r] = s.factor[r] * (p * (p > 0.5 ? others[r] : 1 - p));
      else
        factor[r] = s.factor[r] * -(p * s.curved[l * ld_ + r]);
    }
    for (int q = 0; q < width; ++q) {
      const double* from = s.x.get() + std::ptrdiff_t{q} * ld_ * V;
      double* to = s.scaled.get() + std::ptrdiff_t{q} * ld_ * V;
      for (int r = 0; r < rows; ++r) store(to + r * V, factor[r] * load(from + r * V));
    }
    const bool with_gradient = is_first && plan_.gradient;
    if (with_gradient) put_gradient(dense);
    outer(s.scaled.get(), with_gradient ? panels_of<double>(dense + K) : width, with_gradient ? dense / V : width);
    is_first = false;
    if (sparse == 0) continue;
    const std::ptrdiff_t row_size = std::ptrdiff_t{width} * V + sparse;
    for (int r = 0; r < rows; ++r) {
      s.entries.clear();
      columns_.each_entry(row(r), [&](int c, double v) { s.entries.push_back({c, v}); });
      const auto *entry = s.entries.data(), *end = entry + s.entries.size();
      for (; entry < end; ++entry) {
        const double f = factor[r] * entry->value;
        double* to = sparse_total + entry->column * row_size;
        for (int q = 0; q < width; ++q) {
          const Vec<double> x = load(s.x.get() + (std::ptrdiff_t{q} * ld_ + r) * V);
          store(to + q * V, fma(broadcast(f), x, load(to + q * V)));
        }
        to += width * V;
        for (const auto* other = entry; other < end; ++other) to[other->column] += f * other->value;
      }
    }
    sparse_total += sparse * row_size;
  }
  if (!plan_.gradient || sparse == 0) return;
  if (scattered_) {
    for (int r = 0; r < rows; ++r)
      for (int k = 0; k < K; ++k) slopes_[row(r) * K + k] = s.dz[k * ld_ + r];
    return;
  }
  double* g = partial.sparse_gradient.get();
  const auto add_entries = [&](auto value) {  // one loop per kind: a test inside would cost a fifth of the time
    for (int r = 0; r < rows; ++r) {
      const double* slope = s.dz.get() + r;
      if (K == 1)
        columns_.each_entry(row(r), [&, d = slope[0]](int c, double v) { g[c] += value(v) * d; });
      else
        columns_.each_entry(row(r), [&](int c, double v) {
          for (int k = 0; k < K; ++k) g[std::ptrdiff_t{c} * K + k] += value(v) * slope[k * ld_];
        });
    }
  };
  if (plan_.squared)
    add_entries([](double v) { return v * v; });
  else
    add_entries([](double v) { return v; });
}

// The partial sums, added in order, in the order of theta. `outputs`: of the curvature, 1 for a single sandwich.
void Linear::collect(double* gradient, double* curvature, int outputs) {
  const std::ptrdiff_t dense = columns_.dense_cols + 1, sparse = columns_.sparse_cols, cols = columns_.cols();
  const std::ptrdiff_t width = panels_of<double>(static_cast<int>(dense));
  PartialSum& total = partial_sums_[0];
  for (auto part : {&PartialSum::dense, &PartialSum::sparse_gradient, &PartialSum::sparse_curvature}) {
    double* to = (total.*part).get();
    for (std::size_t s = 1; s < partial_sums_.size(); ++s)
      for (std::ptrdiff_t i = 0; i < (total.*part).size(); ++i) to[i] += (partial_sums_[s].*part)[i];
  }
  auto place = [&](std::ptrdiff_t c) { return c == dense - 1 ? cols : c; };  // of a dense column, the intercept last
  std::ptrdiff_t base = 0;                                                   // of a pair's panels
  auto element = [&](std::ptrdiff_t row, std::ptrdiff_t column) {
    return total.dense[base + (column / V * dense + row) * V + column % V];
  };
  if (gradient) {
    const std::ptrdiff_t column = plan_.pairs.empty() ? 0 : dense;
    for (std::ptrdiff_t c = 0; c < dense; ++c)
      for (int k = 0; k < outputs_; ++k) gradient[place(c) * outputs_ + k] = element(c, column + k);
    std::copy_n(total.sparse_gradient.get(), total.sparse_gradient.size(), gradient + (dense - 1) * outputs_);
  }
  if (!curvature) return;
  const std::ptrdiff_t size = (cols + 1) * outputs, row_size = width * V + sparse;
  std::fill_n(curvature, size * size, 0.0);
  std::ptrdiff_t sparse_base = 0;
  for (std::size_t pair = 0; pair < plan_.pairs.size(); ++pair) {
    const auto [k, l] = plan_.pairs[pair];
    auto put = [&](std::ptrdiff_t i, std::ptrdiff_t j, double value) {
      for (const auto& [a, b] : {std::pair(k, l), std::pair(l, k)}) {
        curvature[(i * outputs + a) * size + j * outputs + b] = value;
        curvature[(j * outputs + b) * size + i * outputs + a] = value;
      }
    };
    for (std::ptrdiff_t j = 0; j < dense; ++j)
      for (std::ptrdiff_t i = 0; i <= j; ++i) put(place(i), place(j), element(i, j));
    for (std::ptrdiff_t c = 0; c < sparse; ++c) {
      const std::ptrdiff_t row = sparse_base + c * row_size, mine = dense - 1 + c;
      for (std::ptrdiff_t j = 0; j < dense; ++j) put(mine, place(j), total.sparse_curvature[row + j]);
      for (std::ptrdiff_t o = c; o < sparse; ++o) {  // whichever of the two came first in a row
        const double there = o > c ? total.sparse_curvature[sparse_base + o * row_size + width * V + c] : 0.0;
        put(mine, dense - 1 + o, total.sparse_curvature[row + width * V + o] + there);
      }
    }
    base += (pair == 0 && plan_.gradient ? panels_of<double>(static_cast<int>(dense) + outputs_) : width) * dense * V;
    sparse_base += sparse * row_size;
  }
}

bool Linear::sums(const Request& wanted, const LinearTargets& targets, Sums& sums, const Interrupted& interrupted) {
  Plan plan{wanted.gradient != nullptr, is_joint(head_), {}};
  if (wanted.curvature) {
    for (int k = 0; k < outputs_; ++k)
      for (int l = k; l < (plan.together ? outputs_ : k + 1); ++l) plan.pairs.emplace_back(k, l);
  }
  set_theta(wanted.theta);
  prepare(plan, columns_.rows / wanted.row_stride);
  if (plan.gradient && scattered_ && wanted.row_stride > 1) std::fill_n(slopes_.get(), slopes_.size(), 0.0);
  bool done = over_blocks(
      interrupted,
      [&](Scratch& s, PartialSum& partial, std::int64_t first, int rows) {
        linear_output(s, first, rows);
        head(s, partial, targets, first, rows, wanted.curvature != nullptr, wanted.expected);
        if (plan.gradient || !plan.pairs.empty()) add(s, partial, {first}, rows);
      },
      wanted.row_stride);
  for (const PartialSum& s : partial_sums_) {
    sums.loss += s.sums.loss;
    sums.low = std::min(sums.low, s.sums.low), sums.high = std::max(sums.high, s.sums.high);
  }
  if (done) collect(wanted.gradient, wanted.curvature, outputs_);
  if (done && plan.gradient && scattered_)
    done = scatter(wanted.gradient + std::ptrdiff_t{columns_.dense_cols} * outputs_, interrupted);
  return done;
}

}  // namespace linnet::inline LINNET_ISA
