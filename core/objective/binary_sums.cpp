#include "objective/binary_sums.hpp"

#include "heads/family.hpp"
#include "kernels/cholesky.hpp"
#include "objective/linear_blocks.hpp"

namespace linnet::inline LINNET_ISA {

namespace {

constexpr int V = lanes<double>;
constexpr int parts = std::max(1, 8 / V);    // vectors of partial sums: eight sums in all for any V
constexpr int group = Tile<double>::panels;  // panels that are summed together

// Rows [first, last) of a block that are all on one side of a problem, and their target t.
struct Run {
  int first, last;
  double t;
};

}  // namespace

struct alignas(cache_line) Binaries::Scratch {
  Buffer<double> x;                    // panels: rows x (columns + 1)
  Buffer<double> curved, scaled;       // the rows that count for second derivatives, plain and weighted
  Buffer<double> z, t, w, factor;      // of a block's rows
  std::vector<int> kept;               // which rows count
  Buffer<double> theta, total;         // of the thread's problems: in panels; sums, panels x (columns + 1) rows
  std::vector<std::vector<Run>> runs;  // of the thread's problems in a block
  std::vector<int> touched;            // problems that have any
};

Binaries::~Binaries() = default;

Binaries::Binaries(Columns columns, std::vector<double> center, int threads)
    : columns_(std::move(columns)), center_(std::move(center)), threads_(threads) {
  block_rows_ = std::clamp(24576 / (columns_.dense_cols + 1) / 8 * 8, 32, 256);  // x and its weighted twin in L2
  ld_ = block_rows_ + 2 * V + cache_line / vector_bytes;                         // runs may end within a vector
  scratch_.resize(threads);
  const std::ptrdiff_t width = panels_of<double>(columns_.dense_cols + 1) * V;
  for (Scratch& s : scratch_) {
    s.x = Buffer<double>(width * ld_);
    s.scaled = Buffer<double>(width * ld_);
    s.curved = Buffer<double>(width * ld_);
    s.kept.resize(ld_);
    for (Buffer<double>* of_rows : {&s.z, &s.t, &s.w, &s.factor}) *of_rows = Buffer<double>(ld_);
  }
}

// Adds rows [r0, r1) of the block, whose targets are in s.t, to a problem's sums: x' dz, then x' diag(c) x in panels.
// `side_weights`: factors of the weights of negative and positive rows; null: one. `least_curvature`: see
// BinaryWeights.
void Binaries::add(Scratch& s, const double* theta, const double* side_weights, double least_curvature, int r0, int r1,
                   double& loss, double* total) const {
  const int dense = columns_.dense_cols + 1, width = panels_of<double>(dense);
  const double* x = s.x.get() + std::ptrdiff_t{r0} * V;
  const int rows = r1 - r0;
  row_dots(s.z.get(), x, ld_, theta, width, rows);
  Vec<double> losses[parts] = {};  // of every eighth row, so that the width of a vector does not matter
  for (int r = 0; r < rows; r += V) {
    const Vec<double> t = load(s.t.get() + r0 + r);
    Vec<double> z = load(s.z.get() + r), weight = load(s.w.get() + r0 + r);
    if (side_weights) weight = weight * (t > 0.5 ? broadcast(side_weights[1]) : broadcast(side_weights[0]));
    for (int lane = rows - r; lane < V; ++lane) z[lane] = weight[lane] = 0;
    const BernoulliLanes<double> at(z, t);
    Vec<double>& mine = losses[r / V % parts];
    mine = mine + weight * at.loss;
    store(s.factor.get() + r, weight * at.curvature);
    store(s.z.get() + r, weight * at.slope);
  }
  for (int half = parts / 2; half >= 1; half /= 2)
    for (int q = 0; q < half; ++q) losses[q] = losses[q] + losses[q + half];
  for (int half = V / 2; half >= 1; half /= 2)
    for (int lane = 0; lane < half; ++lane) losses[0][lane] += losses[0][lane + half];
  loss += losses[0][0];
  for (int q = 0; q < width; q += 8)
    with_constant<8>(std::min(8, width - q), [&](auto n) {
      Vec<double> sum[n.value];
      for (int i = 0; i < n.value; ++i) sum[i] = load(total + (q + i) * V);
      for (int r = 0; r < rows; ++r)
        for (int i = 0; i < n.value; ++i) sum[i] = fma(broadcast(s.z[r]), load(x + ((q + i) * ld_ + r) * V), sum[i]);
      for (int i = 0; i < n.value; ++i) store(total + (q + i) * V, sum[i]);
    });
  if (std::isinf(least_curvature)) return;
  int kept = 0;
  for (int r = 0; r < rows; ++r) {
    s.kept[kept] = r;
    kept += s.factor[r] > least_curvature;
  }
  total += std::ptrdiff_t{width} * V;
  for (int q = 0; q < width; ++q) {
    const double* from = x + std::ptrdiff_t{q} * ld_ * V;
    double *to = s.scaled.get() + std::ptrdiff_t{q} * ld_ * V, *same = s.curved.get() + std::ptrdiff_t{q} * ld_ * V;
    for (int i = 0; i < kept; ++i) {
      const Vec<double> row = load(from + std::ptrdiff_t{s.kept[i]} * V);
      store(to + i * V, s.factor[s.kept[i]] * row);
      store(same + i * V, row);
    }
  }
  for (int p = 0; p < width; p += group) {
    const int count = std::min(group, width - p), last = std::min(dense, (p + count) * V);  // the upper triangle
    outer_product(total + std::ptrdiff_t{p} * dense * V, dense, s.curved.get(), ld_,
                  s.scaled.get() + std::ptrdiff_t{p} * ld_ * V, ld_, kept, 0, last, count, true);
  }
}

// The sums of problems [p0, p1).
void Binaries::pass(Scratch& s, const double* theta, const CodeMatrix& codes, const BinaryWeights& weights, int p0,
                    int p1, double* loss, double* gradient, double* curvature, int rank, Interrupt& interrupt) const {
  const int dense = columns_.dense_cols + 1, mine = p1 - p0;
  const std::ptrdiff_t in_theta = std::ptrdiff_t{panels_of<double>(dense)} * V;
  const std::ptrdiff_t in_total = in_theta * (dense + 1);
  if (s.theta.size() < mine * in_theta) s.theta = Buffer<double>(mine * in_theta);
  if (s.total.size() < mine * in_total) s.total = Buffer<double>(mine * in_total, false);
  std::fill_n(s.total.get(), mine * in_total, 0.0);
  std::fill_n(loss + p0, mine, 0.0);
  for (int p = 0; p < mine; ++p) std::copy_n(theta + (p0 + p) * size(), dense, s.theta.get() + p * in_theta);
  s.runs.resize(std::max<std::size_t>(s.runs.size(), mine));
  const std::int64_t all = codes.group_starts[codes.groups];
  std::int64_t g = 0;
  for (std::int64_t first = 0; first < all; first += block_rows_) {
    if (interrupt.in_vain(rank)) return;
    const int rows = static_cast<int>(std::min<std::int64_t>(block_rows_, all - first));
    while (codes.group_starts[g + 1] <= first) ++g;
    s.touched.clear();
    for (std::int64_t h = g; h < codes.groups && codes.group_starts[h] < first + rows; ++h) {
      const Run run{static_cast<int>(std::max<std::int64_t>(codes.group_starts[h] - first, 0)),
                    static_cast<int>(std::min<std::int64_t>(codes.group_starts[h + 1] - first, rows)), 0};
      if (run.first == run.last) continue;
      const std::int32_t* end = codes.problem + codes.starts[h + 1];
      for (const auto* e = std::lower_bound(codes.problem + codes.starts[h], end, p0); e < end && *e < p1; ++e) {
        std::vector<Run>& runs = s.runs[*e - p0];
        if (runs.empty()) s.touched.push_back(*e - p0);
        runs.push_back({run.first, run.last, codes.sign[e - codes.problem] > 0 ? 1.0 : 0.0});
      }
    }
    if (s.touched.empty()) continue;
    pack(s.x.get(), ld_, columns_, center_.data(), {first, codes.row_order}, rows);
    for (int r = 0; r < rows; ++r) s.w[r] = weights.weights ? weights.weights[codes.row_order[first + r]] : 1.0;
    for (const int p : s.touched) {
      std::vector<Run>& runs = s.runs[p];
      for (std::size_t i = 0, next; i < runs.size(); i = next) {  // neighbouring runs together
        for (next = i; next < runs.size() && (next == i || runs[next].first == runs[next - 1].last); ++next)
          std::fill(s.t.get() + runs[next].first, s.t.get() + runs[next].last, runs[next].t);
        add(s, s.theta.get() + p * in_theta, weights.side_weights ? weights.side_weights + 2 * (p0 + p) : nullptr,
            weights.least_curvature ? weights.least_curvature[p0 + p] : 0.0, runs[i].first, runs[next - 1].last,
            loss[p0 + p], s.total.get() + p * in_total);
      }
      runs.clear();
    }
  }
  for (int p = 0; p < mine; ++p) {
    const double* total = s.total.get() + p * in_total;
    double *slopes = gradient + (p0 + p) * size(), *h = curvature + (p0 + p) * size() * size();
    auto element = [&](std::ptrdiff_t row, std::ptrdiff_t column) {
      return total[in_theta + (column / V * dense + row) * V + column % V];
    };
    for (int j = 0; j < dense; ++j) {
      slopes[j] = total[j];
      for (int i = 0; i <= j; ++i) h[std::ptrdiff_t{i} * dense + j] = h[std::ptrdiff_t{j} * dense + i] = element(i, j);
    }
  }
}

bool Binaries::sums(const double* theta, const CodeMatrix& codes, const BinaryWeights& weights, double* loss,
                    double* gradient, double* curvature, const Interrupt::Ask& interrupted) {
  std::vector<std::int64_t> work(codes.problems + 1);  // rows of all problems before
  for (int h = 0; h < codes.groups; ++h)
    for (std::int64_t e = codes.starts[h]; e < codes.starts[h + 1]; ++e)
      work[codes.problem[e] + 1] += codes.group_starts[h + 1] - codes.group_starts[h];
  for (int p = 0; p < codes.problems; ++p) work[p + 1] += work[p];
  const auto wide = static_cast<double>(size());
  const int members = members_for(static_cast<double>(work.back()) * wide * (2 + wide / 2), threads_);
  auto cut = [&](int t) {
    return static_cast<int>(std::lower_bound(work.begin(), work.end(), work.back() * t / members) - work.begin());
  };
  Interrupt interrupt(interrupted);
  team_.share(members, members, [&](int rank, std::int64_t part) {
    const int t = static_cast<int>(part);
    const int p0 = t == 0 ? 0 : cut(t), p1 = t + 1 == members ? codes.problems : cut(t + 1);
    if (p0 < p1) pass(scratch_[rank], theta, codes, weights, p0, p1, loss, gradient, curvature, rank, interrupt);
    return true;
  });
  return !interrupt.happened();
}

bool Binaries::solve(const double* curvature, const double* gradient, double* step, int problems,
                     const Interrupt::Ask& interrupted) {
  Interrupt interrupt(interrupted);
  const std::ptrdiff_t n = size();
  const auto wide = static_cast<double>(n);
  const int members = members_for(problems * wide * wide * (4 + wide / 3), threads_);
  team_.share(members, members, [&](int rank, std::int64_t which) {
    std::vector<double> h(n * n), scale(n);
    std::vector<std::uint8_t> kept(n);
    const Part part = part_of(problems, 1, static_cast<int>(which), members);
    for (int p = part.first; p < part.last; ++p) {
      if (interrupt.in_vain(rank)) return false;
      std::copy_n(gradient + p * n, n, step + p * n);
      cholesky_solve_scaled(curvature + p * n * n, n, step + p * n, h.data(), scale.data(), kept.data());
    }
    return true;
  });
  return !interrupt.happened();
}

bool Binaries::dots(const double* theta, const std::int64_t* row, const std::int32_t* problem, std::int64_t count,
                    double* z, const Interrupt::Ask& interrupted) {
  const int dense = columns_.dense_cols, whole = dense / V;
  const std::int64_t blocks = (count + block_rows_ - 1) / block_rows_;
  Interrupt interrupt(interrupted);
  const int most = static_cast<int>(std::min<std::int64_t>(threads_, std::max<std::int64_t>(blocks, 1)));
  const double work = static_cast<double>(count) * (dense + 4 * columns_.entries_per_row);
  team_.share(members_for(work, most), blocks, [&](int rank, std::int64_t b) {
    Scratch& s = scratch_[rank];
    if (interrupt.in_vain(rank)) return false;
    const std::int64_t first = b * block_rows_;
    const int rows = static_cast<int>(std::min<std::int64_t>(block_rows_, count - first));
    pack_tables(s.x.get(), ld_, columns_, center_.data(), BlockRows{first, row}, 0, rows);
    for (int r = 0; r < rows; ++r) {
      const double* weights = theta + problem[first + r] * size();
      Vec<double> sum[parts] = {};
      for (int p = 0; p < whole; ++p)
        sum[p % parts] = fma(load(s.x.get() + (p * ld_ + r) * V), load(weights + p * V), sum[p % parts]);
      double part[parts * V];
      for (int q = 0; q < parts; ++q) store(part + q * V, sum[q]);
      for (int c = whole * V; c < dense; ++c) {
        double& to = part[c % (parts * V)];
        to = fused(s.x[(std::ptrdiff_t{whole} * ld_ + r) * V + c % V], weights[c], to);
      }
      for (int half = parts * V / 2; half >= 1; half /= 2)
        for (int lane = 0; lane < half; ++lane) part[lane] += part[lane + half];
      z[first + r] = part[0] + weights[columns_.cols()];
      if (columns_.sparse_cols) z[first + r] += columns_.entries_dot(row[first + r], weights + dense);
    }
    return true;
  });
  return !interrupt.happened();
}

}  // namespace linnet::inline LINNET_ISA
