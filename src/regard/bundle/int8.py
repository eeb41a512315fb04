"""Weights in 8 bits for CTranslate2: one scale a row, small enough that no processor overflows.

CTranslate2 stores activations as 1 to 255 and multiplies them by weights of -127 to 127. A processor without VNNI adds each two
neighbouring products in 16 bits, and cuts what does not fit: two large weights of one sign side by side suffice. So the two have at most
128 together here, and every processor computes the same. docs/experiments.md has what that gains and costs.

Shapes: O outputs, I inputs.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MOST = 127  # of one weight
MOST_TOGETHER = 128  # of two neighbours of one sign: 128 * 255 fits into 16 bits


def quantised(weight: "NDArray[np.float32]") -> "tuple[NDArray[np.int8], NDArray[np.float32]]":
    """([O, I] whole numbers, [O] scales): weight is about whole numbers / scales."""
    import numpy as np

    padded = np.pad(weight, ((0, 0), (0, weight.shape[1] % 2)))
    neighbours = padded.reshape(len(weight), -1, 2)
    together = [np.maximum(sign * neighbours, 0.0).sum(axis=2).max(axis=1) for sign in (1.0, -1.0)]
    # rounding may add a half to each of the two
    needed = np.maximum(np.abs(weight).max(axis=1) / MOST, np.maximum(*together) / (MOST_TOGETHER - 1))
    # a row of zeros has any scale; a scale must be a number of float32
    needed = np.where(needed == 0.0, 1.0, np.maximum(needed, 2.0 / np.finfo(np.float32).max))
    scales = (1.0 / needed).astype(np.float32)
    return np.rint(weight * scales[:, None]).astype(np.int8), scales
