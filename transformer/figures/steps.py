"""A translation and its table of decoding steps, as the browser view takes it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class Choice(Protocol):
    """A piece and the model's probability for it; `inference.results.Candidate` is one."""

    @property
    def token(self) -> str: ...
    @property
    def id(self) -> int: ...
    @property
    def probability(self) -> float: ...


@runtime_checkable
class Step(Protocol):
    """A step of decoding; `inference.results.Step` is one."""

    @property
    def input_tokens(self) -> Sequence[str]: ...
    @property
    def candidates(self) -> Sequence[Choice]: ...
    @property
    def chosen(self) -> Choice: ...


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


def steps_data(steps: Iterable[Step], *, end: str = "</s>") -> dict[str, Any]:
    """The table of steps as `translation.js` shows it: for each step t, from 1, what the decoder
    had read, its candidates and the one taken, until `end` was.

    Raises:
        ValueError: if a probability is not within 0 to 1.
    """
    rows = [
        {
            "step": number,
            "input": list(step.input_tokens),
            "candidates": [_choice(candidate) for candidate in step.candidates],
            "chosen": _choice(step.chosen),
            "last": step.chosen.token == end,
        }
        for number, step in enumerate(steps, start=1)
    ]
    return {"steps": rows}


def _choice(choice: Choice) -> dict[str, Any]:
    if not 0 <= choice.probability <= 1 + 1e-4:
        raise ValueError(
            f"The probability of {choice.token!r} is {choice.probability}, not 0 to 1."
        )
    return {"token": choice.token, "id": choice.id, "probability": min(choice.probability, 1.0)}
