"""Past the training length, measured: longer sequences, and the same sentences at far places."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

from torch import Tensor

from transformer.analysis.corpora.own_sentences import drawn
from transformer.config import did_you_mean
from transformer.hooks import Hooks
from transformer.inference import Translator
from transformer.inference.translator import load_unchanged
from transformer.text.tasks import TASKS, Example

BEYOND = tuple(name for name, task in TASKS.items() if "longest" in task.options)
"""Tasks whose sequences have a length to go beyond."""
EXTRA_SYMBOLS = 5  # an output may be so many symbols longer than the right one
Pair = tuple[str, str]


@dataclass(frozen=True)
class Right:
    """How often whole sequences of one length come out right.

    Attributes:
        share: 0 to 1; None where the model has no positions for them.
        why: the error's own sentence then.
    """

    length: int
    share: float | None
    why: str = ""


def by_length(
    translator: Translator, task: str, length: int, n: int = 48, seed: int = 1, **options: int
) -> Right:
    """Decode `n` sequences of exactly `length` symbols greedily; right is the whole sequence.

    Args:
        task: one of `BEYOND`; options are its own, without `longest`.
        length: from 1 to the greatest value of the task's `longest`, however short the sequences
            were that the model learned from.

    Raises:
        ValueError: for another task, and for a length or an option that it does not take.
    """
    if task not in BEYOND:
        known = ", ".join(BEYOND)
        raise ValueError(
            f"{task!r} has no lengths: choose one of {known}{did_you_mean(task, BEYOND)}"
        )
    asked = _of_length(task, length, n, seed, options)
    config = translator.model.config
    most = length + 1 + EXTRA_SYMBOLS  # `</s>` counts too
    if config.positions == "learned":
        most = min(most, config.max_len)
    try:
        found = translator.translate_batch(
            [one.src for one in asked], method="greedy", max_len=most, candidates=1
        )
    except ValueError as error:
        return Right(length, None, str(error))
    right = sum(
        out.finished and out.text.split() == one.tgt.split()
        for out, one in zip(found, asked, strict=True)
    )
    return Right(length, right / n)


def _of_length(name: str, length: int, n: int, seed: int, options: dict[str, int]) -> list[Example]:
    task = TASKS[name]
    strata = task.strata(task.settings(**{**options, "longest": length}))
    fitting = [one for one in strata if one.size and len(one.example(0).src.split()) == length]
    rng = random.Random(f"{name} {length} {seed}")
    return [stratum.example(rng.randrange(stratum.size)) for stratum in rng.choices(fitting, k=n)]


@lru_cache(maxsize=8)
def sentences(n: int) -> tuple[Pair, ...]:
    """`n` English sentences of our own grammar with their translations, written as people write."""
    return tuple((source, target) for source, target, _ in drawn(n))


def moved(translator: Translator, pairs: Sequence[Pair], start: int) -> float:
    """Log-probability (nats a target piece) of translations when both sides' positions begin at
    `start` instead of 0; everything else stays as it is.

    To a model that went by distances alone it would be the same for every start. Raises ValueError
    past the last position that a model has learned.
    """
    model = translator.model

    def place(positions: Tensor, name: str) -> Tensor:
        embed = getattr(model, name.split(".")[0]).embed
        found: Tensor = embed.positions(positions.shape[1], start)[None]
        return found.to(positions)

    sites = ("encoder.embed.hook_positions", "decoder.embed.hook_positions")
    hooks = Hooks(dict.fromkeys(sites, place))
    sources, targets = zip(*pairs, strict=True)
    found = translator.translate_batch(sources, targets=targets, hooks=hooks, candidates=1)
    return sum(one.log_probability for one in found) / sum(len(one.ids) for one in found)


def joined(translator: Translator, pairs: Sequence[Pair]) -> tuple[int, float]:
    """The pairs joined to one long text: its source pieces, `</s>` counted, and the log-probability
    (nats a target piece) of its translation. Raises ValueError if it has more than 512 pieces, or
    more than the model has positions."""
    source, target = (" ".join(side) for side in zip(*pairs, strict=True))
    found = translator.translate(source, target=target, candidates=1)
    return len(found.src_ids), found.log_probability / len(found.ids)


def apart(translator: Translator, pairs: Sequence[Pair], counts: Sequence[int]) -> list[float]:
    """For the first so many pairs, each a text of its own, the log-probability (nats a target
    piece) of their translations: what `joined` is to be held against."""
    sources, targets = zip(*pairs, strict=True)
    found = translator.translate_batch(sources, targets=targets, candidates=1)
    totals, pieces = ([0.0], [0])
    for one in found:
        totals.append(totals[-1] + one.log_probability)
        pieces.append(pieces[-1] + len(one.ids))
    return [totals[count] / pieces[count] for count in counts]


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
