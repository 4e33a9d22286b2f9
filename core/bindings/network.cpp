// Python's view of a network: layers, activations and heads.
#include "network/network.hpp"

#include <nanobind/stl/vector.h>

#include <memory>

#include "bindings/arrays.hpp"

namespace linnet::inline LINNET_ISA {

namespace {

// function(z, t) -> (loss, dz), in arrays of rows x outputs, of rows, and of rows x outputs.
CustomLoss custom_loss(nb::object function) {
  struct Release {  // the function is released where its owner is destroyed, possibly without the GIL
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
    const auto result = nb::cast<nb::tuple>(
        (*held)(nb::cast(In(z, 2, shape), nb::rv_policy::copy), nb::cast(In(t, 2, shape), nb::rv_policy::copy)));
    const auto losses = nb::cast<Vector<double>>(result[0]);
    const auto slopes = nb::cast<Matrix<double>>(result[1]);
    require(losses.size() == shape[0] && slopes.shape(0) == shape[0] && slopes.shape(1) == shape[1],
            "a custom loss returns one loss per row and one slope per output");
    std::copy_n(losses.data(), losses.size(), loss);
    std::copy_n(slopes.data(), slopes.size(), dz);
  };
}

}  // namespace

void bind_network(nb::module_& m) {
  nb::class_<LayerSpec>(m, "LayerSpec")
      .def(
          "__init__",
          [](LayerSpec* self, std::int64_t inputs, std::int64_t outputs, Activation activation, double leak,
             double dropout, double l1, double l2, bool bias) {
            require(dropout >= 0 && dropout < 1, "dropout: in [0, 1)");
            new (self) LayerSpec{counted("inputs of a layer", inputs, 1, max_columns),
                                 counted("outputs of a layer", outputs, 1, max_outputs),
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
          [](Network* self, const std::vector<LayerSpec>& layers, Family family, double parameter, nb::object custom) {
            require(!layers.empty(), "a network needs a layer");
            for (std::size_t l = 1; l < layers.size(); ++l)
              require(layers[l].inputs == layers[l - 1].outputs, "layers do not fit together");
            require(is_external({family, 0}) != custom.is_none(), "only a custom head needs a function");
            new (self) Network{layers, {family, parameter}, custom.is_none() ? CustomLoss() : custom_loss(custom)};
          },
          nb::arg("layers"), nb::arg("family"), nb::arg("parameter") = 0.0, nb::arg("custom").none() = nb::none())
      .def_prop_ro("parameters", &Network::parameters);
}

}  // namespace linnet::inline LINNET_ISA
