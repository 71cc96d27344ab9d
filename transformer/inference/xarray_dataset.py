"""Named arrays of one sentence pair as an xarray Dataset, with tokens as coordinates.

Needs the optional package xarray (`pip install "heads-up[xarray]"`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from xarray import Dataset

__all__ = ["Dataset", "dataset"]


def dataset(
    arrays: Mapping[str, tuple[Sequence[str], Any]],
    tokens: Mapping[str, Sequence[str]],
    attributes: Mapping[str, str],
) -> Dataset:
    """Return the arrays with their positions and tokens as coordinates.

    Args:
        arrays: by name, the dimensions (as returned by `hook_axes`) and the values.
        tokens: labels of the positions "src" and "tgt", and "predicted" of the rows of "tgt".
        attributes: of the dataset.
    """
    made = Dataset(
        {name: (tuple(axes), np.array(values)) for name, (axes, values) in arrays.items()},
        attrs=dict(attributes),
    )
    coordinates: dict[str, Any] = {str(name): np.arange(n) for name, n in made.sizes.items()}
    for axis in ("src", "tgt", "src_key", "tgt_key"):
        if axis in made.sizes:
            labels = np.array(tokens[axis.removesuffix("_key")], dtype=str)
            coordinates[f"{axis}_token"] = (axis, labels)
    if "tgt" in made.sizes:
        coordinates["predicted_token"] = ("tgt", np.array(tokens["predicted"], dtype=str))
    return made.assign_coords(coordinates)
