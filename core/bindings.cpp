// The module, built once for every instruction set and called LINNET_MODULE (_core_v2, _core_v3, ...). Only the files
// called bindings know Python; its checkers read src/linnet/_core.pyi. Arrays are checked here for shape and type only;
// what they mean is checked in Python, where errors can name columns and rows.
#include "bindings.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <optional>
#include <stdexcept>
#include <tuple>

#include "cpu.hpp"
#include "objective.hpp"
#include "train.hpp"

using namespace linnet;

#if defined(__clang__)
constexpr const char* compiler = "clang " __clang_version__;
#else
constexpr const char* compiler = "gcc " __VERSION__;
#endif

namespace {

// Targets and weights as they come from Python: labels or values, one of the two. None arrives as an invalid array.
template <class T>
struct Answers {
  Vector<std::int32_t> labels;
  Matrix<T> values;
  Vector<T> weights;
  Matrix<T> offset;

  Targets<T> targets(const Network& net, std::int64_t rows) const {
    require(labels.is_valid() != values.is_valid(), "give labels or values");
    if (weights.is_valid()) require(is_long(weights, rows), "weights: one a row");
    if (offset.is_valid()) require(is_shaped(offset, rows, net.outputs()), "offset: rows x outputs");
    require(net.head.family != Family::custom || values.is_valid(), "a custom loss takes values");
    if (labels.is_valid()) {
      require(is_long(labels, rows), "labels: one a row");
      return {labels.data(), nullptr};
    }
    require(is_shaped(values, rows, net.outputs()), "values: rows x outputs");
    return {nullptr, values.data()};
  }
  const T* weight_data() const { return weights.is_valid() ? weights.data() : nullptr; }
  const T* offset_data() const { return offset.is_valid() ? offset.data() : nullptr; }
};

// function(z, t) -> (loss, dz), in arrays of rows x outputs, of rows, and of rows x outputs.
CustomLoss custom_loss(nb::object function) {
  struct Release {  // a function is let go of where its owner is, which may be without the lock
    void operator()(nb::object* o) const {
      nb::gil_scoped_acquire lock;
      delete o;
    }
  };
  const std::shared_ptr<nb::object> held(new nb::object(std::move(function)), Release{});
  return [held](const double* z, const double* t, int rows, int outputs, double* loss, double* dz) {
    nb::gil_scoped_acquire lock;
    const std::size_t shape[2] = {static_cast<std::size_t>(rows), static_cast<std::size_t>(outputs)};
    using In = nb::ndarray<nb::numpy, const double, nb::ndim<2>>;
    const auto answer = nb::cast<nb::tuple>(
        (*held)(nb::cast(In(z, 2, shape), nb::rv_policy::copy), nb::cast(In(t, 2, shape), nb::rv_policy::copy)));
    const auto losses = nb::cast<Vector<double>>(answer[0]);
    const auto slopes = nb::cast<Matrix<double>>(answer[1]);
    require(losses.size() == shape[0] && slopes.shape(0) == shape[0] && slopes.shape(1) == shape[1],
            "a custom loss gives one number a row, and a slope for each output");
    std::copy_n(losses.data(), losses.size(), loss);
    std::copy_n(slopes.data(), slopes.size(), dz);
  };
}

// Rows [first, first + rows) of columns that a network can take.
void require_rows_of(const Network& net, const Columns& x, std::int64_t first, std::int64_t rows) {
  require(x.cols() == net.inputs(), "x: wrong number of columns");
  require(first >= 0 && rows >= 1 && rows <= x.rows && first <= x.rows - rows, "rows out of range");
}

template <class T>
struct PyObjective {
  Objective<T> objective;
  InUse in_use;
};

// A trainer and the arrays it reads, kept alive as long as it.
template <class T>
struct PyTrainer {
  Trainer<T> trainer;
  std::optional<PyColumns> x;
  Answers<T> answers;
  OutMatrix<T> fitted;
  InUse in_use;
};

template <class T>
void bind(nb::module_& m, const char* objective_name, const char* trainer_name) {
  using Labels = Vector<std::int32_t>;
  using Values = Matrix<T>;
  using Weights = Vector<T>;

  nb::class_<PyObjective<T>>(m, objective_name)
      .def(
          "__init__",
          [](PyObjective<T>* self, const Network& net, int threads) {
            new (self) PyObjective<T>{{net, counted("threads", threads, 1, most_threads)}, {}};
          },
          nb::arg("network"), nb::arg("threads"))
      .def(
          "use_threads",
          [](PyObjective<T>& py, int threads) {
            const InUse::Turn turn(py.in_use);
            py.objective.use(counted("threads", threads, 1, most_threads));
          },
          nb::arg("threads"))
      .def(
          "set_theta",
          [](PyObjective<T>& py, Vector<T> theta) {
            const InUse::Turn turn(py.in_use);
            Objective<T>& self = py.objective;
            require(is_long(theta, self.network().parameters()), "theta: wrong length");
            self.set_theta(theta.data());
          },
          nb::arg("theta"))
      .def(
          "sums",
          [](PyObjective<T>& py, const PyColumns& columns, Labels labels, Values values, Weights weights, Values offset,
             std::int64_t first, std::int64_t rows, OutVector<double> grad) {
            const InUse::Turn turn(py.in_use);
            Objective<T>& self = py.objective;
            const Columns& x = columns.x;
            const Answers<T> answers{labels, values, weights, offset};
            require_rows_of(self.network(), x, first, rows);
            const Batch<T> batch{&x,
                                 answers.targets(self.network(), x.rows),
                                 answers.weight_data(),
                                 answers.offset_data(),
                                 nullptr,
                                 first,
                                 0};
            if (grad.is_valid()) require(is_long(grad, self.network().parameters()), "grad: wrong length");
            nb::gil_scoped_release free;
            const Sums sums = self.sums(batch, rows, grad.is_valid() ? grad.data() : nullptr);
            return std::make_tuple(sums.loss, sums.weight);
          },
          nb::arg("x"), nb::arg("labels").none(), nb::arg("values").none(), nb::arg("weights").none(),
          nb::arg("offset").none(), nb::arg("first"), nb::arg("rows"), nb::arg("grad").noconvert().none())
      .def(
          "predict",
          [](PyObjective<T>& py, const PyColumns& columns, std::int64_t first, std::int64_t rows, bool mean,
             OutMatrix<T> out) {
            const InUse::Turn turn(py.in_use);
            Objective<T>& self = py.objective;
            const Columns& x = columns.x;
            require_rows_of(self.network(), x, first, rows);
            require(is_shaped(out, rows, self.network().outputs()), "out: rows x outputs");
            nb::gil_scoped_release free;
            self.predict(x, first, rows, mean, out.data());
          },
          nb::arg("x"), nb::arg("first"), nb::arg("rows"), nb::arg("mean"), nb::arg("out").noconvert());

  nb::class_<PyTrainer<T>>(m, trainer_name)
      .def(
          "__init__",
          [](PyTrainer<T>* self, const Network& net, const OptimizerSpec& optimizer, std::int64_t batch_rows,
             std::uint64_t seed, int threads) {
            require(batch_rows >= 1 && batch_rows <= most_rows, "batch_rows: at least 1");
            counted("threads", threads, 1, most_threads);
            new (self) PyTrainer<T>{Trainer<T>(net, optimizer, batch_rows, seed, threads), {}, {}, {}, {}};
          },
          nb::arg("network"), nb::arg("optimizer"), nb::arg("batch_rows"), nb::arg("seed"), nb::arg("threads"))
      .def(
          "set_data",
          [](PyTrainer<T>& self, const PyColumns& columns, Labels labels, Values values, Weights weights, Values offset,
             bool shuffle, double scale) {
            const InUse::Turn turn(self.in_use);
            // What is refused, here or for want of memory, leaves the trainer as it was: nothing is replaced before all
            // is checked and made.
            PyColumns kept = columns;
            Answers<T> answers{labels, values, weights, offset};
            const Columns& x = kept.x;
            const Network& net = self.trainer.network();
            require(x.cols() == net.inputs(), "x: wrong number of columns");
            require(x.rows >= 1 && x.rows < (std::int64_t{1} << 32), "x: from 1 to 2^32 - 1 rows can be trained on");
            self.trainer.set_data(x, answers.targets(net, x.rows), answers.weight_data(), answers.offset_data(),
                                  shuffle, scale);
            self.x = std::move(kept);
            self.answers = std::move(answers);
            self.fitted = {};
          },
          nb::arg("x"), nb::arg("labels").none(), nb::arg("values").none(), nb::arg("weights").none(),
          nb::arg("offset").none(), nb::arg("shuffle"), nb::arg("scale"))
      .def("forget_data",
           [](PyTrainer<T>& self) {
             const InUse::Turn turn(self.in_use);
             self.trainer.forget_data();
             self.x.reset(), self.answers = {}, self.fitted = {};
           })
      .def(
          "set_fitted",
          [](PyTrainer<T>& self, OutMatrix<T> fitted) {
            const InUse::Turn turn(self.in_use);
            require(self.x.has_value(), "set_data first");
            if (fitted.is_valid())
              require(is_shaped(fitted, self.x->x.rows, self.trainer.network().outputs()), "fitted: rows x outputs");
            self.fitted = fitted;
            self.trainer.set_fitted(fitted.is_valid() ? fitted.data() : nullptr);
          },
          nb::arg("fitted").noconvert().none())
      .def(
          "begin_epoch",
          [](PyTrainer<T>& self, std::int64_t epoch) {
            const InUse::Turn turn(self.in_use);
            require(self.x.has_value(), "set_data first");
            nb::gil_scoped_release free;
            self.trainer.begin_epoch(epoch);
          },
          nb::arg("epoch"))
      .def(
          "run",
          [](PyTrainer<T>& self, Vector<double> rates, double seconds, int threads) {
            const InUse::Turn turn(self.in_use);
            require(self.x && std::cmp_greater_equal(rates.size(), self.trainer.steps()), "rates: one a step");
            counted("threads", threads, 1, most_threads);
            Interrupt interrupt(interrupted);
            Progress progress;
            finish([&] {
              progress = self.trainer.run(rates.data(), seconds, threads, interrupt);
              return !interrupt.happened();
            });
            return progress;
          },
          nb::arg("rates"), nb::arg("seconds"), nb::arg("threads"))
      .def(
          "read",
          [](PyTrainer<T>& self, int array, OutVector<T> out) {
            const InUse::Turn turn(self.in_use);
            require(array >= 0 && array <= self.trainer.arrays(), "no such array");
            require(is_long(out, self.trainer.network().parameters()), "wrong length");
            self.trainer.read(array, out.data());
          },
          nb::arg("array"), nb::arg("out").noconvert())
      .def(
          "write",
          [](PyTrainer<T>& self, int array, Vector<T> values) {
            const InUse::Turn turn(self.in_use);
            require(array >= 0 && array <= self.trainer.arrays(), "no such array");
            require(is_long(values, self.trainer.network().parameters()), "wrong length");
            self.trainer.write(array, values.data());
          },
          nb::arg("array"), nb::arg("values"))
      .def("finite",
           [](PyTrainer<T>& self) {
             const InUse::Turn turn(self.in_use);
             return self.trainer.finite();
           })
      .def_prop_ro("steps", [](const PyTrainer<T>& self) { return self.trainer.steps(); })
      .def_prop_ro("arrays", [](const PyTrainer<T>& self) { return self.trainer.arrays(); })
      .def_prop_rw(
          "updates", [](const PyTrainer<T>& self) { return self.trainer.updates(); },
          [](PyTrainer<T>& self, std::int64_t n) {
            const InUse::Turn turn(self.in_use);
            self.trainer.set_updates(n);
          });
}

}  // namespace

NB_MODULE(LINNET_MODULE, m) {
  m.doc() = "linnet's native core, built for one instruction set";
  m.attr("isa") = LINNET_ISA;
  m.attr("compiler") = compiler;
  m.attr("vector_bytes") = vector_bytes;
#ifdef NDEBUG  // a model that is alive when Python ends is no news to users
  nb::set_leak_warnings(false);
#endif

  m.def("supported", &supported_isas, "The instruction sets this processor can run, in rising order.");

  nb::enum_<Activation>(m, "Activation")
      .value("identity", Activation::identity)
      .value("sigmoid", Activation::sigmoid)
      .value("tanh", Activation::tanh)
      .value("relu", Activation::relu)
      .value("leaky_relu", Activation::leaky_relu)
      .value("elu", Activation::elu)
      .value("selu", Activation::selu)
      .value("gelu", Activation::gelu)
      .value("silu", Activation::silu)
      .value("softplus", Activation::softplus)
      .value("exponential", Activation::exponential)
      .value("softmax", Activation::softmax);
  nb::enum_<Family>(m, "Family")
      .value("normal", Family::normal)
      .value("laplace", Family::laplace)
      .value("huber", Family::huber)
      .value("quantile", Family::quantile)
      .value("bernoulli", Family::bernoulli)
      .value("categorical", Family::categorical)
      .value("poisson", Family::poisson)
      .value("perceptron", Family::perceptron)
      .value("gamma", Family::gamma)
      .value("tweedie", Family::tweedie)
      .value("tweedie_identity", Family::tweedie_identity)
      .value("custom", Family::custom);
  nb::enum_<Rule>(m, "Rule")
      .value("sgd", Rule::sgd)
      .value("momentum", Rule::momentum)
      .value("nesterov", Rule::nesterov)
      .value("adagrad", Rule::adagrad)
      .value("rmsprop", Rule::rmsprop)
      .value("adam", Rule::adam)
      .value("adamw", Rule::adamw);

  nb::class_<LayerSpec>(m, "LayerSpec")
      .def(
          "__init__",
          [](LayerSpec* self, std::int64_t inputs, std::int64_t outputs, Activation activation, double leak,
             double dropout, double l1, double l2, bool bias) {
            require(dropout >= 0 && dropout < 1, "dropout: in [0, 1)");
            new (self) LayerSpec{counted("inputs of a layer", inputs, 1, most_columns),
                                 counted("outputs of a layer", outputs, 1, most_outputs),
                                 activation,
                                 leak,
                                 dropout,
                                 {l1, l2},
                                 bias};
          },
          nb::arg("inputs"), nb::arg("outputs"), nb::arg("activation"), nb::arg("leak"), nb::arg("dropout"),
          nb::arg("l1"), nb::arg("l2"), nb::arg("bias"));
  nb::class_<Network>(m, "Network")
      .def(
          "__init__",
          [](Network* self, const std::vector<LayerSpec>& layers, Family family, double power, nb::object custom) {
            require(!layers.empty(), "a network needs a layer");
            for (std::size_t l = 1; l < layers.size(); ++l)
              require(layers[l].inputs == layers[l - 1].outputs, "layers do not fit together");
            require((family == Family::custom) != custom.is_none(), "a custom head and its function go together");
            new (self) Network{layers, {family, power}, custom.is_none() ? CustomLoss() : custom_loss(custom)};
          },
          nb::arg("layers"), nb::arg("family"), nb::arg("power") = 0.0, nb::arg("custom").none() = nb::none())
      .def_prop_ro("parameters", &Network::parameters);
  nb::class_<OptimizerSpec>(m, "OptimizerSpec")
      .def(nb::init<>())
      .def_rw("rule", &OptimizerSpec::rule)
      .def_rw("momentum", &OptimizerSpec::momentum)
      .def_rw("beta1", &OptimizerSpec::beta1)
      .def_rw("beta2", &OptimizerSpec::beta2)
      .def_rw("epsilon", &OptimizerSpec::epsilon)
      .def_rw("initial_accumulator", &OptimizerSpec::initial_accumulator)
      .def_rw("decay", &OptimizerSpec::decay)
      .def_rw("clip_norm", &OptimizerSpec::clip_norm);
  nb::class_<Progress>(m, "Progress")
      .def_ro("step", &Progress::step)
      .def_ro("steps", &Progress::steps)
      .def_ro("rows", &Progress::rows)
      .def_ro("loss_sum", &Progress::loss_sum)
      .def_ro("penalty_sum", &Progress::penalty_sum)
      .def_ro("diverged", &Progress::diverged);

  bind<float>(m, "ObjectiveF32", "TrainerF32");
  bind<double>(m, "ObjectiveF64", "TrainerF64");
  bind_columns(m);
  bind_linear(m);
  bind_binaries(m);
  bind_evaluate(m);

  m.def("useful_threads", &useful_threads, nb::arg("network"), nb::arg("rows"), nb::arg("limit"));
  m.def(
      "set_teams_of_any_size", [](bool any) { teams_of_any_size = any; }, nb::arg("any"),
      "For tests: take as many threads as asked for, however little there is to do.");
  m.def(
      "first_nonfinite",
      [](Table x, int threads) {
        const Design d = design_of(x);
        if (d.kind == Design::Kind::u8) return std::make_tuple(std::int64_t{-1}, std::int64_t{-1});
        nb::gil_scoped_release free;
        const auto parts =
            static_cast<int>(std::clamp<std::int64_t>(d.rows, 1, counted("threads", threads, 1, most_threads)));
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
        require(out.size() < (std::size_t{1} << 32), "out: fewer than 2^32");
        random_permutation(out.data(), static_cast<std::uint32_t>(out.size()),
                           random_key(seed, Purpose::shuffle, epoch));
      },
      nb::arg("seed"), nb::arg("epoch"), nb::arg("out").noconvert(), "The order of rows in an epoch.");
}
