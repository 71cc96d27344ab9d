"""Captions of a film: what is said of a picture is what can be counted in it."""

from __future__ import annotations

import numpy as np
import pytest

from tests.figures.filmed import LABELS, filmed, pointing
from transformer.figures.film import film_data
from transformer.figures.film_captions import captions
from transformer.figures.packing import unpack
from transformer.figures.roles import roles

ROWS = 6
KEYS = ["▁a", "▁b", "▁c", "▁d", "▁e", "</s>"]


def flat(share: float) -> np.ndarray:
    """Every row: so much on its own place, the rest evenly on the others."""
    found = np.full((ROWS, ROWS), (1 - share) / (ROWS - 1))
    np.fill_diagonal(found, share)
    return found


def told(*pictures: np.ndarray, steps: tuple[int, ...] = (0, 10, 20, 30)) -> list[str]:
    weights = np.stack([np.stack([[one, flat(0.3)]]) for one in pictures])
    found = roles(weights, "encoder", KEYS)
    return captions(weights, found, steps[: len(pictures)])


def test_the_first_says_how_blurred_it_is_and_later_ones_what_changes() -> None:
    first, sharper, same, last = told(flat(0.3), flat(0.8), flat(0.82), flat(0.5))
    assert first.startswith("Before the first step: the greatest weight of a row is 30% on average")
    assert sharper.startswith("Sharper, from 30%: the greatest weight of a row is 55% on average")
    assert same.startswith("Nearly as before: the greatest weight of a row is 56%")
    assert last.startswith("At the end: the greatest weight of a row is 40%")
    assert told(flat(0.8), flat(0.3), flat(0.3))[1].startswith("More blurred, from 55%")
    assert told(flat(0.3), steps=(5,))[0].startswith("The first picture:")


def test_heads_that_do_something_are_counted() -> None:
    (one,) = told(pointing(ROWS, ROWS, -1))
    assert one.endswith("Of 2 heads 2 look at one fixed place.")  # the other at its own place
    resting = np.zeros((ROWS, ROWS))
    resting[:, -1] = 1
    weights = np.stack([resting, np.full((ROWS, ROWS), 1 / ROWS)])[None, None]
    found = roles(weights, "encoder", KEYS)
    assert [role.group for role in found.ravel().tolist()] == ["sink", "none"]
    (caption,) = captions(weights, found, [0])
    assert caption.endswith("Of 2 heads 1 rests on an end of the sentence.")


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_every_picture_of_a_film_has_its_caption(kind: str) -> None:
    frames = filmed([0, 4, 50])
    header, _ = unpack(film_data(frames, LABELS))
    for number, probe in enumerate(header["probes"]):
        said = probe["captions"][kind]
        assert len(said) == len(header["steps"])
        last = frames[50][f"{number}.{kind}"].astype(float)
        assert f"{last.max(axis=-1).mean():.0%} on average" in said[-1]
