"""Arrays with named axes."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from torch import Tensor

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class NamedArray:
    """A float32 array with named axes: `array.at(layer=2, head=1)` indexes it, `array.values` is the numpy array."""

    axes: tuple[str, ...]
    values: Floats

    def __post_init__(self) -> None:
        if len(self.axes) != self.values.ndim or len(set(self.axes)) != len(self.axes):
            raise ValueError(f"an array of {self.values.ndim} dimensions cannot have the axes {self.axes}")

    @classmethod
    def of(cls, values: "Tensor | npt.NDArray[np.float64]", *axes: str) -> "NamedArray":
        """A copy of a tensor or an array, with these axis names."""
        array = values if isinstance(values, np.ndarray) else values.detach().float().cpu().numpy()
        return cls(axes, array.astype(np.float32))

    @property
    def shape(self) -> dict[str, int]:
        """The length of each axis."""
        return dict(zip(self.axes, self.values.shape, strict=True))

    def at(self, **where: int) -> "NamedArray":
        """The sub-array at these indices of the named axes. The other axes are kept."""
        unknown = [axis for axis in where if axis not in self.axes]
        if unknown:
            raise KeyError(f"no axis {unknown[0]!r}; there is {', '.join(self.axes)}")
        places = tuple(where.get(axis, slice(None)) for axis in self.axes)
        return NamedArray(tuple(axis for axis in self.axes if axis not in where), np.asarray(self.values[places]))

    def mean(self, *axes: str) -> "NamedArray":
        """The mean over these axes."""
        places = tuple(self.axes.index(axis) for axis in axes)
        kept = tuple(axis for axis in self.axes if axis not in axes)
        return NamedArray(kept, np.asarray(self.values.mean(axis=places)))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return np.array(self.values, dtype=dtype, copy=copy)

    def __float__(self) -> float:
        return float(self.values)
