"""Measurements beyond the training length: longer sequences, and sentences at later positions."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

from torch import Tensor

from transformer.analysis.corpora.bundled_sentences import grammar_pairs
from transformer.config import did_you_mean
from transformer.hooks import Hooks
from transformer.inference import Translator
from transformer.inference.translator import load_unchanged
from transformer.text.tasks import TASKS, Example

LENGTH_TASKS = tuple(name for name, task in TASKS.items() if "longest" in task.options)
"""Tasks with sequences of adjustable length."""
EXTRA_SYMBOLS = 5  # an output may be this many symbols longer than the target
Pair = tuple[str, str]


@dataclass(frozen=True)
class LengthAccuracy:
    """The share of sequences of one length that are decoded without error.

    Attributes:
        share: 0 to 1; None if the model has no positions for them.
        reason: the error message in that case.
    """

    length: int
    share: float | None
    reason: str = ""


def accuracy_at_length(
    translator: Translator, task: str, length: int, n: int = 48, seed: int = 1, **options: int
) -> LengthAccuracy:
    """Decode `n` sequences of exactly `length` symbols greedily; the whole sequence must be
    correct.

    Args:
        task: one of `LENGTH_TASKS`; `options` are those of the task except `longest`.
        length: from 1 to the maximum of the task's `longest`; it may exceed the lengths in
            training.

    Raises:
        ValueError: for another task, and for an invalid length or option.
    """
    if task not in LENGTH_TASKS:
        names = ", ".join(LENGTH_TASKS)
        raise ValueError(
            f"{task!r} has no adjustable length: choose one of "
            f"{names}{did_you_mean(task, LENGTH_TASKS)}"
        )
    examples = _examples_of_length(task, length, n, seed, options)
    config = translator.model.config
    max_len = length + 1 + EXTRA_SYMBOLS  # `</s>` counts too
    if config.positions == "learned":
        max_len = min(max_len, config.max_len)
    try:
        outputs = translator.translate_batch(
            [example.src for example in examples], method="greedy", max_len=max_len, candidates=1
        )
    except ValueError as error:
        return LengthAccuracy(length, None, str(error))
    n_correct = sum(
        out.finished and out.text.split() == example.tgt.split()
        for out, example in zip(outputs, examples, strict=True)
    )
    return LengthAccuracy(length, n_correct / n)


def _examples_of_length(
    name: str, length: int, n: int, seed: int, options: dict[str, int]
) -> list[Example]:
    task = TASKS[name]
    strata = task.strata(task.settings(**{**options, "longest": length}))
    fitting = [
        candidate
        for candidate in strata
        if candidate.size and len(candidate.example(0).src.split()) == length
    ]
    rng = random.Random(f"{name} {length} {seed}")
    return [stratum.example(rng.randrange(stratum.size)) for stratum in rng.choices(fitting, k=n)]


@lru_cache(maxsize=8)
def grammar_sentences(n: int) -> tuple[Pair, ...]:
    """Return `n` English sentences of the built-in grammar with their translations, in normal
    spelling."""
    return tuple((source, target) for source, target, _ in grammar_pairs(n))


def shifted_log_probability(translator: Translator, pairs: Sequence[Pair], start: int) -> float:
    """Return the log-probability (nats per target piece) of translations with shifted positions.

    The positions of both sides begin at `start` instead of 0; everything else is unchanged. For a
    model that uses only distances, the result does not depend on the start. Raises ValueError
    beyond the last position that a model has learned.
    """
    model = translator.model

    def shift(positions: Tensor, name: str) -> Tensor:
        embed = getattr(model, name.split(".")[0]).embed
        encodings: Tensor = embed.positions(positions.shape[1], start)[None]
        return encodings.to(positions)

    sites = ("encoder.embed.hook_positions", "decoder.embed.hook_positions")
    hooks = Hooks(dict.fromkeys(sites, shift))
    sources, targets = zip(*pairs, strict=True)
    outputs = translator.translate_batch(sources, targets=targets, hooks=hooks, candidates=1)
    return sum(output.log_probability for output in outputs) / sum(
        len(output.ids) for output in outputs
    )


def joined_log_probability(translator: Translator, pairs: Sequence[Pair]) -> tuple[int, float]:
    """Return the source pieces and the log-probability of the pairs concatenated to one text.

    The pieces include `</s>`; the log-probability of the translation is in nats per target piece.
    Raises ValueError for more than 512 pieces, or more than the model has positions.
    """
    source, target = (" ".join(side) for side in zip(*pairs, strict=True))
    output = translator.translate(source, target=target, candidates=1)
    return len(output.src_ids), output.log_probability / len(output.ids)


def separate_log_probabilities(
    translator: Translator, pairs: Sequence[Pair], counts: Sequence[int]
) -> list[float]:
    """Return the log-probability (nats per target piece) of the first `count` pairs, for each
    count.

    Each pair is scored separately, for comparison with `joined_log_probability`.
    """
    sources, targets = zip(*pairs, strict=True)
    outputs = translator.translate_batch(sources, targets=targets, candidates=1)
    totals, pieces = ([0.0], [0])
    for output in outputs:
        totals.append(totals[-1] + output.log_probability)
        pieces.append(pieces[-1] + len(output.ids))
    return [totals[count] / pieces[count] for count in counts]


Progress = Callable[[float, str], object]


def length_accuracies(request: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """Return `accuracy_at_length` of each model: "accuracies", a list per model with a result per
    length from 1.

    Args:
        request: "models", a folder and a hash each; "task"; its "options" except `longest`;
            "max_length"; "n_sequences", number of sequences per length.

    Raises:
        ValueError, OSError: for a checkpoint that has changed, and as `accuracy_at_length`.
    """
    results, models, longest = [], request["models"], request["max_length"]
    for number, (folder, digest) in enumerate(models):
        progress(number / len(models), "loading the model")
        translator, row = load_unchanged(folder, digest), []
        for length in range(1, longest + 1):
            progress((number + (length - 1) / longest) / len(models), "measuring every length")
            accuracy = accuracy_at_length(
                translator, request["task"], length, request["n_sequences"], **request["options"]
            )
            row.append(asdict(accuracy))
        results.append(row)
    return {"accuracies": results}


def shifted_and_joined(request: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """Return log-probabilities at shifted positions ("shifted"), and of "joined" and separate
    ("separate") texts.

    An error message replaces a value that the model refuses.

    Args:
        request: "checkpoint", its folder; "hash"; "starts"; "shifted", number of shifted sentences;
            "counts", numbers of joined sentences; "french", whether the model translates into
            French; otherwise its own translations are scored.

    Raises:
        ValueError, OSError: for a checkpoint that has changed.
    """
    progress(0.0, "loading the model")
    translator = load_unchanged(request["checkpoint"], request["hash"])
    starts, counts = request["starts"], request["counts"]
    pairs = grammar_sentences(max(counts))
    if not request["french"]:
        progress(0.0, "translating")
        pairs = _translated(translator, pairs)
    result: dict[str, Any] = {"shifted": [], "joined": []}
    for index, start in enumerate(starts):
        progress(0.7 * index / len(starts), "moving sentences")
        result["shifted"].append(
            _value_or_error(shifted_log_probability, translator, pairs[: request["shifted"]], start)
        )
    for index, count in enumerate(counts):
        progress(0.7 + 0.2 * index / len(counts), "joining sentences")
        result["joined"].append(_value_or_error(joined_log_probability, translator, pairs[:count]))
    progress(0.9, "scoring them one by one")
    return {**result, "separate": separate_log_probabilities(translator, pairs, counts)}


def _translated(translator: Translator, pairs: tuple[Pair, ...]) -> tuple[Pair, ...]:
    """Return the sources with the model's translations as targets."""
    sources = [source for source, _ in pairs]
    outputs = translator.translate_batch(sources, method="greedy", candidates=1)
    return tuple(
        (output.source, output.text or output.source) for output in outputs
    )  # an empty translation cannot be scored


def _value_or_error(measure: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return measure(*arguments)
    except ValueError as error:
        return str(error)
