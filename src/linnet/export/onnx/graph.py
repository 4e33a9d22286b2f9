"""A computation as an ONNX file, built node by node. The package onnx is loaded with the first graph."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linnet import __version__
from linnet.errors import ConfigError, needs_extra
from linnet.files import write_whole

_OPSETS = {"": 18, "ai.onnx.ml": 4}
_IR_VERSION = 9  # onnxruntime 1.17 and later
_INSIDE = "linnet/"  # prefix of the names of inner values


class Tensor(NamedTuple):
    """A value of the graph: its name, and its type ("float32", "float64", "int64", "bool" or "str")."""

    name: str
    type: str


class Graph:
    """Inputs, constants and nodes; `write` writes a file with those that its outputs need."""

    def __init__(self, name: str) -> None:
        with needs_extra("onnx", "to_onnx"):
            import onnx
        self._onnx: Any = onnx
        self._name = name
        self._inputs: dict[str, Any] = {}
        self._constants: dict[str, Any] = {}
        self._nodes: list[Any] = []

    def input(self, name: str, type: str, width: int | None, what: str = "") -> Tensor:
        """Add an input table, rows x width; `width` None: any width."""
        if name in self._inputs or not name or name.startswith(_INSIDE):
            raise ConfigError(f"a column called {name!r} cannot be an input of an ONNX file: rename it")
        shape = ["rows", f"width of {name}" if width is None else width]
        self._inputs[name] = self._onnx.helper.make_tensor_value_info(name, self._code(type), shape, doc_string=what)
        return Tensor(name, type)

    def free_name(self, name: str) -> str:
        """Return the name, with underscores appended until it differs from all inputs."""
        while name in self._inputs:
            name += "_"
        return name

    def constant(self, values: NDArray[Any]) -> Tensor:
        """Add an array as part of the file; text has type object."""
        name = self._new("constant")
        self._constants[name] = self._onnx.numpy_helper.from_array(np.ascontiguousarray(values), name)
        return Tensor(name, "str" if values.dtype == object else str(values.dtype))

    def add(
        self,
        op: str,
        *inputs: Tensor | NDArray[Any] | float,
        type: str | None = None,
        domain: str = "",
        **attributes: Any,
    ) -> Tensor:
        """Add a node and return its output.

        Numbers are constants of the first tensor's type, which is also that of the output, unless `type` is given.
        """
        first = next((each for each in inputs if isinstance(each, Tensor)), None)
        assert first is not None
        given = []
        for each in inputs:
            if isinstance(each, int | float):
                each = np.array(each, first.type)
            given.append(each if isinstance(each, Tensor) else self.constant(each))
        name = self._new(op)
        names = [each.name for each in given]
        self._nodes.append(self._onnx.helper.make_node(op, names, [name], name=name, domain=domain, **attributes))
        return Tensor(name, type or first.type)

    def cast(self, x: Tensor, type: str) -> Tensor:
        """Return the values in another type."""
        return x if x.type == type else self.add("Cast", x, type=type, to=self._code(type))

    def join(self, parts: Sequence[Tensor]) -> Tensor:
        """Return columns side by side."""
        return parts[0] if len(parts) == 1 else self.add("Concat", *parts, axis=1)

    def lookup(self, x: Tensor, entries: Mapping[Any, Any], default: Any) -> Tensor:
        """Return for each value its entry in a dict from text or numbers to integers or text, or the default."""
        arrays = [
            np.array(values, object if isinstance(values[0], str) else None)
            for values in ([*entries.keys()], [*entries.values()], [default])
        ]
        names = ("keys_tensor", "values_tensor", "default_tensor")
        tables = {
            name: self._onnx.numpy_helper.from_array(array, name) for name, array in zip(names, arrays, strict=True)
        }
        type = "str" if isinstance(default, str) else "int64"
        return self.add("LabelEncoder", x, type=type, domain="ai.onnx.ml", **tables)

    def repeat(self, row: NDArray[Any]) -> Tensor:
        """Return the same row for each row of the inputs."""
        count = self.add("Shape", Tensor(next(iter(self._inputs)), ""), type="int64", start=0, end=1)
        shape = self.add("Concat", count, np.array([len(row)]), axis=0)
        return self.add("Expand", self.constant(row[None]), shape)

    def write(self, path: Path, outputs: Mapping[str, Tensor]) -> None:
        """Write the file; an existing one is replaced once the new one is complete."""
        helper = self._onnx.helper
        named = {self.free_name(name): tensor for name, tensor in outputs.items()}
        nodes = self._needed([tensor.name for tensor in named.values()])
        for name, tensor in named.items():
            nodes.append(helper.make_node("Identity", [tensor.name], [name], name=f"{_INSIDE}output {name}"))
        used = {name for node in nodes for name in node.input}
        graph = helper.make_graph(
            nodes,
            self._name,
            [*self._inputs.values()],
            [helper.make_tensor_value_info(name, self._code(tensor.type), None) for name, tensor in named.items()],
            [constant for name, constant in self._constants.items() if name in used],
        )
        opsets = [helper.make_opsetid(domain, version) for domain, version in _OPSETS.items()]
        model = helper.make_model(
            graph, opset_imports=opsets, ir_version=_IR_VERSION, producer_name="linnet", producer_version=__version__
        )
        model = self._onnx.shape_inference.infer_shapes(model, strict_mode=True)  # of the outputs
        del model.graph.value_info[:]
        write_whole(path, [model.SerializeToString(deterministic=True)])

    def _needed(self, wanted: list[str]) -> list[Any]:
        """Return the nodes needed for these values."""
        needed, nodes = {*wanted}, []
        for node in reversed(self._nodes):
            if node.output[0] in needed:
                nodes.append(node)
                needed.update(node.input)
        return nodes[::-1]

    def _code(self, type: str) -> int:
        proto = self._onnx.TensorProto
        codes = {"float32": proto.FLOAT, "float64": proto.DOUBLE, "int64": proto.INT64, "bool": proto.BOOL}
        return int({**codes, "str": proto.STRING}[type])

    def _new(self, what: str) -> str:
        return f"{_INSIDE}{what} {len(self._nodes) + len(self._constants)}"
