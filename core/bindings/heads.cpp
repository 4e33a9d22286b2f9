// Python's view of the heads: their names, and their mean, loss and derivatives row by row.
#include "bindings/arrays.hpp"
#include "heads/rows.hpp"

namespace linnet::inline LINNET_ISA {

void bind_heads(nb::module_& m) {
  nb::enum_<Activation>(m, "Activation")
#define LINNET_ACTIVATION(name, formulas) .value(#name, Activation::name)
#include "heads/activations.def"
#undef LINNET_ACTIVATION
      ;
  nb::enum_<Family>(m, "Family")
#define LINNET_FAMILY(name, formulas) .value(#name, Family::name)
#include "heads/families.def"
#undef LINNET_FAMILY
      ;

  using Out = OutMatrix<double>;
  m.def(
      "head_rows",
      [](Family family, double parameter, Matrix<double> z, Vector<std::int32_t> labels, Matrix<double> values,
         Out mean, OutVector<double> loss, Out slope, Out curvature, bool expected) {
        const std::size_t rows = z.shape(0), outputs = z.shape(1);
        const int count = counted("outputs", outputs, 1, max_outputs);
        require(labels.is_valid() + values.is_valid() < 2, "give labels or values");
        require(
            labels.is_valid() || values.is_valid() || !(loss.is_valid() || slope.is_valid() || curvature.is_valid()),
            "only the mean needs no labels or values");
        if (labels.is_valid()) require(labels.size() == rows, "labels: one per row");
        if (values.is_valid()) require(values.shape(0) == rows && values.shape(1) == outputs, "values: the shape of z");
        if (loss.is_valid()) require(loss.size() == rows, "loss: one per row");
        for (const Out& out : {mean, slope, curvature})
          if (out.is_valid())
            require(out.shape(0) == rows && out.shape(1) == outputs, "mean, slope, curvature: the shape of z");
        auto at = [](const auto& array) { return array.is_valid() ? array.data() : nullptr; };
        const HeadRows wanted{at(mean), at(loss), at(slope), at(curvature), expected};
        nb::gil_scoped_release free;
        head_rows({family, parameter}, z.data(), {at(labels), at(values)}, static_cast<std::int64_t>(rows), count,
                  wanted);
      },
      nb::arg("family"), nb::arg("parameter"), nb::arg("z"), nb::arg("labels").none() = nb::none(),
      nb::arg("values").none() = nb::none(), nb::arg("mean").noconvert().none() = nb::none(),
      nb::arg("loss").noconvert().none() = nb::none(), nb::arg("slope").noconvert().none() = nb::none(),
      nb::arg("curvature").noconvert().none() = nb::none(), nb::arg("expected") = false);
}

}  // namespace linnet::inline LINNET_ISA
