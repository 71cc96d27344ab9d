"""Validated decoding options, and the length limits of sources and outputs."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Sequence
from dataclasses import dataclass, fields
from numbers import Integral, Real
from typing import Any, TypedDict, get_args

from transformer.config import ModelConfig, did_you_mean
from transformer.inference.results import Method

MAX_SOURCE = 512
"""Maximum source pieces: attention grows with the square, and a page must stay readable."""

EXTRA_LENGTH = 50
"""An output may be 50 pieces longer than its input, as in the paper (section 6.1)."""

MAX_OPTION_VALUES = {"beam_size": 64, "max_len": MAX_SOURCE + EXTRA_LENGTH, "candidates": 100}
"""Upper bounds of options that cost memory."""

MAX_LENGTH_PENALTY = 100
"""Maximum |α| of the length penalty; the penalty of the longest output is then still finite."""

SAMPLING_OPTIONS = ("temperature", "top_k", "top_p", "seed")


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
        temperature: sampling divides the logits by it; above 0, default 1.
        top_k: sample from the k most probable pieces only; default all.
        top_p: sample from the smallest set of most probable pieces whose probabilities sum to at
            least p; default all.
        seed: seed of the sampling; by default a random one, which the result contains.
        max_len: maximum output length in pieces, `</s>` included; default source length + 50.
        candidates: number of most probable pieces recorded at each step.
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
            _check_type(field.name, getattr(self, field.name), str(field.type))
        if self.method is None:
            object.__setattr__(self, "method", "beam" if self.beam_size > 1 else "greedy")
        if self.method not in get_args(Method):
            choices = ", ".join(get_args(Method))
            hint = did_you_mean(str(self.method), get_args(Method))
            raise ValueError(f"method must be one of {choices}, not {self.method!r}{hint}")
        for name in ("beam_size", "top_k", "max_len", "candidates"):
            value = getattr(self, name)
            if value is not None and not 1 <= value <= MAX_OPTION_VALUES.get(name, value):
                upper_bound = (
                    f" and at most {MAX_OPTION_VALUES[name]}" if name in MAX_OPTION_VALUES else ""
                )
                raise ValueError(f"{name} must be at least 1{upper_bound}, not {value}")
        if self.beam_size > 1 and self.method != "beam":
            raise ValueError(f"beam_size {self.beam_size} needs method 'beam', not {self.method!r}")
        if not -MAX_LENGTH_PENALTY <= self.length_penalty <= MAX_LENGTH_PENALTY:
            raise ValueError(
                f"length_penalty must be from -{MAX_LENGTH_PENALTY} to {MAX_LENGTH_PENALTY}, "
                f"not {self.length_penalty}"
            )
        if self.temperature is not None and not 0 < self.temperature < math.inf:
            raise ValueError(f"temperature must be above 0, not {self.temperature}")
        if self.top_p is not None and not 0 < self.top_p <= 1:
            raise ValueError(f"top_p must be above 0 and at most 1, not {self.top_p}")
        if self.seed is not None and not 0 <= self.seed < 2**63:
            raise ValueError(f"seed must be from 0 to 2**63 - 1, not {self.seed}")
        sampling_options = [name for name in SAMPLING_OPTIONS if getattr(self, name) is not None]
        if sampling_options and self.method != "sample":
            raise ValueError(f"{sampling_options[0]} needs method 'sample', not {self.method!r}")

    @classmethod
    def of(cls, options: dict[str, Any]) -> Decoding:
        """Return the decoding for `options`. Raises ValueError, with similar names, for an unknown
        option."""
        names = [field.name for field in fields(cls)]
        for name in options:
            if name not in names:
                raise ValueError(f"there is no option {name!r}{did_you_mean(name, names)}")
        return cls(**options)


def decoding_for(options: DecodingOptions, targets: object) -> Decoding:
    """Return the decoding; its method is "forced" if there are targets. Raises ValueError for
    method "forced" without targets, and for another method with targets."""
    if targets is None:
        decoding = Decoding.of({**options})
        if decoding.method == "forced":
            raise ValueError("method 'forced' needs a target; pass target=\"...\"")
        return decoding
    method = options.get("method")
    if method not in (None, "forced"):
        raise ValueError(f"with a target the method must be 'forced' or omitted, not {method!r}")
    return Decoding.of({**options, "method": "forced"})


_OPTION_TYPES: dict[str, tuple[type, str]] = {
    "int": (Integral, "a whole number"),
    "float": (Real, "a number"),
    "str": (str, "a name"),
}


def _check_type(name: str, value: object, annotation: str) -> None:
    """Raise ValueError if an option's value does not have the type of its field."""
    expected_type, description = next(
        type_and_description
        for name, type_and_description in _OPTION_TYPES.items()
        if name in annotation
    )
    if (value is None and "None" in annotation) or (
        isinstance(value, expected_type) and not isinstance(value, bool)
    ):
        return
    raise ValueError(f"{name} must be {description}, not {reprlib.repr(value)}")


def source_limit(config: ModelConfig) -> int:
    """Return the maximum number of source pieces, `</s>` included: `MAX_SOURCE`, or the number of
    learned positions if that is smaller."""
    return min(MAX_SOURCE, config.max_len) if config.positions == "learned" else MAX_SOURCE


def check_source(n_pieces: int, config: ModelConfig) -> None:
    """Raise ValueError if a source is too long."""
    limit = source_limit(config)
    if n_pieces > limit:
        raise ValueError(
            f"The text has {n_pieces} tokens; at most {limit} can be translated at once. "
            "Split it into sentences."
        )


def check_pieces(label: str, ids: Sequence[int], config: ModelConfig) -> None:
    """Raise ValueError for an id outside the vocabulary, or a control token that no output has at
    that position; `label` names the ids in the message."""
    for position, id in enumerate(ids):
        if not 0 <= id < config.vocab_size:
            raise ValueError(f"{label} id {id} is not from 0 to {config.vocab_size - 1}.")
        early_end = id == config.eos_id and position + 1 < len(ids)
        if early_end or id in (config.pad_id, config.bos_id):
            raise ValueError(f"{label} id {id} at position {position} is a control token.")


def check_prefix(ids: Sequence[int], limit: int, config: ModelConfig) -> None:
    """Raise ValueError if no output of at most `limit` pieces begins with `ids`."""
    if len(ids) > limit:
        raise ValueError(f"The prefix has {len(ids)} tokens; the output has at most {limit}.")
    check_pieces("Prefix", ids, config)


def output_limit(n_source: int, config: ModelConfig, max_len: int | None) -> int:
    """Return the maximum output length for a source of `n_source` pieces. Raises ValueError if
    `max_len` exceeds the learned positions of a model."""
    learned_positions = config.max_len if config.positions == "learned" else None
    if max_len is None:
        limit = n_source + EXTRA_LENGTH
        return limit if learned_positions is None else min(limit, learned_positions)
    if learned_positions is not None and max_len > learned_positions:
        raise ValueError(f"max_len is {max_len}; this model learned {learned_positions} positions")
    return max_len
