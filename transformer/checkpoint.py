"""A checkpoint is a folder: config.json, model.safetensors, vocabulary.model, README.md.

Weights are safetensors, never a pickle: loading one never runs code from the file. Their SHA-256
and that of the vocabulary are in model.safetensors.sha256, in the format of `sha256sum`, and are
checked when the files are read; a folder that another program has written need not have them.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from transformer.app_folders import find_checkpoint, named_checkpoints
from transformer.config import ModelConfig
from transformer.model import Transformer
from transformer.model.shapes import shapes_only
from transformer.text import Vocabulary, files
from transformer.text.languages import Languages, languages_from_card, languages_from_name

CONFIG, WEIGHTS, VOCABULARY, CARD = (
    "config.json",
    "model.safetensors",
    "vocabulary.model",
    "README.md",
)
CHECKSUM = f"{WEIGHTS}.sha256"
FORMAT = 1
MAX_CARD_BYTES = 65_536
"""Maximum size of a card that is read; its front matter comes first."""
DTYPES = ("F32", "F16", "BF16", "F64")
"""Allowed types of stored weights, in safetensors' names; all are read as float32."""
MAX_POSITION_NUMBERS = 2**28
"""Maximum size of a table of positions; for sinusoids, no file bounds it."""


class CheckpointError(ValueError):
    """A checkpoint is missing, truncated or inconsistent; the message is one sentence."""


def save_checkpoint(
    folder: str | os.PathLike[str],
    model: Transformer,
    vocabulary: Vocabulary,
    card: str,
    *,
    dtype: torch.dtype = torch.float32,
) -> None:
    """Write the folder so that a concurrent reader finds either the old or the new weights.

    A checkpoint of the same shape and vocabulary is replaced; one of another model is refused,
    since a concurrent reader could find files of both.

    Args:
        card: the model card, Markdown, for README.md.
        dtype: type of the stored weights; float16 halves the file and rounds to 11 bits.

    Raises:
        CheckpointError: if the vocabulary does not fit the model, a weight is not finite in
            `dtype`, or the folder is a file or holds another model.
        OSError: if a file cannot be written; an existing checkpoint stays unchanged.
    """
    target = Path(folder)
    try:
        vocabulary.check(model.config)
    except ValueError as error:
        raise CheckpointError(f"{target} was not written: {error}") from error
    _check_same_model(target, model.config, vocabulary)
    weights = {
        name: p.detach().to("cpu", dtype).contiguous() for name, p in model.named_parameters()
    }
    _check_finite(weights, f"{target} was not written")
    config = json.dumps({"format": FORMAT, **model.config.to_dict()}, indent=2) + "\n"
    stored_weights = save(weights, metadata={"format": "pt"})
    checksum = hashlib.sha256(stored_weights).hexdigest()
    contents = {
        VOCABULARY: vocabulary.to_bytes(),
        WEIGHTS: stored_weights,
        CONFIG: config.encode(),
        CHECKSUM: _checksum_lines({checksum}, vocabulary),
        CARD: card.encode(),
    }
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}.") as parent:
        staged = Path(parent) / "checkpoint"
        staged.mkdir()
        for name, content in contents.items():
            (staged / name).write_bytes(content)
        if not target.exists():
            os.rename(staged, target)
            return
        if previous := _stored_checksums(target / WEIGHTS):
            # Until the new weights are in place, both are valid: for a reader, and after a crash.
            (staged / "both").write_bytes(_checksum_lines({checksum, *previous}, vocabulary))
            os.replace(staged / "both", target / CHECKSUM)
        for name in contents:
            os.replace(staged / name, target / name)


def _checksum_lines(weights: set[str], vocabulary: Vocabulary) -> bytes:
    lines = [
        *((checksum, WEIGHTS) for checksum in sorted(weights)),
        (vocabulary.sha256, VOCABULARY),
    ]
    return "".join(f"{checksum}  {name}\n" for checksum, name in lines).encode()


def _stored_checksums(file: Path) -> set[str]:
    """Return the SHA-256 sums that a file of the folder may have; empty if none are stored."""
    try:
        text = file.with_name(CHECKSUM).read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return set()
    rows = [line.split() for line in text.splitlines() if line.strip()]
    return {row[0].lower() for row in rows if row[-1] == file.name}


def _check_checksum(path: Path) -> None:
    """Compare the weights or the vocabulary with their stored checksum. Raises CheckpointError if
    they differ."""
    valid = _stored_checksums(path)
    if not valid:
        return
    with path.open("rb") as file:
        actual = hashlib.file_digest(file, "sha256").hexdigest()
    valid |= _stored_checksums(path)  # they may have been replaced meanwhile
    if actual not in valid:
        raise CheckpointError(
            f"{path} is damaged: its SHA-256 is {actual}, and {CHECKSUM} has "
            f"{' or '.join(sorted(valid))}; copy the file again"
        )


def _check_same_model(target: Path, config: ModelConfig, vocabulary: Vocabulary) -> None:
    """Raise CheckpointError if `target` is a file or a checkpoint of another model."""
    if target.exists() and not target.is_dir():
        raise CheckpointError(f"{target} is a file; a checkpoint is a folder")
    try:
        stored, pieces = load_config(target), Vocabulary.load(target / VOCABULARY)
    except (ValueError, FileNotFoundError):
        return  # not a loadable checkpoint
    changes = [
        f"{name} {stored_value}, not {value}"
        for (name, stored_value), value in zip(
            asdict(stored).items(), asdict(config).values(), strict=True
        )
        if stored_value != value
    ]
    if pieces.sha256 != vocabulary.sha256:
        changes.append(f"the vocabulary {pieces.sha256[:12]}, not {vocabulary.sha256[:12]}")
    if changes:
        raise CheckpointError(
            f"{target} holds another model, with {'; '.join(changes)}: give another folder, or "
            "remove this one"
        )


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object. Raises CheckpointError for anything else."""
    try:
        return files.read_json(path)
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{path} is truncated or not JSON: {error}") from error


def load_config(folder: str | os.PathLike[str]) -> ModelConfig:
    """Return the model's configuration. Raises CheckpointError if the folder is not a checkpoint,
    or its config.json is missing, truncated or invalid."""
    path = _checkpoint_file(folder, CONFIG)
    values = read_json(path)
    file_format = values.pop("format", None)
    if file_format is None and isinstance(values.get("model_type"), str):
        kind = values["model_type"]
        hint = (
            "make a checkpoint of it with `python -m transformer import FOLDER OUT`"
            if kind == "marian"
            else "it cannot be loaded or imported, only Marian models can be imported"
        )
        raise CheckpointError(f"{folder} holds a model of transformers, of type {kind!r}; {hint}")
    if file_format != FORMAT:
        raise CheckpointError(
            f"{path} has format {file_format!r}; this version reads format {FORMAT}"
        )
    try:
        return ModelConfig.from_dict(values)
    except (TypeError, ValueError) as error:
        raise CheckpointError(f"{path}: {error}") from error


def load_checkpoint(
    folder: str | os.PathLike[str], device: torch.device | str = "cpu"
) -> tuple[Transformer, Vocabulary]:
    """Load the model (eval mode, float32, no gradients) and the vocabulary; nothing may be missing.

    Raises:
        CheckpointError: for a missing, truncated or mismatched file, with both numbers.
    """
    config = load_config(folder)
    try:
        vocabulary = Vocabulary.load(_checkpoint_file(folder, VOCABULARY))
    except ValueError as error:
        raise CheckpointError(str(error)) from error
    try:
        vocabulary.check(config)
    except ValueError as error:
        raise CheckpointError(f"{folder}: {error}") from error
    _check_checksum(_checkpoint_file(folder, VOCABULARY))
    weights = _checkpoint_file(folder, WEIGHTS)
    _check_header(weights, config)
    # Initialisation must not change the caller's generators: it uses that of the CPU.
    with torch.random.fork_rng(devices=[]), torch.device("cpu"):
        model = Transformer(config)
    model.load_state_dict(_read_weights(weights))
    model = model.to(device, torch.float32)  # whatever the default dtype is
    return model.eval().requires_grad_(False), vocabulary


def load_languages(folder: str | os.PathLike[str]) -> Languages | None:
    """Return the codes of source and target language, ("en", "fr"), from the card or else from the
    folder's name; None if neither has them. Raises CheckpointError if the folder is not a
    checkpoint, or its card names anything but two languages."""
    card = _checkpoint_file(folder, CONFIG).with_name(CARD)
    try:
        languages = languages_from_card(read_card(card.parent))
    except ValueError as error:
        raise CheckpointError(f"{card}: {error}") from error
    return languages or languages_from_name(Path(folder).absolute().name)


def read_card(folder: Path) -> str:
    """Return the beginning of a folder's card; "" if it has none."""
    try:
        with (folder / CARD).open("rb") as file:
            return file.read(MAX_CARD_BYTES).decode("utf-8-sig", errors="replace")
    except OSError:
        return ""


def check_checkpoint(folder: str | os.PathLike[str]) -> None:
    """Check that config.json and the header of the weights match, without reading weights. Raises
    CheckpointError as `load_checkpoint`, for errors that are visible so."""
    config = load_config(folder)
    _checkpoint_file(folder, VOCABULARY)
    _check_header(_checkpoint_file(folder, WEIGHTS), config)


def _check_header(path: Path, config: ModelConfig) -> None:
    """Compare names, types and shapes of the file's tensors with a model on the device "meta", so
    that a wrong config cannot make us allocate more than the file has."""
    header = _header(path)
    if config.n_layers > len(header) or config.max_len * config.d_model > MAX_POSITION_NUMBERS:
        raise CheckpointError(
            f"{path} does not fit its config.json: {len(header)} tensors where the config asks for "
            f"{config.n_layers:,} layers of {config.d_model:,} and {config.max_len:,} positions"
        )
    with shapes_only():
        expected = {n: list(p.shape) for n, p in Transformer(config).named_parameters()}
    missing, unknown = expected.keys() - header.keys(), header.keys() - expected.keys()
    if missing or unknown:
        example = sorted(missing or unknown)[0]
        raise CheckpointError(
            f"{path} does not fit its config.json: {len(header)} tensors where the config asks for "
            f"{len(expected)} ({example} is {'missing' if missing else 'not in the model'})"
        )
    for name, shape in expected.items():
        kind, actual = header[name]
        if actual != shape:
            raise CheckpointError(
                f"{path}: {name} has shape {tuple(actual)}, config.json asks for {tuple(shape)}"
            )
        if kind not in DTYPES:
            raise CheckpointError(
                f"{path}: {name} is of type {kind}; weights are {', '.join(DTYPES)}"
            )


def _header(path: Path) -> dict[str, tuple[str, list[int]]]:
    """Return type and shape of every tensor by name. Raises CheckpointError."""
    with open_weights(path) as file:
        slices = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118
        return {
            name: (tensor_slice.get_dtype(), tensor_slice.get_shape())
            for name, tensor_slice in slices.items()
        }


@contextmanager
def open_weights(path: Path) -> Iterator[Any]:
    """Open a safetensors file for reading. Raises CheckpointError if it is truncated or invalid."""
    try:
        with safe_open(path, framework="pt") as file:
            yield file
    except (SafetensorError, OSError) as error:
        size = path.stat().st_size
        raise CheckpointError(
            f"{path} ({size} bytes) is cut off or is not a safetensors file: {error}"
        ) from error


def checkpoint_hash(folder: str | os.PathLike[str]) -> str:
    """Return a hash (16 hexadecimal digits) of config, weights and vocabulary."""
    digest = hashlib.sha256()
    for name in (CONFIG, WEIGHTS, VOCABULARY):
        with _checkpoint_file(folder, name).open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()[:16]


def _checkpoint_file(folder: str | os.PathLike[str], name: str) -> Path:
    """Return the path of a file of a checkpoint, which is given by folder or name."""
    path = find_checkpoint(folder)
    if not path.is_dir():
        raise CheckpointError(
            f"{path} is a file; a checkpoint is a folder"
            if path.exists()
            else f"there is no checkpoint folder {path}; these can be loaded by name: "
            f"{', '.join(named_checkpoints()) or 'none'}"
        )
    if not (path / name).is_file():
        contents = ", ".join(sorted(p.name for p in path.iterdir())[:8]) or "nothing"
        raise CheckpointError(f"the checkpoint {path} has no {name}; it contains {contents}")
    return path / name


def _read_weights(path: Path) -> dict[str, Tensor]:
    """Read all tensors as float32. Raises CheckpointError if the file does not have its checksum,
    or a number is not finite."""
    _check_checksum(path)
    with open_weights(path) as file:
        weights = {name: file.get_tensor(name).float() for name in file.keys()}  # noqa: SIM118
    _check_finite(weights, str(path))
    return weights


def _check_finite(weights: dict[str, Tensor], subject: str) -> None:
    for name, weight in weights.items():
        n_wrong = weight.numel() - int(torch.isfinite(weight).sum())
        if n_wrong:
            raise CheckpointError(
                f"{subject}: {n_wrong} of the {weight.numel()} numbers of {name} are not finite"
            )
