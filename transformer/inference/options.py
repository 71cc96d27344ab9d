"""The choices of one decoding, validated, and how long a text may be."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Sequence
from dataclasses import dataclass, fields
from numbers import Integral, Real
from typing import Any, TypedDict, get_args

from transformer.config import ModelConfig, near
from transformer.inference.results import Method

MAX_SOURCE = 512
"""Most source pieces at once: attention grows with the square, and a page must stay readable."""

EXTRA_LENGTH = 50
"""The paper lets an output be 50 longer than its input (section 6.1)."""

MOST = {"beam_size": 64, "max_len": MAX_SOURCE + EXTRA_LENGTH, "candidates": 100}
"""Upper ends of options that cost memory."""

STEEPEST = 100
"""Greatest α of the length penalty: what it makes of the longest output is still a float."""

SAMPLING = ("temperature", "top_k", "top_p", "seed")


class DecodingOptions(TypedDict, total=False):
    """Keyword arguments of `translate`, `translate_batch` and `trace`; see `Decoding`."""

    method: Method | None
    beam_size: int
    length_penalty: float
    temperature: float | None
    top_k: int | None
    top_p: float | None
    seed: int | None
    max_len: int | None
    candidates: int


@dataclass(frozen=True)
class Decoding:
    """How to choose the next token.

    Attributes:
        method: "greedy", "beam" or "sample"; None means beam search if beam_size > 1, else greedy.
        beam_size: hypotheses kept at each step (the paper: 4).
        length_penalty: α of lp(Y) = ((5+|Y|)/6)^α; 0 compares plain log probabilities.
        temperature: sampling divides the logits by it (1 if left out); above 0.
        top_k: sampling takes only the k most probable pieces (all if left out).
        top_p: … only the fewest pieces whose probabilities sum to p (all if left out).
        seed: of sampling's own generator; left out, one is drawn and told in the result.
        max_len: most pieces of the output, `</s>` counted; source length + 50 if left out.
        candidates: how many of the most probable pieces each step keeps.
    """

    method: str | None = None
    beam_size: int = 1
    length_penalty: float = 0.6
    temperature: float | None = None
    top_k: int | None = None
    top_p: float | None = None
    seed: int | None = None
    max_len: int | None = None
    candidates: int = 8

    def __post_init__(self) -> None:
        for field in fields(self):
            _check_kind(field.name, getattr(self, field.name), str(field.type))
        if self.method is None:
            object.__setattr__(self, "method", "beam" if self.beam_size > 1 else "greedy")
        if self.method not in get_args(Method):
            known = ", ".join(get_args(Method))
            hint = near(str(self.method), get_args(Method))
            raise ValueError(f"method must be one of {known}, not {self.method!r}{hint}")
        for name in ("beam_size", "top_k", "max_len", "candidates"):
            value = getattr(self, name)
            if value is not None and not 1 <= value <= MOST.get(name, value):
                most = f" and at most {MOST[name]}" if name in MOST else ""
                raise ValueError(f"{name} must be at least 1{most}, not {value}")
        if self.beam_size > 1 and self.method != "beam":
            raise ValueError(f"beam_size {self.beam_size} needs method 'beam', not {self.method!r}")
        if not -STEEPEST <= self.length_penalty <= STEEPEST:
            raise ValueError(
                f"length_penalty must be from -{STEEPEST} to {STEEPEST}, not {self.length_penalty}"
            )
        if self.temperature is not None and not 0 < self.temperature < math.inf:
            raise ValueError(f"temperature must be above 0, not {self.temperature}")
        if self.top_p is not None and not 0 < self.top_p <= 1:
            raise ValueError(f"top_p must be above 0 and at most 1, not {self.top_p}")
        if self.seed is not None and not 0 <= self.seed < 2**63:
            raise ValueError(f"seed must be from 0 to 2**63 - 1, not {self.seed}")
        given = [name for name in SAMPLING if getattr(self, name) is not None]
        if given and self.method != "sample":
            raise ValueError(
                f"{given[0]} is for method 'sample'; method {self.method!r} draws nothing"
            )

    @classmethod
    def of(cls, options: dict[str, Any]) -> Decoding:
        """Raises ValueError for an option that does not exist, with the near ones."""
        known = [field.name for field in fields(cls)]
        for name in options:
            if name not in known:
                raise ValueError(f"there is no option {name!r}{near(name, known)}")
        return cls(**options)


_KINDS: dict[str, tuple[type, str]] = {
    "int": (Integral, "a whole number"),
    "float": (Real, "a number"),
    "str": (str, "a name"),
}


def _check_kind(name: str, value: object, kind: str) -> None:
    """Raises ValueError for an option's value of another type than its field's."""
    wanted, said = next(found for name, found in _KINDS.items() if name in kind)
    if (value is None and "None" in kind) or (
        isinstance(value, wanted) and not isinstance(value, bool)
    ):
        return
    raise ValueError(f"{name} must be {said}, not {reprlib.repr(value)}")


def source_limit(config: ModelConfig) -> int:
    """Most source pieces, `</s>` counted: `MAX_SOURCE`, or the learned positions if fewer."""
    return min(MAX_SOURCE, config.max_len) if config.positions == "learned" else MAX_SOURCE


def check_source(n_pieces: int, config: ModelConfig) -> None:
    """Raises ValueError, with both numbers, for a source that is too long."""
    limit = source_limit(config)
    if n_pieces > limit:
        raise ValueError(
            f"The text has {n_pieces} pieces; at most {limit} can be translated at once. "
            "Split it into sentences."
        )


def check_pieces(what: str, ids: Sequence[int], config: ModelConfig) -> None:
    """Raises ValueError for an id that no output has in its place; `what` names the ids."""
    for place, id in enumerate(ids):
        if not 0 <= id < config.vocab_size:
            raise ValueError(f"{what} id {id} is not from 0 to {config.vocab_size - 1}.")
        early = id == config.eos_id and place + 1 < len(ids)
        if early or id in (config.pad_id, config.bos_id):
            raise ValueError(f"{what} id {id} at place {place} is a control piece.")


def check_prefix(ids: Sequence[int], limit: int, config: ModelConfig) -> None:
    """Raises ValueError if no output of at most `limit` pieces begins with `ids`."""
    if len(ids) > limit:
        raise ValueError(f"The prefix has {len(ids)} pieces; the output has at most {limit}.")
    check_pieces("Prefix", ids, config)


def output_limit(n_source: int, config: ModelConfig, max_len: int | None) -> int:
    """Most pieces of an output for a source of `n_source`. Raises ValueError if `max_len` goes
    beyond the positions a model has learned."""
    table = config.max_len if config.positions == "learned" else None
    if max_len is None:
        wanted = n_source + EXTRA_LENGTH
        return wanted if table is None else min(wanted, table)
    if table is not None and max_len > table:
        raise ValueError(f"max_len is {max_len}; this model learned {table} positions")
    return max_len
