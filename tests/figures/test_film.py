"""The film's data: frames, selected steps, and roles of hand-made heads."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.figures.film_frames import (
    HEADS,
    LABELS,
    LAYERS,
    SRC,
    TGT,
    film_frames,
    offset_weights,
    reversed_weights,
)
from tests.figures.levels import rounding_error, weights_of
from transformer.figures.film import FILM_FIELDS, film_data, film_page, opening_kind
from transformer.figures.packing import COARSE, unpack
from transformer.figures.state import state_of
from transformer.jobs.shipped import shipped_folders
from transformer.measures.film_steps import film_steps
from transformer.measures.role_rules import NONE, Role, aligned_share, roles
from transformer.ui.pages.training.probes import probe_links
from transformer.ui.services import models

STEPS = [0, 1, 2, 4, 8, 16, 32, 40, 64, 100]
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


def test_film_steps_are_denser_at_the_beginning() -> None:
    assert film_steps([8, 1, 0, 1]) == [0, 1, 8]
    assert film_steps([]) == []
    assert film_steps([5, 6, 7], 2) == [5, 7]
    assert film_steps([5, 6, 7], 1) == [7]
    selected = film_steps(range(0, 100_001, 10), 100)
    assert len(selected) == len(set(selected)) == 100
    assert (selected[0], selected[-1], selected) == (0, 100_000, sorted(selected))
    doublings = [sum(low <= step < 2 * low for step in selected) for low in (1000, 4000, 16_000)]
    assert max(doublings) - min(doublings) <= 2
    for limit in range(2, 12):
        assert len(film_steps(range(0, 400, 7), limit)) == limit


def unpacked_film(**options: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    header, parts = unpack(film_data(film_frames(STEPS), LABELS, **options))
    return header, parts


def test_frames_survive_packing_up_to_rounding() -> None:
    frames = film_frames(STEPS)
    header, parts = unpacked_film()
    assert header["steps"] == STEPS
    for name in frames[0]:
        expected = np.stack([frames[step][name] for step in STEPS]).astype(np.float64)
        unpacked = weights_of(parts[name])
        assert unpacked.shape == expected.shape == (len(STEPS), LAYERS, HEADS, *expected.shape[-2:])
        assert parts[name].array.itemsize == 1
        assert (np.abs(unpacked - expected) <= rounding_error(1.0, COARSE)).all()
    assert [doc["src"] for doc in header["probes"]] == [labels["src"] for labels in LABELS]


def test_roles_are_packed_with_shares_and_change_with_the_head() -> None:
    header, parts = unpacked_film()
    texts = [header["roles"][code]["text"] for code in parts["role.0.encoder"].array[:, 1, 2]]
    assert texts == ["no recognised pattern"] * 7 + ["attends to the previous token"] * 3
    assert parts["share.0.encoder"].array[:, 1, 2].tolist() == [0] * 7 + [1] * 3


def test_the_clearest_head_is_that_of_the_newest_step() -> None:
    assert unpacked_film()[0]["probes"][0]["clearest"]["cross"] == [1, 2]
    frames = film_frames(STEPS)
    early_film = unpack(film_data({step: frames[step] for step in STEPS[:3]}, LABELS))[0]
    weights = frames[2]["0.cross"].astype(float).max(axis=2).mean(axis=2)
    expected = np.unravel_index(weights.argmax(), weights.shape)
    assert early_film["probes"][0]["clearest"]["cross"] == [int(index) for index in expected]


def one_role(group: str, share: float, short: str = "") -> npt.NDArray[np.object_]:
    """Return the roles of one layer with two heads, of which the second has this role."""
    return np.array([[NONE, Role(group, short, group, share)]], object)


@pytest.mark.parametrize(
    ("encoder", "cross", "expected"),
    [
        (
            one_role("positional", 1.0, "-1"),
            one_role("aligned", 0.6),
            "cross",
        ),  # the alignment first
        (one_role("positional", 0.95, "-1"), one_role("none", 0.0), "encoder"),
        (one_role("positional", 0.95, "-1"), one_role("backwards", 0.9), "encoder"),
        (one_role("positional", 0.9, "-1"), one_role("backwards", 0.95), "cross"),
        (
            one_role("positional", 0.9, "-1"),
            one_role("backwards", 0.9),
            "cross",
        ),  # the last of equals
        (
            one_role("positional", 1.0, "0"),
            one_role("none", 0.0),
            "cross",
        ),  # attends to its own position
        (one_role("none", 0.0), one_role("positional", 0.9, "0"), "cross"),  # the same position
        (one_role("sink", 1.0), one_role("none", 0.0), "cross"),
    ],
)
def test_the_film_of_an_ended_run_opens_at_the_kind_with_the_strongest_pattern(
    encoder: npt.NDArray[np.object_], cross: npt.NDArray[np.object_], expected: str
) -> None:
    assert opening_kind({"encoder": encoder, "cross": cross}) == expected


@pytest.mark.parametrize("name", ["toy-french", "toy-sort", "toy-dates"])
def test_a_shipped_run_opens_at_the_layer_that_follows_the_alignment(name: str) -> None:
    folder = next(run for run in shipped_folders(models.shipped_folder()) if run.name == name)
    step, labels = folder.snapshots()[-1], folder.labels()
    longest = max(range(len(labels)), key=lambda n: len(labels[n]["src"] + labels[n]["tgt"]))
    links = probe_links(folder, labels)
    frame = folder.snapshot(step)
    probe = unpack(film_data({step: frame}, labels, links=links))[0]["probes"][longest]
    shares = [aligned_share(layer, links[longest]) for layer in frame[f"{longest}.cross"]]
    best = np.unravel_index(np.argmax(shares), np.shape(shares))
    assert probe["opening"] == "cross"
    assert probe["clearest"]["cross"] == [int(index) for index in best]
    assert best[0] == 1, "not the first layer, so the order of the rows matters"


def test_truncated_frames_and_nan_are_left_out() -> None:
    frames: dict[int, Any] = dict(film_frames(STEPS))
    frames[8] = {}
    frames[16] = {name: array for name, array in frames[16].items() if name != "1.cross"}
    broken = frames[100]["0.cross"].copy()
    broken[0, 0, 0, 0] = np.nan
    frames[100] = {**frames[100], "0.cross": broken}
    header, parts = unpack(film_data(frames, LABELS))
    assert header["steps"] == [0, 1, 2, 4, 32, 40, 64]
    assert len(parts["0.cross"].array) == 7


def test_the_state_is_complete_and_validated() -> None:
    defaults = state_of({}, FILM_FIELDS, "film")
    assert unpacked_film()[0]["start"] == defaults
    updated = state_of({"step": "320", "kind": "encoder", "layer": 1}, FILM_FIELDS, "film")
    assert updated == {**defaults, "step": 320, "kind": "encoder", "layer": 1}
    for values, message in [
        ({"kind": "other"}, "kind must be one of auto, encoder, decoder, cross, not 'other'"),
        ({"step": -2}, "step must be a whole number from -1 to 1000000000, not -2"),
        ({"probe": 100}, "probe must be a whole number from -1 to 99"),
        ({"layer": "1.5"}, "layer must be a whole number"),
        ({"view": "heads"}, "The film has no 'view'; it has step"),
    ]:
        with pytest.raises(ValueError, match=re.escape(message)):
            state_of(values, FILM_FIELDS, "film")


def test_film_pages_escape_text() -> None:
    labels = [{**LABELS[0], "src": ["</script><script>alert(1)</script>", *SRC[1:]], "tgt": TGT}]
    html = film_page(film_frames(STEPS), [*labels, LABELS[1]], title="<b>&")
    assert "alert(1)" not in html
    assert len(re.findall(r"</?script", html)) == 4  # data, and code
    assert "<title>&lt;b&gt;&amp;</title>" in html


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_every_frame_has_a_caption(kind: str) -> None:
    frames = film_frames([0, 4, 50])
    header, _ = unpack(film_data(frames, LABELS))
    for number, probe in enumerate(header["probes"]):
        film_captions = probe["captions"][kind]
        assert len(film_captions) == len(header["steps"])
        last = frames[50][f"{number}.{kind}"].astype(float)
        assert f"{last.max(axis=-1).mean():.0%} on average" in film_captions[-1]
