// The product, narrow and entries kernels against plain loops, without Python: `make test-core` builds and runs it. All
// numbers are small integers, so that every sum is exact in any order: results must be equal, not close.
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "base/buffer.hpp"
#include "kernels/narrow.hpp"
#include "kernels/product.hpp"
#include "network/sparse_input.hpp"

using namespace linnet;

namespace {

int checks = 0, failures = 0;

void expect(bool good, const std::string& what) {
  ++checks;
  if (good) return;
  if (++failures <= 20) std::printf("FAILED: %s\n", what.c_str());
}

std::mt19937 draw(7);

template <class T>
T small_number() {
  return static_cast<T>(static_cast<int>(draw() % 7) - 3);
}

// A matrix in panels: `rows` used of `ld`, and zeros in the padding of its columns.
template <class T>
struct Panels {
  static constexpr int V = lanes<T>;
  int rows, cols;
  std::ptrdiff_t ld;
  Buffer<T> data;

  Panels(int rows_, int cols_, bool filled = true)
      : rows(rows_), cols(cols_), ld((rows_ + V - 1) / V * V + V), data(panels_of<T>(cols_) * ld * V) {
    for (int r = 0; filled && r < rows; ++r)
      for (int c = 0; c < cols; ++c) at(r, c) = small_number<T>();
  }
  T& at(int r, int c) const { return data[(c / V * ld + r) * V + c % V]; }
  T* get() const { return data.get(); }
};

template <class T>
std::string name(const char* kernel, int a, int b, int c, int d = 0) {
  return std::string(kernel) + (sizeof(T) == 4 ? ", float, " : ", double, ") + std::to_string(a) + " x " +
         std::to_string(b) + " x " + std::to_string(c) + ", " + std::to_string(d);
}

template <class T>
void test_product(int rows, int depth, int cols, int variant) {
  const bool biased = variant & 1, onto = variant & 2, relu = variant & 4, masked = variant & 8;
  const int r0 = rows > 4 ? 3 : 0, r1 = rows > 9 ? rows - 2 : rows;
  const Panels<T> a(rows, depth), w(depth, cols), bias(1, cols), mask(rows, cols), z(rows, cols), before(rows, cols);
  for (int r = 0; r < rows; ++r)
    for (int c = 0; c < cols; ++c) before.at(r, c) = z.at(r, c);
  product<T>(z.get(), z.ld, biased ? bias.get() : nullptr, bias.ld, a.get(), a.ld, w.get(), w.ld, depth, r0, r1, 0,
             panels_of<T>(cols), onto, {relu, masked ? mask.get() : nullptr});
  bool good = true;
  for (int r = 0; r < rows; ++r) {
    for (int c = 0; c < cols; ++c) {
      T sum = onto ? before.at(r, c) : biased ? bias.at(0, c) : T(0);
      for (int k = 0; k < depth; ++k) sum += a.at(r, k) * w.at(k, c);
      if (relu && sum < 0) sum = 0;
      if (masked && !(mask.at(r, c) > 0)) sum = 0;
      if (r < r0 || r >= r1) sum = before.at(r, c);
      good = good && z.at(r, c) == sum;
    }
  }
  expect(good, name<T>("product", rows, depth, cols, variant));
}

template <class T>
void test_outer_product(int batch, int first, int count, int panels, bool onto) {
  constexpr int V = lanes<T>;
  const Panels<T> a(batch, first + count), d(batch, panels * V), g(count, panels * V), before(count, panels * V);
  for (int r = 0; r < count; ++r)
    for (int c = 0; c < panels * V; ++c) before.at(r, c) = g.at(r, c);
  outer_product(g.get(), g.ld, a.get(), a.ld, d.get(), d.ld, batch, first, count, panels, onto);
  const Buffer<T> sums(panels * V);
  column_sums(sums.get(), d.get(), d.ld, batch, panels);
  bool good = true, good_sums = true;
  for (int c = 0; c < panels * V; ++c) {
    T of_column = 0;
    for (int b = 0; b < batch; ++b) of_column += d.at(b, c);
    good_sums = good_sums && sums[c] == of_column;
    for (int i = 0; i < count; ++i) {
      T sum = onto ? before.at(i, c) : T(0);
      for (int b = 0; b < batch; ++b) sum += a.at(b, first + i) * d.at(b, c);
      good = good && g.at(i, c) == sum;
    }
  }
  expect(good, name<T>("outer_product", batch, first, count, panels));
  expect(good_sums, name<T>("column_sums", batch, first, count, panels));
}

template <class T>
void test_transpose_square() {
  constexpr int V = lanes<T>;
  const Panels<T> in(V, V), out(V, V);
  transpose_square(out.get(), in.get());
  bool good = true;
  for (int r = 0; r < V; ++r)
    for (int c = 0; c < V; ++c) good = good && out.at(r, c) == in.at(c, r);
  expect(good, name<T>("transpose_square", V, V, 0));
}

void test_dot() {
  for (const int n : {0, 1, 15, 16, 17, 31, 100}) {
    const Panels<double> a(1, n + 1), b(1, n + 1);
    std::vector<double> x(n + 1), y(n + 1);
    double sum = 0;
    for (int i = 0; i < n; ++i) x[i] = a.at(0, i), y[i] = b.at(0, i), sum += x[i] * y[i];
    expect(dot(x.data(), y.data(), n) == sum, "dot of " + std::to_string(n));
  }
}

// A layer of a network that is trained on batches of 32 rows, with parameters that are small integers.
template <class T>
struct Weights {
  Network net;
  Layout<T> layout;
  Buffer<T> packed;
  std::vector<T> theta;
  const LayerLayout<T>& place() const { return layout.layers[0]; }

  Weights(int inputs, int outputs)
      : net{{LayerSpec{inputs, outputs, Activation::identity, 0, 0, {}, true}}, {}, {}},
        layout(net, 32),
        packed(layout.size),
        theta(static_cast<std::size_t>(net.parameters())) {
    for (T& t : theta) t = small_number<T>();
    layout.each([&](std::ptrdiff_t flat, std::ptrdiff_t at) { packed[at] = theta[flat]; });
  }
  T weight(int i, int o) const { return theta[std::ptrdiff_t{i} * place().outputs + o]; }
  T bias(int o) const { return weight(place().inputs, o); }

  // What a row of inputs gives, by plain loops.
  template <class Row>
  T sum(const Row& x, int o) const {
    T total = bias(o);
    for (int i = 0; i < place().inputs; ++i) total += x(i) * weight(i, o);
    return total;
  }
};

// A first layer, which reads rows where they lie.
template <class T>
void test_narrow(int inputs, int outputs, int rows) {
  const Weights<T> w(inputs, outputs);
  const LayerLayout<T>& place = w.place();
  expect(place.narrow, name<T>("narrow layout", inputs, outputs, rows));
  std::vector<T> table(static_cast<std::size_t>(rows) * inputs);
  for (T& x : table) x = small_number<T>();
  std::vector<const T*> x;
  for (int r = 0; r < rows; ++r) x.push_back(table.data() + std::ptrdiff_t{r} * inputs);
  const Panels<T> z(rows, outputs, false), d(rows, outputs);
  for (int b = 0; b < place.blocks(); ++b)
    narrow_forward(z.get(), z.ld, x.data(), w.packed.get(), place.block(b),
                   b + 1 == place.blocks() ? w.packed.get() + place.biases() : nullptr, outputs, 0, rows, b > 0);
  bool good = true;
  for (int r = 0; r < rows; ++r)
    for (int o = 0; o < outputs; ++o) good = good && z.at(r, o) == w.sum([&](int i) { return x[r][i]; }, o);
  expect(good, name<T>("narrow_forward", inputs, outputs, rows, place.blocks()));

  good = true;
  const Buffer<T> g(outputs * Narrow<T>::padded(inputs));
  const std::ptrdiff_t g_ld = Narrow<T>::padded(inputs);
  narrow_gradient(g.get(), g_ld, x.data(), d.get(), d.ld, rows, 0, inputs, outputs);
  for (int o = 0; o < outputs; ++o) {
    for (int i = 0; i < g_ld; ++i) {
      T sum = 0;
      for (int r = 0; i < inputs && r < rows; ++r) sum += d.at(r, o) * x[r][i];
      good = good && g[o * g_ld + i] == sum;
    }
  }
  expect(good, name<T>("narrow_gradient", inputs, outputs, rows));
}

// A later layer, which reads the panels of the one below.
template <class T>
void test_narrow_panels(int inputs, int outputs, int rows) {
  constexpr int V = lanes<T>;
  const int all = (rows + V - 1) / V * V;  // it takes whole vectors of rows
  const Panels<T> x(all, inputs), z(all, outputs, false), dz(all, outputs), mask(all, inputs), d(all, inputs);
  const std::ptrdiff_t w_ld = Narrow<T>::padded(inputs);
  const Buffer<T> w(outputs * w_ld), bias(outputs), g(outputs * w_ld);
  for (int o = 0; o < outputs; ++o) {
    bias[o] = small_number<T>();
    for (int i = 0; i < inputs; ++i) w[o * w_ld + i] = small_number<T>();
  }
  narrow_panels_forward(z.get(), z.ld, x.get(), x.ld, w.get(), bias.get(), inputs, outputs, 0, all);
  narrow_panels_backward(d.get(), mask.get(), d.ld, dz.get(), w.get(), inputs, outputs, 0, rows);
  narrow_panels_gradient(g.get(), w_ld, x.get(), x.ld, dz.get(), dz.ld, rows, 0, inputs, outputs);
  bool forward = true, backward = true, gradient = true;
  for (int r = 0; r < rows; ++r) {
    for (int o = 0; o < outputs; ++o) {
      T sum = bias[o];
      for (int i = 0; i < inputs; ++i) sum += x.at(r, i) * w[o * w_ld + i];
      forward = forward && z.at(r, o) == sum;
    }
    for (int i = 0; i < inputs; ++i) {
      T sum = 0;
      for (int o = 0; o < outputs; ++o) sum += dz.at(r, o) * w[o * w_ld + i];
      backward = backward && d.at(r, i) == (mask.at(r, i) > 0 ? sum : T(0));
    }
  }
  for (int o = 0; o < outputs; ++o) {
    for (int i = 0; i < inputs; ++i) {
      T sum = 0;
      for (int r = 0; r < rows; ++r) sum += dz.at(r, o) * x.at(r, i);
      gradient = gradient && g[o * w_ld + i] == sum;
    }
  }
  expect(forward, name<T>("narrow_panels_forward", inputs, outputs, rows));
  expect(backward, name<T>("narrow_panels_backward", inputs, outputs, rows));
  expect(gradient, name<T>("narrow_panels_gradient", inputs, outputs, rows));
}

// Rows that are mostly zero: a table, a sparse matrix whose columns do not rise, and a column of codes.
template <class T>
struct MostlyZero {
  std::vector<float> table, value;
  std::vector<std::int64_t> start{0};
  std::vector<std::int32_t> column;
  std::vector<std::int8_t> codes;
  Columns x;
  std::vector<T> plain;  // rows x cols

  MostlyZero(int rows, int dense, int sparse, int levels) {
    const int cols = dense + sparse + levels;
    plain.assign(static_cast<std::size_t>(rows) * cols, T(0));
    for (int r = 0; r < rows; ++r) {
      T* row = plain.data() + std::ptrdiff_t{r} * cols;
      for (int c = 0; c < dense + sparse; ++c)
        if (draw() % 8 == 0) row[c] = small_number<T>();
      for (int c = 0; c < dense; ++c) table.push_back(static_cast<float>(row[c]));
      for (int c = sparse - 1; c >= 0; --c)
        if (row[dense + c] != 0) column.push_back(c), value.push_back(static_cast<float>(row[dense + c]));
      start.push_back(static_cast<std::int64_t>(column.size()));
      const int code = static_cast<int>(draw() % static_cast<unsigned>(levels + 1)) - 1;  // -1: none
      codes.push_back(static_cast<std::int8_t>(code));
      if (code >= 0) row[dense + sparse + code] = 1;
    }
    x.rows = rows;
    x.tables.push_back({Design::Kind::f32, table.data(), dense, 1, rows, dense});
    x.dense_cols = dense;
    x.sparse_cols = sparse + levels;
    x.sparse.start = start.data(), x.sparse.column = column.data(), x.sparse.value = value.data();
    x.sparse.kind = Design::Kind::f32, x.sparse.cols = sparse;
    x.codes.push_back({codes.data(), 1, levels});
    x.count_entries();
  }
  T at(int r, int c) const { return plain[std::ptrdiff_t{r} * x.cols() + c]; }
};

// Takes the gradient sums of weights, and of a single row the row itself if it may.
template <class T>
struct Collect : PlainSink {
  T* sums;
  bool rows, zeros_skipped;

  Collect(T* to, bool takes_rows, bool skips) : sums(to), rows(takes_rows), zeros_skipped(skips) {}
  bool takes_row() const { return rows; }
  bool skips_zeros() const { return zeros_skipped; }
  void operator()(std::size_t, std::ptrdiff_t at, const T* g, int count, bool) const {
    for (int i = 0; i < count; ++i) sums[at + i] += g[i];
  }
  void row(const NarrowBlock& block, int first, int count, int outputs, const T* x, auto&& factor) const {
    for (int o = 0; o < outputs; ++o)
      for (int i = 0; i < count; ++i) sums[block.at(o, first) + i] += factor(o) * x[i];
  }
};
static_assert(GradientSink<Collect<float>, float>);

template <class T>
void test_entries(int dense, int sparse, int levels, int outputs, int rows) {
  const MostlyZero<T> data(rows, dense, sparse, levels);
  const int inputs = data.x.cols();
  const Weights<T> w(inputs, outputs);
  const LayerLayout<T>& place = w.place();
  Batch<T> batch;
  batch.x = &data.x, batch.rows = rows;
  std::vector<RowEntries<T>> entries(rows);
  bool good = true;
  for (int r = 0; r < rows; ++r) {
    entries[r].list(batch, r);
    std::vector<T> listed(inputs, T(0));
    int last = -1;
    for (const Entry<T>& e : entries[r]) {
      good = good && e.column > last && e.column < inputs;
      listed[e.column] = e.value, last = e.column;
    }
    for (int c = 0; c < inputs; ++c) good = good && listed[c] == data.at(r, c);
  }
  expect(good, name<T>("entries of rows", inputs, outputs, rows));

  const Panels<T> z(rows, outputs, false), d(rows, outputs);
  if (place.narrow)
    narrow_entries_forward(z.get(), z.ld, entries.data(), w.packed.get(), place, 0, rows);
  else
    entries_forward(z.get(), z.ld, entries.data(), w.packed.get(), inputs, 0, rows, 0, panels_of<T>(outputs), false);
  good = true;
  for (int r = 0; r < rows; ++r)
    for (int o = 0; o < outputs; ++o) good = good && z.at(r, o) == w.sum([&](int i) { return data.at(r, i); }, o);
  expect(good, name<T>(place.narrow ? "narrow_entries_forward" : "entries_forward", inputs, outputs, rows));

  // in two parts, as two threads would compute it
  const int cut = inputs / 2 / Narrow<T>::line * Narrow<T>::line;
  for (const bool skips : {false, true}) {
    const Buffer<T> packed(w.layout.size),
        tile(std::max<int>(entry_panels * gradient_rows * lanes<T>, Narrow<T>::max_outputs * narrow_gradient_inputs));
    for (const Part part : {Part{0, cut}, Part{cut, inputs}}) {
      std::vector<int> begin(rows);
      for (int r = 0; r < rows; ++r) begin[r] = entries[r].before(part.first);
      ByColumn<T> by_column;
      gradient_of_entries(place, entries.data(), rows, part, begin.data(), 1, d.get(), d.ld, by_column, tile.get(),
                          Collect<T>(packed.get(), skips, skips));
    }
    good = true;
    w.layout.each([&](std::ptrdiff_t flat, std::ptrdiff_t at) {
      const int i = static_cast<int>(flat / outputs), o = static_cast<int>(flat % outputs);
      T sum = 0;
      for (int r = 0; i < inputs && r < rows; ++r) sum += data.at(r, i) * d.at(r, o);
      good = good && packed[at] == sum;
    });
    expect(good, name<T>("gradient_of_entries", inputs, outputs, rows, skips));
  }
}

template <class T>
void test_all() {
  constexpr int V = lanes<T>, P = Tile<T>::panels, deep = Tile<T>::depth_block;
  for (const int rows : {1, 2, 5, 13, 40, product_rows + 21})
    for (const int depth : {1, V - 1, V + 1, deep + 9})
      for (const int cols : {1, V, P * V + 3})
        for (int variant = 0; variant < 16; variant += rows > 13 ? 5 : 1) test_product<T>(rows, depth, cols, variant);
  for (const int batch : {1, 2, 9, 64})
    for (const int first : {0, V})
      for (const int count : {1, 3, V, gradient_rows})
        for (int panels = 1; panels <= P; ++panels)
          for (const bool onto : {false, true}) test_outer_product<T>(batch, first, count, panels, onto);
  test_transpose_square<T>();
  for (const int inputs : {16, 37, 64, 901})
    for (const int outputs : {1, 2, 3, 5, 10, 11, 16})
      for (const int rows : {1, 2, 7, 40}) test_narrow<T>(inputs, outputs, rows);
  for (const int inputs : {16, 41, 130})
    for (const int outputs : {1, 2, 3, 4})
      for (const int rows : {V, 3 * V, 2 * V + 1}) test_narrow_panels<T>(inputs, outputs, rows);
  for (const int outputs : {1, 3, 16, 17, 9 * V + 2})
    for (const int rows : {1, 6, 33}) {
      test_entries<T>(70, 30, 5, outputs, rows);
      test_entries<T>(9, 800, 100, outputs, rows);
    }
}

}  // namespace

int main() {
  test_all<float>();
  test_all<double>();
  test_dot();
  std::printf("%d checks, %d failed\n", checks, failures);
  return failures > 0;
}
