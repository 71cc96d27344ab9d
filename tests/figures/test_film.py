"""The film's data: frames, and roles of hand-made heads."""

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
)
from tests.figures.levels import rounding_error, weights_of
from transformer.figures.film import FILM_FIELDS, film_data, film_page, opening_kind
from transformer.figures.packing import COARSE, unpack
from transformer.figures.state import state_of
from transformer.jobs.shipped import shipped_folders
from transformer.measures.role_rules import NONE, Role, aligned_share
from transformer.ui.pages.training.probes import probe_links
from transformer.ui.services import models

STEPS = [0, 1, 2, 4, 8, 16, 32, 40, 64, 100]


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
