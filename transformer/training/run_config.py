"""Configuration of a run, stored as config.json: one record for each kind of run.

    {"kind": "task", "title", "owner", "created", "languages", "model", "training",
     "data": {"task", "options"}, "probes", "inspect", "device"}

`parse` reads it, `RunConfig.to_dict` writes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar

from transformer.config import (
    ModelConfig,
    Reader,
    Record,
    TrainingConfig,
    did_you_mean,
    optional,
    read_integer,
    read_number,
    read_object,
    read_text,
    reader,
)
from transformer.text.languages import Languages, check_languages

INSPECT = "decoder.layers.0.cross_attn.w_qkv"
"""Default weight matrix whose updates are recorded; its first rows are W^Q of the first head of the
first cross-attention."""
MAX_PIECES = 128
"""Maximum pieces on a side; longer pairs are dropped."""
Pairs = tuple[tuple[str, str], ...]


def _texts(name: str, value: Any) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise ValueError(f"{name} must be a list of texts, not {value!r:.60}")
    return tuple(read_text(name, item) for item in value)


def _pairs(name: str, value: Any) -> Pairs:
    pairs = [_texts(name, item) for item in reader(Sequence, "a list of pairs")(name, value)]
    if any(len(pair) != 2 for pair in pairs):
        raise ValueError(f"{name} must be pairs of two texts each, not {value!r:.60}")
    return tuple((src, tgt) for src, tgt in pairs)


def _values(read: Reader) -> Reader:
    return lambda name, value: {
        key: read(f"{name}.{key}", item) for key, item in read_object(name, value).items()
    }


def _config(kind: type[Record]) -> Reader:
    return lambda name, value: kind.from_dict(read_object(name, value))


READERS: Mapping[str, Reader] = {
    **Record.readers,
    "tuple[str, ...]": _texts,
    "tuple[str, ...] | None": optional(_texts),
    "Pairs": _pairs,
    "Languages | None": optional(lambda name, value: check_languages(_texts(name, value))),
    "Mapping[str, int]": _values(read_integer),
    "Mapping[str, float]": _values(read_number),
    "ModelConfig": _config(ModelConfig),
    "TrainingConfig": _config(TrainingConfig),
    "ModelConfig | None": optional(_config(ModelConfig)),
    "TrainingConfig | None": optional(_config(TrainingConfig)),
}
"""Functions that read a value, by the annotation of its field."""


@dataclass(frozen=True, kw_only=True)
class RunConfig(Record):
    """The fields of every run; the base class alone represents a corrupt file.

    Attributes:
        owner: id of the owner, never displayed; "" for runs of the command line.
        created: unix time, seconds; 0 if unknown.
        probes: (source, target) pairs whose attention is recorded; empty: some validation pairs.
        languages: codes of source and target language, if they have codes.
    """

    readers = READERS
    kind: ClassVar[str] = ""
    data: ClassVar[tuple[str, ...]] = ()
    """Fields that are stored under "data"."""

    title: str = ""
    owner: str = ""
    created: float = 0.0
    probes: Pairs = ()
    languages: Languages | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the content of config.json; omitted fields have their defaults."""
        values = {
            name: value
            for name, value in asdict(self).items()
            if value is not None and (value or name not in ("title", "owner", "created"))
        }
        if isinstance(model := getattr(self, "model", None), ModelConfig):
            values["model"] = model.to_dict()
        data = {name: values.pop(name) for name in self.data if name in values}
        if data.get("max_pieces") == MAX_PIECES:
            del data["max_pieces"]
        return {"kind": self.kind, **values} | ({"data": data} if self.data else {})


@dataclass(frozen=True, kw_only=True)
class FilmRun(RunConfig):
    """A finished training of which only the film and the name of its checkpoint are stored."""

    kind = "film"
    checkpoint: str
    model: ModelConfig | None = None
    training: TrainingConfig | None = None


@dataclass(frozen=True, kw_only=True)
class TrainingRun(RunConfig):
    """A run that can be trained.

    Attributes:
        inspect: the weight matrix whose updates are recorded; "" for none.
        device: name for `device.choose_device`.
        max_pieces: maximum pieces on a side; longer pairs are dropped.
    """

    model: ModelConfig
    training: TrainingConfig
    inspect: str = INSPECT
    device: str = "auto"
    max_pieces: int = MAX_PIECES


@dataclass(frozen=True, kw_only=True)
class TaskRun(TrainingRun):
    """A translator of a built-in task; `options` has `n_train`, `n_valid` and the task's
    options."""

    kind = "task"
    data = ("task", "options", "max_pieces")
    task: str
    options: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class PairsRun(TrainingRun):
    """A translator of uploaded pairs: a file in the run's folder."""

    kind = "pairs"
    data = ("pairs", "max_pieces")
    pairs: str


@dataclass(frozen=True, kw_only=True)
class FilesRun(TrainingRun):
    """A translator of tables or parallel files anywhere on the machine, for the command line.

    Attributes:
        added: additional tables, with how often an epoch reads each.
        start_from: checkpoint with the initial weights.
    """

    kind = "files"
    data = ("train", "valid", "added", "max_pieces", "start_from")
    train: tuple[str, ...]
    valid: tuple[str, ...] | None = None
    added: Mapping[str, float] = field(default_factory=dict)
    start_from: str | None = None


KINDS: dict[str, type[RunConfig]] = {
    kind.kind: kind for kind in (TaskRun, PairsRun, FilesRun, FilmRun)
}


def parse(values: Mapping[str, Any]) -> RunConfig:
    """Inverse of `to_dict`. Raises ValueError for an unknown kind, or an unknown, missing or
    invalid field, which the message names."""
    kind = values.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        hint = did_you_mean(str(kind), KINDS)
        raise ValueError(f"a run's kind must be one of {', '.join(KINDS)}, not {kind!r}{hint}")
    config_type = KINDS[kind]
    top = {name: value for name, value in values.items() if name not in ("kind", "data")}
    data = read_object("data", values.get("data", {}))
    for name in data:
        if name not in config_type.data:
            raise ValueError(
                f"the data of a run of {kind} has no {name!r}{did_you_mean(name, config_type.data)}"
            )
    if misplaced := sorted({*top} & {*config_type.data}):
        raise ValueError(f"{misplaced[0]!r} of a run of {kind} must be under 'data'")
    return config_type.from_dict({**top, **data})


def parse_title_and_owner(values: Mapping[str, Any]) -> RunConfig:
    """Return only title and owner, for values that `parse` rejects."""
    title, owner = values.get("title"), values.get("owner")
    return RunConfig(
        title=title if isinstance(title, str) else "", owner=owner if isinstance(owner, str) else ""
    )
