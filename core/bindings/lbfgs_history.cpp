// The history of L-BFGS, as Python has it.
#include "objective/lbfgs_history.hpp"

#include "bindings/arrays.hpp"

namespace linnet::inline LINNET_ISA {

namespace {

template <class T>
struct PyHistory {
  LbfgsHistory<T> history;
  InUse in_use;
};

template <class T>
void bind(nb::module_& m, const char* name) {
  using Kept = PyHistory<T>;
  auto check = [](const Kept& self, const auto& x) { require(is_long(x, self.history.size()), "wrong length"); };
  nb::class_<Kept>(m, name)
      .def(
          "__init__",
          [](Kept* self, std::ptrdiff_t size, std::ptrdiff_t dual_size, int memory, int threads) {
            require(size >= 1 && size <= max_rows, "size: zero or too large");
            counted("memory", memory, 1, 1 << 16);
            counted("threads", threads, 1, max_threads);
            require(dual_size >= 0 && 2 * dual_size <= size, "dual_size: no more than half the size");
            new (self) Kept{{size, dual_size, memory, threads}, {}};
          },
          nb::arg("size"), nb::arg("dual_size"), nb::arg("memory"), nb::arg("threads"))
      .def("__len__", [](const Kept& self) { return self.history.count(); })
      .def("clear",
           [](Kept& self) {
             const InUse::Turn turn(self.in_use);
             self.history.clear();
           })
      .def(
          "push",
          [check](Kept& self, Vector<double> s, Vector<double> y) {
            const InUse::Turn turn(self.in_use);
            check(self, s);
            check(self, y);
            nb::gil_scoped_release free;
            self.history.push(s.data(), y.data());
          },
          nb::arg("s"), nb::arg("y"))
      .def(
          "forward",
          [check](Kept& self, OutVector<double> q) {
            const InUse::Turn turn(self.in_use);
            check(self, q);
            nb::gil_scoped_release free;
            self.history.forward(q.data());
          },
          nb::arg("q").noconvert())
      .def(
          "backward",
          [check](Kept& self, OutVector<double> r) {
            const InUse::Turn turn(self.in_use);
            check(self, r);
            nb::gil_scoped_release free;
            self.history.backward(r.data());
          },
          nb::arg("r").noconvert());
}

}  // namespace

void bind_lbfgs_history(nb::module_& m) {
  bind<double>(m, "LbfgsHistoryF64");
  bind<float>(m, "LbfgsHistoryF32");
}

}  // namespace linnet::inline LINNET_ISA
