// Python's view of stochastic training.
#include "train/trainer.hpp"

#include <optional>

#include "bindings/targets.hpp"

namespace linnet::inline LINNET_ISA {

namespace {

// A trainer and the arrays it reads, which it keeps alive.
template <class T>
struct PyTrainer {
  Trainer<T> trainer;
  std::optional<PyColumns> x;
  PyTargets<T> given;
  OutMatrix<T> fitted;
  InUse in_use;
};

template <class T>
void bind(nb::module_& m, const char* name) {
  using Labels = Vector<std::int32_t>;
  using Values = Matrix<T>;
  using Weights = Vector<T>;

  nb::class_<PyTrainer<T>>(m, name)
      .def(
          "__init__",
          [](PyTrainer<T>* self, const Network& net, const OptimizerSpec& optimizer, std::int64_t batch_rows,
             std::uint64_t seed, int threads) {
            require(batch_rows >= 1 && batch_rows <= max_rows, "batch_rows: at least 1");
            counted("threads", threads, 1, max_threads);
            new (self) PyTrainer<T>{Trainer<T>(net, optimizer, batch_rows, seed, threads), {}, {}, {}, {}};
          },
          nb::arg("network"), nb::arg("optimizer"), nb::arg("batch_rows"), nb::arg("seed"), nb::arg("threads"))
      .def(
          "set_data",
          [](PyTrainer<T>& self, const PyColumns& columns, Labels labels, Values values, Weights weights, Values offset,
             bool shuffle, double scale) {
            const InUse::Turn turn(self.in_use);
            // If data is refused, here or for lack of memory, the trainer stays unchanged: nothing is replaced before
            // everything is checked and allocated.
            PyColumns kept = columns;
            PyTargets<T> given{labels, values, weights, offset};
            const Columns& x = kept.x;
            const Network& net = self.trainer.network();
            require(x.cols() == net.inputs(), "x: wrong number of columns");
            require(x.rows >= 1 && x.rows < (std::int64_t{1} << 32), "x: from 1 to 2^32 - 1 rows can be trained on");
            self.trainer.set_data(x, given.targets(net, x.rows), given.weight_data(), given.offset_data(), shuffle,
                                  scale);
            self.x = std::move(kept);
            self.given = std::move(given);
            self.fitted = {};
          },
          nb::arg("x"), nb::arg("labels").none(), nb::arg("values").none(), nb::arg("weights").none(),
          nb::arg("offset").none(), nb::arg("shuffle"), nb::arg("scale"))
      .def("forget_data",
           [](PyTrainer<T>& self) {
             const InUse::Turn turn(self.in_use);
             self.trainer.forget_data();
             self.x.reset(), self.given = {}, self.fitted = {};
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
            require(self.x && std::cmp_greater_equal(rates.size(), self.trainer.steps()), "rates: one per step");
            counted("threads", threads, 1, max_threads);
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

void bind_trainer(nb::module_& m) {
  nb::enum_<Rule>(m, "Rule")
#define LINNET_RULE(name, states, corrected, decays) .value(#name, Rule::name)
#include "train/rules.def"
#undef LINNET_RULE
      ;
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

  bind<float>(m, "TrainerF32");
  bind<double>(m, "TrainerF64");
  m.def("useful_threads", &useful_threads, nb::arg("network"), nb::arg("rows"), nb::arg("limit"));
}

}  // namespace linnet::inline LINNET_ISA
