"""The weights of a part that `figures.packing.quantize` has packed, as a browser decodes them, and
their error."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from jaxtyping import Float

from transformer.figures.packing import Part


def weights_of(part: Part) -> Float[np.ndarray, "..."]:
    """Return the weights of a quantized part, each within `rounding_error`."""
    shares: npt.NDArray[np.float32] = part.array.astype(np.float32) / np.float32(part.top)
    return shares**2


def rounding_error(weight: float, top: int) -> float:
    """Return the largest possible error of a packed weight: half a level on a square-root scale.

    A level q decodes to (q / top)² and encodes weights up to (q ± 1/2)² / top², which differ by at
    most (q + 1/4) / top², and q is at most √w · top + 1/2. The last quarter and the last term
    allow for float32, in which weights are stored.
    """
    return float((np.sqrt(weight) * top + 1) / top**2 + weight * 2.0**-22)
