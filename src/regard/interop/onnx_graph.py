"""`Graph`: an ONNX graph, written operator by operator. It knows no network.

Opset 17 is the least that has `LayerNormalization`; every onnxruntime since 1.12 runs it.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.files import disk_errors

if TYPE_CHECKING:
    from numpy.typing import NDArray

OPSET, IR_VERSION = 17, 8
LONGEST_FILE = 1 << 30
"""Bytes of weights that are inside of the `.onnx` file, which protobuf limits to 2 GB. More are in a file beside it."""

Size = int | str
"""A dimension: a number, or the name of one that each run decides."""


class Graph:
    """A graph that grows with every call. A value is the name of a tensor."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._nodes: list[Any] = []
        self._constants: dict[str, NDArray[Any]] = {}
        self._inputs: list[Any] = []
        self._outputs: list[Any] = []

    def input(self, name: str, sizes: Sequence[Size], *, integers: bool = False) -> str:
        """An input: floats, or 64-bit integers."""
        self._inputs.append(_value(name, sizes, integers=integers))
        return name

    def output(self, value: str, name: str, sizes: Sequence[Size]) -> None:
        """Name a value of floats as an output."""
        self._add("Identity", [value], name)
        self._outputs.append(_value(name, sizes, integers=False))

    def constant(self, value: "NDArray[Any] | float | int | Sequence[int]", name: str | None = None) -> str:
        """A constant: weights under their name, or a number. Whole numbers have 64 bits, others 32."""
        import numpy as np

        array = np.asarray(value)
        if not isinstance(value, np.ndarray):
            array = array.astype(np.int64 if array.dtype.kind in "iu" else np.float32)
        name = name or f"constant.{array.dtype}.{'x'.join(map(str, array.shape))}.{array.tolist()}"
        self._constants.setdefault(name, array)
        return name

    def apply(self, operator: str, *values: str, **attributes: Any) -> str:
        """The result of an operator of ONNX."""
        name = f"{operator}.{len(self._nodes)}"
        self._add(operator, values, name, **attributes)
        return name

    def add(self, left: str, right: str) -> str:
        return self.apply("Add", left, right)

    def times(self, value: str, factor: float) -> str:
        """value * factor"""
        return value if factor == 1.0 else self.apply("Mul", value, self.constant(float(factor)))

    def size(self, value: str, axis: int) -> str:
        """[]: the size of a dimension."""
        one = self.apply("Shape", value, start=axis, end=axis + 1)
        return self.apply("Squeeze", one, self.constant([0]))

    def range(self, first: str, last: str) -> str:
        """first, first + 1, .. last - 1"""
        return self.apply("Range", first, last, self.constant(1))

    def unsqueezed(self, value: str, *axes: int) -> str:
        return self.apply("Unsqueeze", value, self.constant(list(axes)))

    def numbers(self, value: str) -> str:
        """Truth values or whole numbers as floats."""
        from onnx import TensorProto

        return self.apply("Cast", value, to=TensorProto.FLOAT)

    def save(self, path: Path, producer: str) -> None:
        """Check the graph and write it. Large weights are written to `path.data`."""
        import onnx
        from onnx import helper, numpy_helper

        weights = [numpy_helper.from_array(array, name) for name, array in self._constants.items()]
        graph = helper.make_graph(self._nodes, self._name, self._inputs, self._outputs, weights)
        model = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", OPSET)],
            ir_version=IR_VERSION,
            producer_name="regard",
            producer_version=producer,
        )
        outside = sum(array.nbytes for array in self._constants.values()) > LONGEST_FILE
        with disk_errors(path):
            onnx.save_model(model, path, save_as_external_data=outside, location=f"{path.name}.data")
        onnx.checker.check_model(path, full_check=True)

    def _add(self, operator: str, values: Sequence[str], name: str, **attributes: Any) -> None:
        from onnx import helper

        self._nodes.append(helper.make_node(operator, list(values), [name], name=f"/{name}", **attributes))


def _value(name: str, sizes: Sequence[Size], *, integers: bool) -> Any:
    from onnx import TensorProto, helper

    return helper.make_tensor_value_info(name, TensorProto.INT64 if integers else TensorProto.FLOAT, list(sizes))
