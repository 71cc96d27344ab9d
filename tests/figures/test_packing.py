"""Packing preserves attention up to a known rounding error."""

from __future__ import annotations

import json

import hypothesis.extra.numpy as arrays
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.figures.levels import rounding_error, weights_of
from transformer.figures.packing import COARSE, FINE, Part, pack, quantize, unpack

Weights = npt.NDArray[np.float32]

shapes = st.tuples(*[st.integers(1, 4)] * 3)
weights = shapes.flatmap(
    lambda shape: arrays.arrays(np.float32, shape, elements=st.floats(0, 1, width=32))
)
tops = st.sampled_from([FINE, COARSE])
TYPES = {"u1": np.uint8, "u2": np.uint16, "f4": np.float32}


def packed(values: Weights, top: int) -> Part:
    """Pack and unpack weights."""
    return unpack(pack({}, [quantize("w", values, top)]))[1]["w"]


@given(weights, tops)
@example(np.array([[[0.01]]], np.float32), FINE)  # halfway between two levels
def test_packing_is_exact_up_to_the_rounding_error(values: Weights, top: int) -> None:
    part = packed(values, top)
    after = weights_of(part)
    assert part.top == top
    assert after.shape == values.shape
    for before, unpacked in zip(values.ravel(), after.ravel(), strict=True):
        assert abs(before - unpacked) <= rounding_error(float(before), top)


def test_fine_levels_keep_four_decimals_and_coarse_two() -> None:
    assert rounding_error(1.0, FINE) < 0.00005
    assert rounding_error(1.0, COARSE) < 0.005


def test_levels_are_the_square_root_in_as_many_bytes_as_they_need() -> None:
    values = np.array([[0, 0.25, 1]], np.float32)
    fine, coarse = quantize("w", values), quantize("w", values, COARSE)
    assert fine.array.tolist() == [[0, 32768, 65535]]
    assert coarse.array.tolist() == [[0, 128, 255]]
    assert (fine.array.itemsize, coarse.array.itemsize) == (2, 1)


@given(st.dictionaries(st.text(), st.text()).filter(lambda header: "parts" not in header))
def test_headers_may_contain_any_text(header: dict[str, str]) -> None:
    assert unpack(pack(header, []))[0] == header


def test_headers_with_nan_are_refused() -> None:
    with pytest.raises(ValueError, match="JSON"):
        pack({"p": float("nan")}, [])


parts = st.lists(
    st.sampled_from(sorted(TYPES)).flatmap(
        lambda kind: arrays.arrays(
            np.dtype(TYPES[kind]).newbyteorder("<"),
            arrays.array_shapes(min_dims=1, max_dims=3, max_side=3),
        )
    ),
    max_size=4,
)


@given(parts, st.text())
def test_arrays_are_aligned_and_at_the_offsets_in_the_header(
    arrays: list[npt.NDArray[np.float32]], title: str
) -> None:
    data = pack({"title": title}, [Part(str(i), block, i) for i, block in enumerate(arrays)])
    # Parse the bytes independently, as another language would.
    body = 8 + int.from_bytes(data[4:8], "little")
    assert body % 8 == 0
    for meta, block in zip(json.loads(data[8:body])["parts"], arrays, strict=True):
        assert (body + meta["start"]) % 8 == 0
        kind = np.dtype(TYPES[meta["type"]]).newbyteorder("<")
        array = np.frombuffer(data, kind, block.size, body + meta["start"]).reshape(meta["shape"])
        assert array.tobytes() == block.tobytes()
    header, unpacked = unpack(data)
    assert header == {"title": title}
    for i, block in enumerate(arrays):
        assert unpacked[str(i)].array.tobytes() == block.tobytes()
        assert unpacked[str(i)].top == i


INVALID_WEIGHTS = {
    "nothing": (np.ones((2, 0, 0), np.float32), "no attention"),
    "not a number": (np.full((1, 1, 1), np.nan, np.float32), "from nan to nan"),
    "below 0": (np.full((1, 1, 1), -0.5, np.float32), "from -0.5"),
    "above 1": (np.full((1, 1, 1), 1.5, np.float32), "to 1.5"),
}


@pytest.mark.parametrize("case", INVALID_WEIGHTS)
def test_invalid_weights_are_refused_with_their_range(case: str) -> None:
    values, message = INVALID_WEIGHTS[case]
    with pytest.raises(ValueError, match=message):
        quantize("cross.0", values)


@pytest.mark.parametrize("cut", [0, 3, 8, 60, -1])
def test_cut_off_bytes_are_refused(cut: int) -> None:
    packed_bytes = pack({"a": 1}, [quantize("w", np.full((1, 2, 4), 0.5, np.float32))])
    with pytest.raises(ValueError, match="bytes"):
        unpack(packed_bytes[:cut])
