"""Packed attention is the attention, to a rounding that is known."""

from __future__ import annotations

import json
import subprocess
import sys

import hypothesis.extra.numpy as arrays
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer.figures import Labels, pack, start_at, unpack
from transformer.figures.packing import rounding_error

Weights = npt.NDArray[np.float32]

shapes = st.tuples(*[st.integers(1, 4)] * 4)
weights = shapes.flatmap(
    lambda shape: arrays.arrays(np.float32, shape, elements=st.floats(0, 1, width=32))
)


def names(count: int) -> list[str]:
    return [f"▁w{i}" for i in range(count)]


def packed(values: Weights, *, fine: bool = True) -> bytes:
    labels = Labels(names(values.shape[2]), names(values.shape[3]))
    return pack(list(values), labels, fine_limit=values.size if fine else 0)


@given(weights, st.booleans())
def test_what_comes_out_is_what_went_in_to_the_rounding_told(values: Weights, fine: bool) -> None:
    found = unpack(packed(values, fine=fine))
    top = found.header["top"]
    assert top == (65535 if fine else 255)
    assert found.weights.shape == values.shape
    for before, after in zip(values.ravel(), found.weights.ravel(), strict=True):
        assert abs(before - after) <= rounding_error(float(before), top)


@given(weights, st.booleans())
def test_order_and_the_ends_of_the_scale_survive(values: Weights, fine: bool) -> None:
    after = unpack(packed(values, fine=fine)).weights.ravel()
    assert (np.diff(after[np.argsort(values.ravel())]) >= 0).all()
    assert (after[values.ravel() == 0] == 0).all()
    assert (after[values.ravel() == 1] == 1).all()


def test_four_decimals_are_sure_of_the_fine_levels_and_two_of_the_coarse() -> None:
    assert rounding_error(1.0, 65535) < 0.00005
    assert rounding_error(1.0, 255) < 0.005


def test_an_even_row_of_512_tokens_is_not_zero_in_one_byte() -> None:
    even = np.full((1, 1, 1, 512), 1 / 512, np.float32)
    assert unpack(packed(even, fine=False)).weights.min() > 0


@given(st.lists(st.text(), min_size=3, max_size=3), st.text())
def test_any_text_is_a_label(tokens: list[str], title: str) -> None:
    values = np.full((1, 1, 3, 3), 1 / 3, np.float32)
    data = pack(list(values), Labels(tokens, tokens[::-1], writes=tokens, title=title))
    header = unpack(data).header
    assert (header["rows"], header["columns"]) == (tokens, tokens[::-1])
    assert (header["writes"], header["title"]) == (tokens, title)


def test_labels_change_the_id_and_so_does_a_weight() -> None:
    values = np.full((1, 1, 2, 2), 0.5, np.float32)
    other = values.copy()
    other[0, 0, 0] = [0.25, 0.75]
    ids = [
        unpack(pack(list(w), Labels(rows, ["x", "y"]))).header["id"]
        for w in (values, other)
        for rows in (["a", "b"], ["a", "c"])
    ]
    assert len(set(ids)) == 4
    assert ids[0] == unpack(pack(list(values), Labels(["a", "b"], ["x", "y"]))).header["id"]


def test_where_a_view_opens_is_told_and_nothing_else_changes() -> None:
    values = np.random.default_rng(0).dirichlet(np.ones(3), size=(2, 4, 3)).astype(np.float32)
    data = packed(values)
    opened = unpack(start_at(data, 1, 3, visit=7))
    assert opened.header.pop("start") == {"layer": 1, "head": 3, "visit": 7}
    plain = unpack(data)
    assert plain.header.pop("start") is None
    assert opened.header == plain.header
    np.testing.assert_array_equal(opened.weights, plain.weights)
    with pytest.raises(ValueError, match="no layer 2; they are 0 to 1"):
        start_at(data, 2, 0)
    with pytest.raises(ValueError, match="no head -1; they are 0 to 3"):
        start_at(data, 0, -1)


def test_levels_start_where_wide_integers_may() -> None:
    for tokens in (["a"], ["ab"], ["abc"], ["abcd"]):
        data = pack([np.ones((1, 1, 1), np.float32)], Labels(tokens, ["x"]))
        start = 8 + int.from_bytes(data[4:8], "little")
        assert start % 4 == 0
        assert json.loads(data[8:start])["rows"] == tokens


WRONG = {
    "no layer": ([], Labels([], []), "nothing|no attention"),
    "no token": ([np.ones((2, 0, 0), np.float32)], Labels([], []), "no attention"),
    "unlike layers": (
        [np.ones((1, 1, 1), np.float32), np.ones((2, 1, 1), np.float32)],
        Labels(["a"], ["a"]),
        r"Layer 1 has weights of shape \(2, 1, 1\), layer 0 of \(1, 1, 1\)",
    ),
    "not a number": (
        [np.full((1, 1, 1), np.nan, np.float32)],
        Labels(["a"], ["a"]),
        "from nan to nan",
    ),
    "below 0": ([np.full((1, 1, 1), -0.5, np.float32)], Labels(["a"], ["a"]), "from -0.5"),
    "above 1": ([np.full((1, 1, 1), 1.5, np.float32)], Labels(["a"], ["a"]), "to 1.5"),
    "few rows": ([np.ones((1, 2, 1), np.float32)], Labels(["a"], ["a"]), "1 tokens for 2 rows"),
    "many columns": (
        [np.ones((1, 1, 1), np.float32)],
        Labels(["a"], ["a", "b"]),
        "2 tokens for 1 columns",
    ),
    "few written": (
        [np.ones((1, 1, 1), np.float32)],
        Labels(["a"], ["a"], writes=[]),
        "0 tokens for 1 rows",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_no_attention_is_refused_with_both_numbers(case: str) -> None:
    layers, labels, message = WRONG[case]
    with pytest.raises(ValueError, match=message):
        pack(layers, labels)


@pytest.mark.parametrize("cut", [0, 3, 8, 60, -1])
def test_cut_off_bytes_are_refused(cut: int) -> None:
    whole = packed(np.full((1, 1, 2, 2), 0.5, np.float32))
    with pytest.raises(ValueError, match="bytes"):
        unpack(whole[:cut])


def test_figures_need_neither_torch_nor_streamlit() -> None:
    check = "import sys, transformer.figures; print(*{'torch', 'streamlit'} & {*sys.modules})"
    assert subprocess.check_output([sys.executable, "-c", check], text=True) == "\n"
