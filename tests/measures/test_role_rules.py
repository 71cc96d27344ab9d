"""Roles of hand-made heads."""

from __future__ import annotations

import numpy as np
import pytest

from tests.figures.film_frames import offset_weights, reversed_weights
from transformer.measures.role_rules import Role, roles

KEYS = [f"k{i}" for i in range(7)]
KEYS_WITH_END = [*KEYS[:-1], "</s>"]


def role(weights: np.ndarray, kind: str = "encoder", keys: list[str] | None = None) -> Role:
    classified: Role = roles(weights[None], kind, keys or KEYS[: weights.shape[1]])[0]
    return classified


@pytest.mark.parametrize(
    ("offset", "kind", "text", "short"),
    [
        (-1, "encoder", "attends to the previous token", "−1"),
        (-2, "decoder", "attends two tokens back", "−2"),
        (1, "encoder", "attends to the next token", "+1"),
        (0, "encoder", "attends to its own position", "0"),
        (0, "cross", "attends to the same position", "0"),
        (3, "cross", "attends three tokens ahead", "+3"),
    ],
)
def test_a_head_that_looks_at_an_offset_is_positional(
    offset: int, kind: str, text: str, short: str
) -> None:
    head_role = role(offset_weights(7, 7, offset), kind)
    assert (head_role.group, head_role.text, head_role.short, head_role.share) == (
        "positional",
        text,
        short,
        1,
    )


def test_nine_rows_in_ten_are_enough_and_eight_are_not() -> None:
    weights = offset_weights(10, 10, 0)
    weights[4] = np.eye(10)[9]
    assert role(weights, keys=[*"abcdefghij"]).share == pytest.approx(0.9)
    weights[5] = np.eye(10)[2]
    assert role(weights, keys=[*"abcdefghij"]).group == "none"


def test_a_head_in_reverse_order_reads_backwards() -> None:
    head_role = role(reversed_weights(7, 7), "cross", KEYS_WITH_END)
    assert (head_role.group, head_role.text, head_role.share) == ("backwards", "reads backwards", 1)
    # Without </s> the end is the last token itself.
    assert role(np.eye(7)[::-1], "cross").text == "reads backwards"
    near_end = role(np.eye(7)[::-1], "cross", KEYS_WITH_END)
    assert near_end.text == "reads backwards, one nearer the end"
    # In the decoder that would be the future.
    causal = np.tril(reversed_weights(7, 7) + 1e-3)
    assert role(causal / causal.sum(-1, keepdims=True), "decoder", KEYS_WITH_END).group == "none"


@pytest.mark.parametrize(("position", "name"), [(0, "first"), (6, "last")])
def test_half_of_the_weight_on_either_end_is_a_sink(position: int, name: str) -> None:
    random_rows = np.random.default_rng(0).dirichlet(np.ones(5), 7)
    weights = np.insert(random_rows * 0.5, [0, 5], 0, axis=1)
    weights[:, position] = 0.5
    head_role = role(weights, keys=KEYS_WITH_END)
    assert (head_role.group, head_role.short) == ("sink", name)
    assert head_role.text == f"attends mostly to {KEYS_WITH_END[position]}, the {name} token"
    if position == 0:
        text = role(weights, keys=["▁w", *KEYS_WITH_END[1:]]).text
        assert text == "attends mostly to w, the first token"
    assert head_role.share == pytest.approx(0.5)
    weights[:, position] = 0.49
    assert role(weights, keys=KEYS_WITH_END).group == "none"


def test_a_uniform_head_has_no_role() -> None:
    for kind in ("encoder", "decoder", "cross"):
        for n in range(1, 8):
            weights = np.ones((n, n)) if kind != "decoder" else np.tril(np.ones((n, n)))
            weights /= weights.sum(-1, keepdims=True)
            assert role(weights, kind, KEYS[:n]).group == "none", (kind, n)


def test_aligned_takes_precedence_over_other_roles() -> None:
    """A clear reversed diagonal once had no recognised pattern if a single row missed it."""
    reverse = [(i, 5 - i) for i in range(6)]
    weights = reversed_weights(7, 7)
    weights[[1, 3]] = np.full(7, 1 / 7)  # two rows of six do not choose
    head_role: Role = roles(weights[None], "cross", KEYS_WITH_END, reverse)[0]
    assert (head_role.group, head_role.short) == ("aligned", "align")
    assert head_role.text == "follows the alignment (the reversed diagonal)"
    assert head_role.share == pytest.approx((4 + 2 / 7) / 6)
    assert role(weights, "cross", KEYS_WITH_END).group == "none"
    diagonal: Role = roles(np.eye(7)[None], "cross", KEYS_WITH_END, [(i, i) for i in range(6)])[0]
    assert diagonal.text == "follows the alignment (the diagonal)"  # tested before a fixed offset
    swapped: Role = roles(
        np.eye(7)[None], "cross", KEYS_WITH_END, [(0, 0), (1, 1), (3, 2), (2, 3)]
    )[0]
    assert swapped.text == "follows the alignment"
    assert swapped.share == pytest.approx(0.5)


def test_an_alignment_counts_for_cross_attention_over_three_rows_or_more() -> None:
    links = [(i, i) for i in range(6)]
    uniform = np.full((7, 7), 1 / 7)
    assert roles(uniform[None], "cross", KEYS_WITH_END, links)[0].group == "none"
    assert roles(np.eye(7)[None], "encoder", KEYS_WITH_END, links)[0].group == "positional"
    two_links = np.vstack([np.eye(7)[:2], uniform[2:]])
    assert roles(two_links[None], "cross", KEYS_WITH_END, [(0, 0), (1, 1)])[0].group == "none"
    beyond = [(40, 1), (1, 40)]  # of an alignment that does not fit the tokens
    assert roles(uniform[None], "cross", KEYS_WITH_END, beyond)[0].group == "none"
