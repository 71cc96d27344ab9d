"""A translation and its table of decoding steps, as the browser view takes it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

BRANCH = (
    "parent",
    "depth",
    "token",
    "id",
    "probability",
    "log_probability",
    "score",
    "status",
    "best",
)
"""What the explorer shows of a node of the beam tree."""


@runtime_checkable
class CandidateLike(Protocol):
    """A piece and the model's probability for it; `inference.results.Candidate` is one."""

    @property
    def token(self) -> str: ...
    @property
    def id(self) -> int: ...
    @property
    def probability(self) -> float: ...


@runtime_checkable
class StepLike(Protocol):
    """A step of decoding; `inference.results.Step` is one."""

    @property
    def input_tokens(self) -> Sequence[str]: ...
    @property
    def candidates(self) -> Sequence[CandidateLike]: ...
    @property
    def chosen(self) -> CandidateLike: ...


def translation_data(
    text: str, source_tokens: Sequence[str], tokens: Sequence[str], *, language: str = ""
) -> dict[str, Any]:
    """A translation and its pieces, as `translation.js` shows them. Tokens may be any text.

    `language` is a tag such as "fr", by which a screen reader chooses its voice.
    """
    return {
        "text": text,
        "source_tokens": list(source_tokens),
        "tokens": list(tokens),
        "language": language,
    }


def steps_data(
    steps: Iterable[StepLike],
    *,
    live: bool = False,
    forced: int = -1,
    tails: Mapping[int, float] | None = None,
) -> dict[str, Any]:
    """The table of steps as `translation.js` shows it: for each step t, from 1, what the decoder
    had read, its candidates and the one taken, until `</s>` was.

    Args:
        live: somebody hears which candidate is taken instead, and where a reader wants to look.
        forced: the step, from 0, at which a piece was given; -1 is none. One is given at a time:
            what comes after it cannot be taken instead.
        tails: of the steps, from 0, that took an improbable piece: the probability of all the
            pieces together that were more probable.

    Raises:
        ValueError: if a probability is not within 0 to 1.
    """
    known = tails or {}
    rows = [
        {
            "step": number,
            "input": list(step.input_tokens),
            "candidates": [_choice(candidate) for candidate in step.candidates],
            "chosen": _choice(step.chosen),
            "last": step.chosen.token == "</s>",
            **({"forced": True} if number - 1 == forced else {}),
            **({"takes": not 0 <= forced < number - 1} if live else {}),
            **({"tail": known[number - 1]} if number - 1 in known else {}),
        }
        for number, step in enumerate(steps, start=1)
    ]
    return {"steps": rows, **({"live": True} if live else {})}


def word_steps(
    glance: Mapping[str, Any],
    pieces: Sequence[StepLike],
    words: Sequence[int],
    *,
    live: bool = False,
    forced: int = -1,
    tails: Mapping[int, float] | None = None,
) -> dict[str, Any]:
    """The same table in whole words: for each what had been written, the words that came close, and
    the one taken. Probabilities are of pieces, as in `glance.glance_data`: words of different
    numbers of pieces can't be compared by the products over their pieces.

    Args:
        glance: `glance.glance_data` of the translation, with its rivals.
        pieces: the steps of decoding; words: for each the number of its word.
        live, forced, tails: as in `steps_data`, by the steps of pieces.
    """
    read: list[str] = ["<s>"]
    rows = []
    for number, word in enumerate(glance["written"]):
        mine = [step for step, one in enumerate(words) if one == number]
        own = {"token": word["text"], "id": pieces[mine[0]].chosen.id, "step": mine[0]}
        chosen = {**own, "probability": min(word["p"], 1.0)}
        rivals = [
            {"token": one["text"], "id": one["ids"][0], "step": one["step"],
             "probability": min(one["p"], 1.0)}
            for one in word["rivals"]
        ]  # fmt: skip
        from_tail = [(tails or {})[step] for step in mine if step in (tails or {})]
        rows.append(
            {
                "step": number + 1,
                "first": mine[0],
                "input": list(read),
                "candidates": sorted([chosen, *rivals], key=lambda one: -one["probability"]),
                "chosen": chosen,
                "last": False,
                **({"forced": True} if forced in mine else {}),
                **({"takes": not 0 <= forced < mine[0]} if live else {}),
                **({"tail": max(from_tail)} if from_tail else {}),
            }
        )
        read.append(word["text"])
    return {"steps": rows, "words": True, **({"live": True} if live else {})}


def choices(table: Any) -> list[dict[str, Any]]:
    """The candidates of every step and the one taken, [token, id, probability] each, without the
    decoder's input: the explorer has it from the labels. `table` is a `results.StepTable`.
    """
    rows = zip(table.tokens, table.ids, table.probabilities, table.chosen, strict=True)
    return [
        {
            "candidates": [list(one) for one in zip(tokens, ids, shares, strict=True)],
            "chosen": [taken.token, taken.id, taken.probability],
        }
        for tokens, ids, shares, taken in rows
    ]


def tree_data(tree: Any) -> dict[str, Any] | None:
    """A beam search's tree as columns, a value a node; `tree` is a `results.BeamTree`."""
    if tree is None:
        return None
    columns = {name: [getattr(node, name) for node in tree.nodes] for name in BRANCH}
    return {**columns, "beam_size": tree.beam_size, "length_penalty": tree.length_penalty}


def _choice(choice: CandidateLike) -> dict[str, Any]:
    if not 0 <= choice.probability <= 1 + 1e-4:
        raise ValueError(
            f"The probability of {choice.token!r} is {choice.probability}, not 0 to 1."
        )
    return {"token": choice.token, "id": choice.id, "probability": min(choice.probability, 1.0)}
