"""A translation and its table of decoding steps, as `translation.js` reads them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

TREE_FIELDS = (
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
"""The attributes of a beam tree node that the explorer shows."""


@runtime_checkable
class CandidateLike(Protocol):
    """A piece and its probability; `inference.results.Candidate` satisfies it."""

    @property
    def token(self) -> str: ...
    @property
    def id(self) -> int: ...
    @property
    def probability(self) -> float: ...


@runtime_checkable
class StepLike(Protocol):
    """A decoding step; `inference.results.Step` satisfies it."""

    @property
    def input_tokens(self) -> Sequence[str]: ...
    @property
    def candidates(self) -> Sequence[CandidateLike]: ...
    @property
    def chosen(self) -> CandidateLike: ...


def translation_data(
    text: str, source_tokens: Sequence[str], tokens: Sequence[str], *, language: str = ""
) -> dict[str, Any]:
    """Return a translation and its pieces, as `translation.js` shows them.

    `language` is a tag such as "fr", which selects the voice of a screen reader.
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
    """Return the table of steps: the decoder's input, the candidates and the chosen one of each
    step t, from 1 to the step that writes `</s>`.

    Args:
        live: whether the page reacts when a reader clicks a candidate or a step.
        forced: the step, from 0, at which a piece was forced; -1 for none. Only one can be forced,
            so candidates of later steps cannot be chosen.
        tails: for steps, from 0, that chose an improbable piece: the total probability of all the
            more probable pieces.

    Raises:
        ValueError: if a probability is outside 0 to 1.
    """
    tail_by_step = tails or {}
    rows = [
        {
            "step": number,
            "input": list(step.input_tokens),
            "candidates": [_choice(candidate) for candidate in step.candidates],
            "chosen": _choice(step.chosen),
            "last": step.chosen.token == "</s>",
            **({"forced": True} if number - 1 == forced else {}),
            **({"can_force": not 0 <= forced < number - 1} if live else {}),
            **({"tail": tail_by_step[number - 1]} if number - 1 in tail_by_step else {}),
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
    """Return the table of steps in whole words: the words before, their alternatives and the
    chosen word; at the end `</s>`, if the translation is finished, without alternatives.
    Probabilities are those of pieces, as in `glance.glance_data`, because products
    over different numbers of pieces cannot be compared.

    Args:
        glance: `glance.glance_data` of the translation, with its alternatives.
        pieces: the decoding steps.
        words: the index of each step's word.
        live, forced, tails: as in `steps_data`, by decoding steps.
    """
    earlier_words: list[str] = ["<s>"]
    rows = []
    for number, word in enumerate(glance["words"]):
        own_steps = [step for step, n in enumerate(words) if n == number]
        own_piece = {
            "token": word["text"],
            "id": pieces[own_steps[0]].chosen.id,
            "step": own_steps[0],
        }
        chosen = {**own_piece, "probability": min(word["p"], 1.0)}
        alternatives = [
            {"token": n["text"], "id": n["ids"][0], "step": n["step"],
             "probability": min(n["p"], 1.0)}
            for n in word["alternatives"]
        ]  # fmt: skip
        from_tail = [(tails or {})[step] for step in own_steps if step in (tails or {})]
        rows.append(
            {
                "step": number + 1,
                "first": own_steps[0],
                "input": list(earlier_words),
                "candidates": sorted([chosen, *alternatives], key=lambda n: -n["probability"]),
                "chosen": chosen,
                "last": False,
                **({"forced": True} if forced in own_steps else {}),
                **({"can_force": not 0 <= forced < own_steps[0]} if live else {}),
                **({"tail": max(from_tail)} if from_tail else {}),
            }
        )
        earlier_words.append(word["text"])
    end = len(pieces) - 1
    if pieces and pieces[end].chosen.token == "</s>":
        chosen = {**_choice(pieces[end].chosen), "step": end}
        rows.append(
            {
                "step": len(rows) + 1,
                "first": end,
                "input": earlier_words,
                "candidates": [chosen],
                "chosen": chosen,
                "last": True,
                **({"forced": True} if forced == end else {}),
                **({"can_force": not 0 <= forced < end} if live else {}),
                **({"tail": tails[end]} if tails and end in tails else {}),
            }
        )
    return {"steps": rows, "words": True, **({"live": True} if live else {})}


def choices(table: Any) -> list[dict[str, Any]]:
    """Return the candidates of every step and the chosen one, each [token, id, probability].

    The decoder's input is left out, as the explorer has it in the labels. `table` is a
    `results.StepTable`.
    """
    rows = zip(table.tokens, table.ids, table.probabilities, table.chosen, strict=True)
    return [
        {
            "candidates": [list(row) for row in zip(tokens, ids, shares, strict=True)],
            "chosen": [chosen.token, chosen.id, chosen.probability],
        }
        for tokens, ids, shares, chosen in rows
    ]


def tree_data(tree: Any) -> dict[str, Any] | None:
    """Return a beam search tree as columns with a value per node; `tree` is `results.BeamTree`."""
    if tree is None:
        return None
    columns = {name: [getattr(node, name) for node in tree.nodes] for name in TREE_FIELDS}
    return {**columns, "beam_size": tree.beam_size, "length_penalty": tree.length_penalty}


def _choice(choice: CandidateLike) -> dict[str, Any]:
    if not 0 <= choice.probability <= 1 + 1e-4:
        raise ValueError(
            f"The probability of {choice.token!r} is {choice.probability}, not 0 to 1."
        )
    return {"token": choice.token, "id": choice.id, "probability": min(choice.probability, 1.0)}
