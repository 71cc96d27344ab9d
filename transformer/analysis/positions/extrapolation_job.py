"""Past the lengths and places of training, measured in a process of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from transformer.analysis.positions.extrapolation import (
    Pair,
    apart,
    by_length,
    joined,
    moved,
    sentences,
)
from transformer.analysis.unchanged import load_unchanged
from transformer.inference import Translator

Progress = Callable[[float, str], object]


def lengths(given: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """`by_length` of each model: "right", a list a model with a `Right` a length, from 1 on.

    Args:
        given: "models", a folder and a hash each; "task"; its "options" but `longest`; "most", the
            greatest length; "each", sequences of a length.

    Raises:
        ValueError, OSError: for a checkpoint that is another by now, and as `by_length` does.
    """
    right, models, most = [], given["models"], given["most"]
    for at, (folder, digest) in enumerate(models):
        progress(at / len(models), "loading the model")
        translator, row = load_unchanged(folder, digest), []
        for length in range(1, most + 1):
            progress((at + (length - 1) / most) / len(models), "measuring every length")
            found = by_length(translator, given["task"], length, given["each"], **given["options"])
            row.append(asdict(found))
        right.append(row)
    return {"right": right}


def places(given: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """`moved` to each start, `joined` and `apart` for each count; a sentence in place of what the
    model refuses.

    Args:
        given: "checkpoint", its folder; "hash"; "starts"; "moved", how many sentences are;
            "counts", of those that are joined; "french", whether our translations are ones that
            the model could write, or its own stand in for them.

    Raises:
        ValueError, OSError: for a checkpoint that is another by now.
    """
    progress(0.0, "loading the model")
    translator = load_unchanged(given["checkpoint"], given["hash"])
    starts, counts = given["starts"], given["counts"]
    pairs = sentences(max(counts))
    if not given["french"]:
        progress(0.0, "translating")
        pairs = _translated(translator, pairs)
    found: dict[str, Any] = {"moved": [], "joined": []}
    for at, start in enumerate(starts):
        progress(0.7 * at / len(starts), "moving sentences")
        found["moved"].append(_or_why(moved, translator, pairs[: given["moved"]], start))
    for at, count in enumerate(counts):
        progress(0.7 + 0.2 * at / len(counts), "joining sentences")
        found["joined"].append(_or_why(joined, translator, pairs[:count]))
    progress(0.9, "taking them one by one")
    return {**found, "apart": apart(translator, pairs, counts)}


def _translated(translator: Translator, pairs: tuple[Pair, ...]) -> tuple[Pair, ...]:
    """The model's own translations in place of ours."""
    sources = [source for source, _ in pairs]
    found = translator.translate_batch(sources, method="greedy", candidates=1)
    return tuple((one.source, one.text or one.source) for one in found)  # some text there must be


def _or_why(measure: Callable[..., Any], *given: Any) -> Any:
    try:
        return measure(*given)
    except ValueError as error:
        return str(error)
