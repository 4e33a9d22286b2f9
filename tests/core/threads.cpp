// The core without Python, for ThreadSanitizer: `make sanitize-threads` builds it and runs it. Everything that members
// of a team or several threads do at once happens here, with more members than a step has work for; what comes out must
// be the bytes of a single thread.
#include <cstdio>
#include <cstring>
#include <random>
#include <string>
#include <thread>

#include "kernels/metric_counts.hpp"
#include "kernels/row_products.hpp"
#include "objective/binary_sums.hpp"
#include "objective/lbfgs_history.hpp"
#include "objective/linear_sums.hpp"
#include "objective/network_sums.hpp"
#include "train/trainer.hpp"

using namespace linnet;

namespace {

using Bytes = std::string;
int failures = 0;

template <class T>
Bytes bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

void expect(bool good, const std::string& what) {
  if (good) return;
  std::printf("FAILED: %s\n", what.c_str());
  ++failures;
}

// result(threads) for teams of two and three must be that of one.
template <class Result>
void same_for_teams(const std::string& what, Result&& result) {
  const Bytes one = result(1);
  for (const int threads : {2, 3}) expect(result(threads) == one, what + ", " + std::to_string(threads) + " threads");
  std::printf("%s\n", what.c_str());
}

// result() in several threads at once must be what it is in one.
template <class Result>
void same_at_once(const std::string& what, int threads, Result&& result) {
  const Bytes alone = result(0);
  std::vector<Bytes> found(threads);
  std::vector<std::thread> all;
  for (int i = 0; i < threads; ++i) all.emplace_back([&, i] { found[i] = result(i); });
  for (std::thread& thread : all) thread.join();
  for (const Bytes& bytes : found) expect(bytes == alone, what);
  std::printf("%s\n", what.c_str());
}

// A table of any kind with its targets.
template <class T>
struct Data {
  std::vector<T> table, values, weights, offset;
  std::vector<std::uint8_t> small;
  std::vector<std::int64_t> start;
  std::vector<std::int32_t> column, labels;
  std::vector<float> entry;
  std::vector<std::int16_t> codes;
  Columns x;

  enum class Kind { dense, bytes, sparse, mixed };

  Data(Kind kind, int rows, int cols, int outputs, unsigned seed) {
    std::mt19937 draw(seed);
    std::normal_distribution<double> normal;
    std::uniform_real_distribution<double> uniform;
    x.rows = rows;
    auto add_table = [&](int width) {
      table.resize(static_cast<std::size_t>(rows) * width);
      for (T& v : table) v = static_cast<T>(normal(draw));
      const Design::Kind own = sizeof(T) == 4 ? Design::Kind::f32 : Design::Kind::f64;
      x.tables.push_back({own, table.data(), width, 1, rows, width});
      x.dense_cols += width;
    };
    auto add_sparse = [&](int width, double filled) {
      start.push_back(0);
      for (int r = 0; r < rows; ++r) {
        for (int c = 0; c < width; ++c)
          if (uniform(draw) < filled) column.push_back(c), entry.push_back(static_cast<float>(normal(draw)));
        start.push_back(static_cast<std::int64_t>(column.size()));
        x.sparse.max_row_entries = std::max(x.sparse.max_row_entries, start.end()[-1] - start.end()[-2]);
      }
      x.sparse.start = start.data(), x.sparse.column = column.data(), x.sparse.value = entry.data();
      x.sparse.kind = Design::Kind::f32;
      x.sparse.cols = width;
      x.sparse_cols += width;
    };
    auto add_codes = [&](int levels) {
      codes.resize(rows);
      for (auto& code : codes) code = static_cast<std::int16_t>(static_cast<int>(draw() % (levels + 1)) - 1);
      x.codes.push_back({codes.data(), 2, levels});
      x.sparse_cols += levels;
    };
    switch (kind) {
      case Kind::dense:
        add_table(cols);
        break;
      case Kind::bytes:
        small.resize(static_cast<std::size_t>(rows) * cols);
        for (auto& v : small) v = static_cast<std::uint8_t>(draw() % 5);
        x.tables.push_back({Design::Kind::u8, small.data(), cols, 1, rows, cols});
        x.dense_cols = cols;
        break;
      case Kind::sparse:
        add_sparse(cols, 0.01);
        break;
      case Kind::mixed:
        add_table(cols / 4);
        add_sparse(cols / 4, 0.2);
        add_codes(cols - cols / 4 * 2);
        break;
    }
    x.count_entries();
    labels.resize(rows), weights.resize(rows);
    values.resize(static_cast<std::size_t>(rows) * outputs), offset.resize(values.size());
    for (auto& label : labels) label = static_cast<std::int32_t>(draw() % outputs);
    for (T& v : weights) v = static_cast<T>(0.5 + uniform(draw));
    for (T& v : values) v = static_cast<T>(normal(draw));
    for (T& v : offset) v = static_cast<T>(0.1 * normal(draw));
  }

  Targets<T> targets(Family family) const {
    return family == Family::categorical ? Targets<T>{labels.data(), nullptr} : Targets<T>{nullptr, values.data()};
  }
};

Network network_of(int inputs, std::vector<int> hidden, int outputs, Activation activation, double dropout = 0,
                   Penalty penalty = {}) {
  Network net;
  int before = inputs;
  for (const int units : hidden) {
    net.layers.push_back({before, units, activation, 0.1, dropout, penalty, true});
    before = units;
  }
  net.layers.push_back({before, outputs, Activation::identity, 0, hidden.empty() ? 0 : dropout, penalty, true});
  net.head = {outputs > 1 ? Family::categorical : Family::normal, 0};
  return net;
}

template <class T>
std::vector<T> theta_of(const Network& net) {
  std::mt19937 draw(3);
  std::normal_distribution<double> normal;
  std::vector<T> theta(net.parameters());
  for (T& v : theta) v = static_cast<T>(0.1 * normal(draw));
  return theta;
}

// Theta, the optimizer's arrays and the fitted means after some epochs, in slices as short as can be.
template <class T>
Bytes trained(const Network& net, const OptimizerSpec& optimizer, const Data<T>& data, int batch, int threads,
              int epochs = 2, bool plain = false) {
  Trainer<T> trainer(net, optimizer, batch, 5, threads);
  const std::vector<T> theta = theta_of<T>(net);
  trainer.write(0, theta.data());
  trainer.set_data(data.x, data.targets(net.head.family), plain ? nullptr : data.weights.data(),
                   plain ? nullptr : data.offset.data(), true, 1.0);
  std::vector<T> fitted(data.x.rows * net.outputs());
  if (!plain) trainer.set_fitted(fitted.data());
  std::vector<double> rates;
  Progress progress;
  int turn = 0;
  for (int epoch = 0; epoch < epochs; ++epoch) {
    trainer.begin_epoch(epoch);
    rates.assign(trainer.steps(), 0.01);
    do {  // the last members sit out now and then
      Interrupt interrupt(nullptr);
      progress = trainer.run(rates.data(), 0.002, threads > 1 && ++turn % 4 == 0 ? threads - 1 : threads, interrupt);
    } while (progress.step < progress.steps);
  }
  Bytes all = bytes_of(fitted);
  for (int array = 0; array <= trainer.arrays(); ++array) {
    std::vector<T> values(net.parameters());
    trainer.read(array, values.data());
    all += bytes_of(values);
  }
  return all + std::to_string(progress.loss_sum);
}

template <class T>
void trainings() {
  using Kind = typename Data<T>::Kind;
  const std::string type = sizeof(T) == 4 ? "float32" : "float64";
  struct Shape {
    const char* name;
    Kind kind;
    int rows, inputs;
    std::vector<int> hidden;
    int outputs, batch;
  };
  const std::vector<Shape> shapes{
      {"small, blocks of rows", Kind::dense, 300, 20, {24, 16}, 3, 150},
      {"narrow first layer", Kind::dense, 200, 300, {}, 10, 40},
      {"narrow first layer, hidden above", Kind::dense, 200, 600, {4}, 3, 32},
      {"narrow, several chunks", Kind::dense, 700, 40, {}, 2, 650},
      {"wide", Kind::dense, 70, 60, {300, 280}, 5, 33},
      {"wide, several chunks", Kind::dense, 600, 30, {400}, 5, 550},
      {"bytes", Kind::bytes, 150, 90, {130}, 4, 30},
      {"sparse", Kind::sparse, 150, 2000, {20}, 3, 32},
      {"sparse, narrow", Kind::sparse, 150, 2000, {}, 3, 32},
      {"sparse, wide", Kind::sparse, 60, 900, {260}, 3, 20},
      {"dense, sparse and codes", Kind::mixed, 150, 60, {200}, 3, 32},
      {"dense, sparse and codes, narrow", Kind::mixed, 150, 60, {}, 1, 32},
  };
  for (const Shape& s : shapes) {
    const Data<T> data(s.kind, s.rows, s.inputs, s.outputs, 7);
    const OptimizerSpec adam{Rule::adam};
    same_for_teams(type + ", " + s.name, [&](int threads) {
      return trained(network_of(s.inputs, s.hidden, s.outputs, Activation::tanh), adam, data, s.batch, threads, 2,
                     true);
    });
    OptimizerSpec clipped{Rule::adamw};
    clipped.clip_norm = 0.5, clipped.decay = 0.01;
    same_for_teams(type + ", " + s.name + ", dropout, penalty, clipped, weights", [&](int threads) {
      return trained(network_of(s.inputs, s.hidden, s.outputs, Activation::relu, 0.3, {1e-4, 1e-3}), clipped, data,
                     s.batch, threads);
    });
  }
  for (const Rule rule : {Rule::sgd, Rule::momentum, Rule::nesterov, Rule::adagrad, Rule::rmsprop, Rule::amsgrad}) {
    for (const std::size_t shape : {0, 1, 4, 7}) {
      const Shape& s = shapes[shape];
      const Data<T> data(s.kind, s.rows, s.inputs, s.outputs, 8);
      same_for_teams(type + ", rule " + std::to_string(static_cast<int>(rule)) + ", " + s.name, [&](int threads) {
        return trained(network_of(s.inputs, s.hidden, s.outputs, Activation::gelu), {rule}, data, s.batch, threads, 1);
      });
    }
  }
}

// A large network whose training is interrupted in the middle of a step, or of whatever it is in.
void interrupted_trainings() {
  const Data<float> data(Data<float>::Kind::dense, 512, 400, 10, 1);
  const Network net = network_of(400, {1200, 1200}, 10, Activation::relu);
  const std::vector<float> theta = theta_of<float>(net);
  for (const int threads : {2, 3}) {
    Trainer<float> trainer(net, {Rule::adam}, 512, 5, threads);
    trainer.write(0, theta.data());
    trainer.set_data(data.x, data.targets(Family::categorical), nullptr, nullptr, true, 1.0);
    const std::vector<double> rates(1, 0.01);
    for (int asks = 0; asks < 3; ++asks) {
      int left = asks;
      Interrupt interrupt([&] { return left-- == 0; });
      trainer.begin_epoch(asks);
      trainer.run(rates.data(), 1, threads, interrupt);
    }
    expect(trainer.finite(), "an interrupted training stays finite");
  }
  std::printf("interrupted trainings\n");
}

// Models that several threads use at once: shared are the network, its parameters and the data.
template <class T>
void predictions() {
  using Kind = typename Data<T>::Kind;
  for (const Kind kind : {Kind::dense, Kind::sparse, Kind::mixed}) {
    for (const std::vector<int>& hidden : {std::vector<int>{}, {24}, {300, 260}}) {
      const int inputs = 400, rows = 700;
      const Data<T> data(kind, rows, inputs, 3, 2);
      const Network net = network_of(inputs, hidden, 3, Activation::relu);
      const std::vector<T> theta = theta_of<T>(net);
      auto result = [&](int threads) {
        Objective<T> objective(net, threads);
        objective.set_theta(theta.data());
        std::vector<T> mean(rows * 3), one(3);
        objective.predict(data.x, 0, rows, true, mean.data());
        for (int r = 0; r < 20; ++r) {
          objective.predict(data.x, r, 1, true, one.data());
          expect(std::memcmp(one.data(), mean.data() + 3 * r, sizeof(T) * 3) == 0, "a row by itself");
        }
        std::vector<double> grad(net.parameters());
        const Batch<T> batch{&data.x, data.targets(Family::categorical), data.weights.data(), nullptr, nullptr, 0, 0};
        const Sums sums = objective.sums(batch, rows, grad.data());
        objective.use(1);
        const Bytes before = bytes_of(grad);
        expect(objective.sums(batch, rows, grad.data()).loss == sums.loss && bytes_of(grad) == before, "fewer threads");
        return bytes_of(mean) + bytes_of(grad) + std::to_string(sums.loss);
      };
      const std::string what =
          "kind " + std::to_string(static_cast<int>(kind)) + ", " + std::to_string(hidden.size()) + " hidden layers";
      same_for_teams("predictions, " + what, result);
      same_at_once("predictions at once, " + what, 4, [&](int i) { return result(1 + i % 2); });
    }
  }
}

void linear_sums() {
  using Kind = Data<double>::Kind;
  const Linear::Interrupted never = [] { return false; };
  for (const Kind kind : {Kind::dense, Kind::sparse, Kind::mixed}) {
    for (const int outputs : {1, 3}) {
      for (const int cols : {40, 12000}) {  // the latter: more columns than partial sums keep sums of
        if (cols > 40 && kind != Kind::sparse) continue;
        const int rows = cols > 40 ? 400 : 2500;
        const Data<double> data(kind, rows, cols, outputs, 4);
        auto result = [&](int threads) {
          Linear linear(data.x, std::vector<double>(data.x.dense_cols, 0.1),
                        {outputs > 1 ? Family::categorical : Family::normal, 0}, outputs, threads);
          const std::ptrdiff_t size = linear.size();
          std::vector<double> theta(size, 0.01), gradient(size), z(rows * outputs), group_sums(2 * size);
          std::vector<std::int64_t> group(rows);
          for (int r = 0; r < rows; ++r) group[r] = r % 2;
          Bytes all;
          Linear::Sums sums;
          const LinearTargets targets{data.targets(outputs > 1 ? Family::categorical : Family::normal),
                                      data.weights.data(), data.offset.data()};
          linear.sums({theta.data(), gradient.data(), nullptr, false, 1}, targets, sums, never);
          all += bytes_of(gradient);
          linear.gradient(data.values.data(), gradient.data(), never);
          linear.predict(theta.data(), z.data(), never);
          linear.gradient_by_group(data.values.data(), group.data(), group_sums.data(), never);
          all += bytes_of(gradient) + bytes_of(z) + bytes_of(group_sums);
          if (cols == 40) {
            const std::ptrdiff_t wide = size / outputs;
            std::vector<double> curvature(size * size), sandwich(wide * wide), quadratic(rows);
            linear.sums({theta.data(), gradient.data(), curvature.data(), true, 1}, targets, sums, never);
            linear.sandwich(data.weights.data(), sandwich.data(), never);
            linear.quadratic(sandwich.data(), quadratic.data(), never);
            all += bytes_of(curvature) + bytes_of(sandwich) + bytes_of(quadratic);
          }
          return all + std::to_string(sums.loss);
        };
        const std::string what = "linear, kind " + std::to_string(static_cast<int>(kind)) + ", " +
                                 std::to_string(cols) + " columns, " + std::to_string(outputs) + " outputs";
        same_for_teams(what, result);
        same_at_once(what + ", at once", 3, [&](int i) { return result(1 + i % 2); });
      }
    }
  }
}

void binary_problems() {
  const int rows = 900, cols = 12, problems = 6;
  const Data<double> data(Data<double>::Kind::dense, rows, cols, 1, 9);
  std::vector<std::int64_t> order(rows), first{0, 300, 600, 900}, entries{0, 6, 12, 18};
  std::vector<std::int32_t> problem, pairs(rows);
  std::vector<std::int8_t> sign;
  for (int r = 0; r < rows; ++r) order[r] = (r * 7) % rows, pairs[r] = r % problems;
  for (int g = 0; g < 3; ++g)
    for (int p = 0; p < problems; ++p) problem.push_back(p), sign.push_back(p % 3 == g ? 1 : -1);
  const CodeMatrix codes{order.data(), first.data(), entries.data(), problem.data(), sign.data(), 3, problems};
  const BinaryWeights weights{data.weights.data(), nullptr, nullptr};
  same_for_teams("binary problems", [&](int threads) {
    Binaries binaries(data.x, std::vector<double>(cols, 0.0), threads);
    const std::ptrdiff_t size = binaries.size();
    std::vector<double> theta(problems * size, 0.01), loss(problems), gradient(problems * size),
        curvature(problems * size * size), step(problems * size), z(rows);
    const Interrupt::Ask never = [] { return false; };
    binaries.sums(theta.data(), codes, weights, loss.data(), gradient.data(), curvature.data(), never);
    binaries.solve(curvature.data(), gradient.data(), step.data(), problems, never);
    binaries.dots(step.data(), order.data(), pairs.data(), rows, z.data(), never);
    return bytes_of(loss) + bytes_of(gradient) + bytes_of(curvature) + bytes_of(step) + bytes_of(z);
  });
}

void solvers_vectors() {
  const int size = 9000;
  std::mt19937 draw(6);
  std::normal_distribution<double> normal;
  std::vector<double> s(size), y(size), q(size);
  for (int i = 0; i < size; ++i) s[i] = normal(draw), y[i] = s[i] + 0.1 * normal(draw), q[i] = normal(draw);
  same_for_teams("L-BFGS history", [&](int threads) {
    LbfgsHistory<float> history(size, 100, 4, threads);
    std::vector<double> step = q;
    for (int k = 0; k < 6; ++k) {
      history.push(s.data(), y.data());
      history.forward(step.data());
      history.backward(step.data());
    }
    return bytes_of(step);
  });
  const Data<double> data(Data<double>::Kind::sparse, 500, 3000, 1, 6);
  same_for_teams("row products", [&](int threads) {
    const std::vector<double> penalty(3000, 2.0);
    RowProducts products(data.x, penalty.data(), threads);
    std::vector<double> one(500), two(1000);
    products.apply(q.data(), 1, one.data(), [] { return false; });
    products.apply(q.data(), 2, two.data(), [] { return false; });
    return bytes_of(one) + bytes_of(two);
  });
  const std::int64_t many = 1 << 17;
  std::vector<float> scores(many);
  std::vector<std::uint8_t> positive(many);
  std::vector<std::int32_t> label(many);
  std::vector<double> weights(many, 1.5);
  for (std::int64_t i = 0; i < many; ++i)
    scores[i] = static_cast<float>(normal(draw)), positive[i] = draw() % 2, label[i] = static_cast<int>(draw() % 3);
  same_for_teams("scores", [&](int threads) {
    const Cutoffs cutoffs = weigh_cutoffs(scores.data(), positive.data(), weights.data(), many, threads);
    std::vector<double> wins(3), weight(3);
    pairwise_wins(scores.data(), label.data(), weights.data(), many, 1, wins.data(), weight.data(), 3, threads);
    const std::vector<double> tp(cutoffs.tp.get(), cutoffs.tp.get() + cutoffs.count);
    return bytes_of(tp) + bytes_of(wins) + bytes_of(weight);
  });
}

// Teams of several threads at once, as in a search over settings by threads.
void trainings_at_once() {
  const Data<float> data(Data<float>::Kind::dense, 200, 300, 10, 7);
  const Network narrow = network_of(300, {}, 10, Activation::relu), wide = network_of(300, {260}, 10, Activation::relu);
  same_at_once("narrow trainings at once", 4,
               [&](int i) { return trained(narrow, {Rule::adam}, data, 32, 1 + i % 3, 2); });
  same_at_once("wide trainings at once", 4, [&](int i) { return trained(wide, {Rule::adam}, data, 32, 1 + i % 3, 2); });
}

// A custom head's function knows nothing of threads: whatever is asked for, the calling thread alone calls it.
void custom_losses() {
  const Data<float> data(Data<float>::Kind::dense, 200, 300, 1, 7);
  for (const std::vector<int>& hidden : {std::vector<int>{}, {300}}) {
    Network net = network_of(300, hidden, 1, Activation::relu);
    net.head.family = Family::custom;
    long calls = 0;
    const std::thread::id caller = std::this_thread::get_id();
    net.custom = [&](const double* z, const double* t, int rows, int, double* loss, double* dz) {
      expect(std::this_thread::get_id() == caller, "a custom loss on another thread");
      ++calls;
      for (int r = 0; r < rows; ++r) loss[r] = (z[r] - t[r]) * (z[r] - t[r]) / 2, dz[r] = z[r] - t[r];
    };
    same_for_teams("custom loss", [&](int threads) { return trained(net, {Rule::adam}, data, 32, threads); });
    same_for_teams("custom loss, sums", [&](int threads) {
      Objective<float> objective(net, threads);
      const std::vector<float> theta = theta_of<float>(net);
      objective.set_theta(theta.data());
      std::vector<double> grad(net.parameters());
      objective.sums({&data.x, data.targets(Family::custom), nullptr, nullptr, nullptr, 0, 0}, 200, grad.data());
      return bytes_of(grad);
    });
    expect(calls > 0, "the custom loss is called");
  }
}

}  // namespace

int main() {
  teams_of_any_size = true;
  predictions<float>();
  predictions<double>();
  trainings<float>();
  trainings<double>();
  interrupted_trainings();
  custom_losses();
  linear_sums();
  binary_problems();
  solvers_vectors();
  trainings_at_once();
  std::printf(failures ? "%d FAILED\n" : "all the bytes of a single thread\n", failures);
  return failures ? 1 : 0;
}
