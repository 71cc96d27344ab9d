"""Configuration of a model and of a training run: frozen, validated, stored as JSON.

Names and defaults are those of "Attention Is All You Need" (Vaswani et al. 2017).
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, asdict, dataclass, fields
from types import UnionType
from typing import Any, ClassVar, Literal, Self, get_args

Score = Literal["scaled_dot", "dot", "additive"]
Positions = Literal["sinusoidal", "learned", "none"]
Activation = Literal["relu", "swish", "gelu"]

IMPORTED_ONLY = {
    "biases": False,
    "activation": "relu",
    "output_bias": False,
    "scale_embedding": True,
}
"""Fields of `ModelConfig` that only imported models change, with their values in our models."""
_CHOICES = {"score": Score, "positions": Positions, "activation": Activation}

PRESETS: dict[str, dict[str, Any]] = {
    "tiny": {"d_model": 64, "n_layers": 2, "n_heads": 4, "d_ff": 256},
    "small": {"d_model": 256, "n_layers": 6, "n_heads": 8, "d_ff": 1024},
    "base": {"d_model": 512, "n_layers": 6, "n_heads": 8, "d_ff": 2048},
    "big": {"d_model": 1024, "n_layers": 6, "n_heads": 16, "d_ff": 4096, "dropout": 0.3},
}


def did_you_mean(name: str, candidates: object) -> str:
    """Return "; did you mean 'a' or 'b'?" for an error message, or "" if no name is similar."""
    names = [str(k) for k in candidates] if hasattr(candidates, "__iter__") else []
    close = difflib.get_close_matches(name, names, n=3)
    return f"; did you mean {' or '.join(map(repr, close))}?" if close else ""


Reader = Callable[[str, Any], Any]
"""Returns the value of a field, given its name and the JSON value. Raises ValueError."""


def reader(kind: type[Any] | UnionType, description: str) -> Reader:
    """Return a function that checks that a value is of this kind; for numbers, that it is not true
    or false."""

    def read(name: str, value: Any) -> Any:
        if not isinstance(value, kind) or isinstance(value, bool):
            raise ValueError(f"{name} must be {description}, not {value!r:.60}")
        return value

    return read


read_object, read_text, read_integer = (
    reader(Mapping, "an object"),
    reader(str, "a text"),
    reader(int, "a whole number"),
)


def read_truth(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{name} must be true or false, not {value!r:.60}")
    return value


def read_number(name: str, value: Any) -> float:
    number = reader(int | float, "a finite number")(name, value)
    if not abs(number) <= 1e300:  # no NaN either
        raise ValueError(f"{name} must be a finite number, not {value!r:.60}")
    return float(number)


def optional(read: Reader) -> Reader:
    return lambda name, value: None if value is None else read(name, value)


class Record:
    """Base of frozen dataclasses that are stored as JSON objects, with errors that name the
    field."""

    readers: ClassVar[Mapping[str, Reader]] = {
        "bool": read_truth,
        "str": read_text,
        "int": read_integer,
        "float": read_number,
        "str | None": optional(read_text),
        "int | None": optional(read_integer),
    }
    """How to read a value, by the annotation of its field; other values are taken as they are."""

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)  # type: ignore[call-overload, no-any-return]

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Create from a JSON object. Raises ValueError for an unknown, missing or invalid field."""
        known_fields = {f.name: f for f in fields(cls)}  # type: ignore[arg-type]
        for name in values:
            if name not in known_fields:
                raise ValueError(
                    f"{cls.__name__} has no field {name!r}{did_you_mean(name, known_fields)}"
                )
        missing = [
            name
            for name, f in known_fields.items()
            if name not in values and f.default is MISSING and f.default_factory is MISSING
        ]
        if missing:
            raise ValueError(f"{cls.__name__} needs a value for {' and '.join(missing)}")
        return cls(**{name: cls._read(known_fields[name], value) for name, value in values.items()})

    @classmethod
    def _read(cls, field: Field[Any], value: Any) -> Any:
        reader = cls.readers.get(str(field.type))
        return reader(field.name, value) if reader else value

    def _check_kinds(self) -> None:
        for field in fields(self):  # type: ignore[arg-type]
            self._read(field, getattr(self, field.name))

    def _check_at_least(self, minimum: float, *names: str) -> None:
        for name in names:
            if getattr(self, name) < minimum:
                raise ValueError(f"{name} must be at least {minimum}, not {getattr(self, name)}")


MAX_SIZE = 10_000_000
"""Largest number of a model's config; larger ones are mistakes and overflow in PyTorch."""


@dataclass(frozen=True)
class ModelConfig(Record):
    """The shape of one encoder–decoder Transformer; the defaults are the paper's base model.

    Attributes:
        vocab_size: entries of the vocabulary that source and target share.
        d_model: width of the residual stream (paper: 512).
        n_layers: N, layers of the encoder and again of the decoder (paper: 6).
        n_heads: h, heads of each attention (paper: 8).
        d_ff: inner width of the feed-forward network (paper: 2048).
        dropout: P_drop on each sublayer's output and on the embedding sums (section 5.4).
        score: score function of query and key. "scaled_dot" is eq. (1); "dot" omits
            1/√d_k; "additive" is Bahdanau et al. 2015, v·tanh(q + k), for each head.
        positions: "sinusoidal" (section 3.5), "learned" (Table 3, row E) or "none".
        max_len: rows of the learned position table; sinusoids have no such limit.
        pad_id, bos_id, eos_id, unk_id: special entries of the vocabulary.
        biases: whether W^Q, W^K, W^V and W^O have biases (paper: none). This and the following
            fields are for imported models (`python -m transformer import`).
        activation: activation of the feed-forward network: "relu" is eq. (2); "swish" is x·σ(x),
            "gelu" x·Φ(x).
        output_bias: whether the logits have a bias.
        scale_embedding: whether embeddings are multiplied by √d_model (section 3.4).
    """

    vocab_size: int
    d_model: int = 512
    n_layers: int = 6
    n_heads: int = 8
    d_ff: int = 2048
    dropout: float = 0.1
    score: Score = "scaled_dot"
    positions: Positions = "sinusoidal"
    max_len: int = 512
    pad_id: int = 0
    bos_id: int = 1
    eos_id: int = 2
    unk_id: int = 3
    biases: bool = False
    activation: Activation = "relu"
    output_bias: bool = False
    scale_embedding: bool = True

    def __post_init__(self) -> None:
        self._check_kinds()
        sizes = ("d_model", "n_layers", "n_heads", "d_ff", "max_len", "vocab_size")
        self._check_at_least(1, *sizes)
        for name in sizes:
            if getattr(self, name) > MAX_SIZE:
                raise ValueError(f"{name} must be at most {MAX_SIZE:,}, not {getattr(self, name)}")
        if self.d_model % self.n_heads:
            raise ValueError(f"d_model {self.d_model} must be a multiple of n_heads {self.n_heads}")
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout must be at least 0 and below 1, not {self.dropout}")
        for name, kind in _CHOICES.items():
            if getattr(self, name) not in get_args(kind):
                choices = ", ".join(get_args(kind))
                raise ValueError(f"{name} must be one of {choices}, not {getattr(self, name)!r}")
        special = (self.pad_id, self.bos_id, self.eos_id, self.unk_id)
        if len(set(special)) < 4 or min(special) < 0 or max(special) >= self.vocab_size:
            raise ValueError(
                f"pad, bos, eos and unk need four different ids below vocab_size "
                f"{self.vocab_size}, not {special}"
            )

    def to_dict(self) -> dict[str, Any]:
        """Return the fields; those in `IMPORTED_ONLY` are omitted if they have their default."""
        values = super().to_dict()
        return {
            name: value
            for name, value in values.items()
            if name not in IMPORTED_ONLY or value != IMPORTED_ONLY[name]
        }

    @property
    def d_k(self) -> int:
        """Width of one head's queries, keys and values (the paper has d_k = d_v = d_model/h)."""
        return self.d_model // self.n_heads

    @property
    def embedding_scale(self) -> float:
        """Factor of embeddings at the input (section 3.4)."""
        return float(self.d_model**0.5) if self.scale_embedding else 1.0

    @property
    def branch_gain(self) -> float:
        """Factor of the initial output weights of sublayers, (2·n_layers)^-0.5 (Radford et al.
        2019).

        A post-norm stack that depends heavily on its sublayers from the start amplifies small
        changes of its weights and is hard to train (Liu et al. 2020, "Understanding the Difficulty
        of Training Transformers"). In our models the encoder's output also tended to become the
        same vector at all positions; that is our observation, not theirs.
        """
        return float((2 * self.n_layers) ** -0.5)

    @classmethod
    def preset(cls, name: str, *, vocab_size: int, **changes: Any) -> ModelConfig:
        """Return `base` or `big` of the paper's Table 3, or the compact `small` or `tiny`."""
        if name not in PRESETS:
            presets = ", ".join(PRESETS)
            raise ValueError(
                f"no preset {name!r}: choose one of {presets}{did_you_mean(name, PRESETS)}"
            )
        return cls.from_dict({"vocab_size": vocab_size, **PRESETS[name], **changes})


@dataclass(frozen=True)
class TrainingConfig(Record):
    """Settings of one training run: section 5 of the paper, and additions for small machines.

    Attributes:
        steps: maximum number of optimizer steps.
        minutes: maximum training time in minutes; 0 means no limit. With a limit, the cooldown
            ends at that time.
        batch_tokens: source plus target positions of one step, padding included.
        warmup: steps during which the learning rate rises (paper: 4000).
        learning_rate: peak rate, reached at the end of the warm-up; 0 means the paper's
            d_model^-0.5 · warmup^-0.5 (eq. 3).
        cooldown: final fraction of the run in which the rate falls linearly to 0 (paper: none).
        label_smoothing: ε_ls (paper: 0.1).
        concat_prob: fraction of the examples that concatenate two to four random pairs (paper:
            none).
        typing_noise: fraction of the examples whose source gets typical typing errors: no final
            punctuation, another case, extra spaces (`text.typing_noise`; paper: none).
        subword_alpha: exponent of subword regularisation, applied to half of the sources (Kudo
            2018); 0 means none.
        sharpness_penalty: weight λ, in nats, of the loss term λ·(1 - Σ α²), averaged over attention
            rows: rewards sharp rows (paper: none; `loss.AttentionRegularizer`).
        diversity_penalty: weight λ, in nats, of the loss term λ·Σ ᾱ², where ᾱ is the mean row of a
            head: rewards different keys for different queries (paper: none).
        r_drop: weight α of R-Drop (Liang et al. 2021), which passes each batch twice with different
            dropout and penalises the divergence of the two outputs (paper: none; Liang et al.: 5).
        packed_length: tokens on each side of a row that holds several pairs (`packed_rows`); 0
            means batches of single pairs of similar length.
        packed_epochs: with packed_length, how many epochs are packed before the first step. Their
            rows stay on the device; afterwards they are read again, in another order.
        clip_norm: maximum gradient norm; 0 means no clipping.
        weight_decay: fraction of every weight, times the learning rate, that a step subtracts
            (decoupled, Loshchilov and Hutter 2019; paper: none).
        valid_every: steps between two computations of the validation loss; 0 means 500, or, with
            probes or a task, 40 evaluations over the run.
        save_every: steps between two saved checkpoints.
        average: how many of the last checkpoints are averaged at the end (paper: 5).
        patience: validations without a better loss before the run stops; 0 means never.
        precision: number format of the matrix products, "fp32" or "bf16".
        seed: seed of weights, batches and dropout.
    """

    steps: int = 100_000
    minutes: float = 0.0
    batch_tokens: int = 4096
    warmup: int = 4000
    learning_rate: float = 0.0
    cooldown: float = 0.0
    label_smoothing: float = 0.1
    concat_prob: float = 0.0
    typing_noise: float = 0.0
    subword_alpha: float = 0.0
    sharpness_penalty: float = 0.0
    diversity_penalty: float = 0.0
    r_drop: float = 0.0
    packed_length: int = 0
    packed_epochs: int = 1
    clip_norm: float = 1.0
    weight_decay: float = 0.0
    valid_every: int = 0
    save_every: int = 500
    average: int = 5
    patience: int = 0
    precision: Literal["bf16", "fp32"] = "fp32"
    seed: int = 1

    def __post_init__(self) -> None:
        self._check_kinds()
        self._check_at_least(1, "steps", "batch_tokens", "warmup", "save_every", "average")
        self._check_at_least(1, "packed_epochs")
        self._check_at_least(0, "minutes", "learning_rate", "clip_norm", "patience", "seed")
        self._check_at_least(
            0,
            *("sharpness_penalty", "diversity_penalty", "subword_alpha", "weight_decay"),
            *("r_drop", "packed_length", "valid_every"),
        )
        if self.packed_length and (self.sharpness_penalty or self.diversity_penalty):
            raise ValueError(
                "penalties on attention need batches of single pairs: set packed_length to 0"
            )
        for name in ("cooldown", "label_smoothing", "concat_prob", "typing_noise"):
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(
                    f"{name} must be at least 0 and below 1, not {getattr(self, name)}"
                )
        if self.precision not in ("bf16", "fp32"):
            raise ValueError(f"precision must be bf16 or fp32, not {self.precision!r}")
