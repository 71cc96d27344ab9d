"""Reading an uploaded trace file: checks all sizes before unpacking anything, then the content."""

from __future__ import annotations

import io
import json
import math
import re
import zipfile
from collections.abc import Mapping
from dataclasses import replace
from itertools import chain
from tokenize import TokenError
from typing import Any, get_args

import numpy as np

from transformer.config import Score
from transformer.inference.external_weights import trace_fields
from transformer.inference.trace import WEIGHTS, Trace
from transformer.inference.trace_files import HEADER, READ_ERRORS, Array, check_format
from transformer.measures.registry import SITES, VECTORS, layers_of

MAX_FILE_BYTES = 5_000_000
"""Maximum size of the packed file, the same as for every other upload."""
MAX_ARRAY_BYTES = 64_000_000
"""Maximum size of weights and vectors, unpacked; other arrays are never unpacked."""
MAX_HEADER_BYTES = 4_000_000
MAX_ARRAYS, MAX_TOKENS, MAX_LAYERS, MAX_HEADS = 4096, 1024, 64, 128
MAX_TOKEN_CHARACTERS = 200
_ZIP_ENTRY_SIGNATURE = b"PK\x01\x02"  # begins each entry of a zip's central directory
_NAME = re.compile(r"[a-z0-9_]+(\.[a-z0-9_]+)*\.npy")
_KIND_AND_PART = {
    f"{site}hook_{part}": (kind, part)
    for kind, pattern in SITES.items()
    for layer in range(MAX_LAYERS)
    for site in [pattern.format(layer)]
    for part in ("weights", *VECTORS)
}


_PARSE_ERRORS = (
    RuntimeError,
    NotImplementedError,
    MemoryError,
    SyntaxError,
    RecursionError,
    TokenError,
)
"""Errors of zipfile for an encrypted member, and of numpy for an unreadable array header."""


class _InvalidTrace(ValueError):
    """An error whose message is already a sentence for the visitor; errors of numpy and zlib are
    converted into one."""


def open_trace(content: bytes) -> Trace:
    """Read the attention weights of a `Trace.save_npz` file, and the vectors of its heads if it has
    them; other arrays are ignored.

    Raises:
        ValueError: in one sentence, for a file that is not a trace or is too large, and for arrays
            that do not match the tokens, are not finite, or do not sum to 1.
    """
    if len(content) > MAX_FILE_BYTES:
        raise _InvalidTrace(
            f"The file has {len(content):,} bytes; a trace may have at most {MAX_FILE_BYTES:,}."
        )
    if (count := content.count(_ZIP_ENTRY_SIGNATURE)) > MAX_ARRAYS:
        raise _InvalidTrace(
            f"The file has {count:,} arrays; a trace may have at most {MAX_ARRAYS:,}."
        )
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as packed:
            infos = _list_arrays(packed)
            header = _read_header(packed, infos)
            arrays = {
                name: _read_array(packed, infos[name], name, 3)
                for name in infos
                if name in _KIND_AND_PART
            }
    except _InvalidTrace:
        raise
    except (*READ_ERRORS, *_PARSE_ERRORS) as error:
        raise ValueError(
            "This is not a complete trace file: use an .npz file from Trace.save_npz or from the "
            "button “Every number (.npz)”."
        ) from error
    return _build_trace(header, arrays)


def _list_arrays(packed: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    """Return the zip entries by array name, without unpacking anything."""
    infos: dict[str, zipfile.ZipInfo] = {}
    for info in packed.infolist():
        name = info.filename
        if not _NAME.fullmatch(name) or name.removesuffix(".npy") in infos:
            raise _InvalidTrace(
                f"The file contains {name[:60]!r}; every array of a trace is named after a hook "
                "point and occurs once."
            )
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise _InvalidTrace(f"The array {name} has another compression than numpy uses.")
        infos[name.removesuffix(".npy")] = info
    read_bytes = sum(info.file_size for name, info in infos.items() if name in _KIND_AND_PART)
    if read_bytes > MAX_ARRAY_BYTES:
        raise _InvalidTrace(
            f"The weights and vectors have {read_bytes:,} bytes unpacked; the limit is "
            f"{MAX_ARRAY_BYTES:,}, so record fewer hook points or a shorter text."
        )
    return infos


def _read_header(packed: zipfile.ZipFile, infos: Mapping[str, zipfile.ZipInfo]) -> dict[str, Any]:
    size = infos[HEADER].file_size
    if size > MAX_HEADER_BYTES:
        raise _InvalidTrace(f"The labels have {size:,} bytes; the limit is {MAX_HEADER_BYTES:,}.")
    text = _read_array(packed, infos[HEADER], HEADER, 1).tobytes().decode()
    try:
        return check_format(json.loads(text, parse_constant=_reject_constant), "the file")
    except RecursionError as error:
        raise ValueError("the labels are nested too deeply") from error


def _reject_constant(name: str) -> float:
    raise _InvalidTrace(f"The labels contain {name}; numbers must be finite.")


def _read_array(packed: zipfile.ZipFile, info: zipfile.ZipInfo, name: str, ndim: int) -> Array:
    """Read one array, after checking its .npy header against its size in the zip directory."""
    with packed.open(info) as file:
        version = np.lib.format.read_magic(file)
        if version != (1, 0):
            raise _InvalidTrace(f"The array {name} must have .npy format version 1.0.")
        shape, fortran, dtype = np.lib.format.read_array_header_1_0(file)
        plain = dtype == np.uint8 if name == HEADER else dtype.kind == "f" and dtype.itemsize <= 8
        if not plain or fortran or len(shape) != ndim or min(shape) < 1:
            raise _InvalidTrace(
                f"The array {name} has type {dtype} and shape {shape}; it must be floating-point "
                "with shape heads × rows × columns."
            )
        size = math.prod(shape) * dtype.itemsize
        if size != info.file_size - file.tell():
            raise _InvalidTrace(
                f"The header of array {name} declares {size:,} bytes, but the file has "
                f"{info.file_size - file.tell():,}."
            )
        content = file.read(size)
    array = np.frombuffer(content, dtype=dtype).reshape(shape)
    return array if name == HEADER else array.astype(np.float32)


def _build_trace(header: dict[str, Any], arrays: dict[str, Array]) -> Trace:
    """Build the trace like `Trace._of`, after checking every value that the explorer uses."""
    try:
        trace = Trace._from_parts(header, {})
        for name in ("src_tokens", "tgt_tokens", "predicted_tokens"):
            _check_labels(name, getattr(trace, name))
        config = _check_config(header["config"])
        _check_translation(trace)
    except _InvalidTrace:
        raise
    except (*READ_ERRORS, IndexError, OverflowError) as error:
        raise ValueError("The labels of this file are not those of a trace.") from error
    n_heads = config["n_heads"]
    weights_by_kind: dict[str, Any] = {
        kind: [arrays.get(pattern.format(layer)) for layer in range(layers_of(config, kind))]
        for kind, pattern in WEIGHTS.items()
        if any(_KIND_AND_PART[name] == (kind, "weights") for name in arrays)
    }
    fields = trace_fields(
        trace.src_tokens,
        trace.tgt_tokens,
        trace.predicted_tokens,
        weights_by_kind,
        trace.source,
        trace.text,
    )
    if fields["config"]["n_heads"] != n_heads:
        raise _InvalidTrace(
            f"The weights have {fields['config']['n_heads']} heads, but the labels say {n_heads}."
        )
    lengths = {"encoder": (len(trace.src_tokens),) * 2, "decoder": (len(trace.tgt_tokens),) * 2}
    lengths["cross"] = (len(trace.tgt_tokens), len(trace.src_tokens))
    for name, array in arrays.items():
        _check_array(
            name, array, n_heads, config["d_model"] // n_heads, *lengths[_KIND_AND_PART[name][0]]
        )
    return replace(
        trace,
        **{name: fields[name] for name in ("src_ids", "tgt_ids", "predicted_ids")},
        config=config,
        tensors={name: array[None] for name, array in arrays.items()},
    )


def _check_labels(name: str, tokens: tuple[Any, ...]) -> None:
    if len(tokens) > MAX_TOKENS:
        raise _InvalidTrace(f"There are {len(tokens):,} {name}; the limit is {MAX_TOKENS:,}.")
    if not all(isinstance(token, str) and len(token) <= MAX_TOKEN_CHARACTERS for token in tokens):
        raise _InvalidTrace(
            f"The {name} must be strings of at most {MAX_TOKEN_CHARACTERS} characters each."
        )
    if any("\ud800" <= character <= "\udfff" for token in tokens for character in token):
        raise _InvalidTrace(f"The {name} contain a lone surrogate, which cannot be displayed.")


def _check_config(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that the explorer reads, after checking them."""
    bounds = {"n_layers": (1, MAX_LAYERS), "n_heads": (1, MAX_HEADS), "d_model": (0, 2**20)}
    for name, (low, high) in bounds.items():
        if type(config[name]) is not int or not low <= config[name] <= high:
            raise _InvalidTrace(f"The {name} must be a whole number from {low} to {high:,}.")
    checked_config = {name: config[name] for name in bounds}
    checked_config["score"] = config["score"] if config["score"] in get_args(Score) else ""
    if "depths" in config:
        checked_config["depths"] = _check_depths(config["depths"], config["n_layers"])
    return checked_config


def _check_depths(depths: Any, n_layers: int) -> dict[str, int]:
    """Check the number of layers of each kind of attention, stored if they differ."""
    if not (
        isinstance(depths, dict)
        and depths.keys() <= WEIGHTS.keys()
        and all(type(depth) is int and 1 <= depth <= n_layers for depth in depths.values())
    ):
        raise _InvalidTrace(
            f"The depths must map kinds of attention to 1 to {n_layers} layers each."
        )
    return depths


def _check_translation(trace: Trace) -> None:
    """Check the decoding steps: no more than rows, valid probabilities, a tree without cycles."""
    translation: Any = trace.translation  # untrusted: its types are checked below
    table, chosen = translation.table, list(translation.table.chosen)
    probabilities = [*chain([value.probability for value in chosen], *table.probabilities)]
    tokens = [*chain([value.token for value in chosen], *table.tokens)]
    ids = [*chain([value.id for value in chosen], *table.ids)]
    tree = translation.tree
    nodes = () if tree is None else tree.nodes
    valid = (
        isinstance(translation.source, str)
        and isinstance(translation.text, str)
        and max(len(translation.source), len(translation.text)) <= MAX_TOKENS * MAX_TOKEN_CHARACTERS
        and len(chosen) <= len(trace.predicted_tokens)
        and all(isinstance(token, str) and len(token) <= MAX_TOKEN_CHARACTERS for token in tokens)
        and all(type(value) is int for value in ids)
        and all(isinstance(value, int | float) and 0 <= value <= 1.0001 for value in probabilities)
        and (tree is None or type(tree.beam_size) is int)
        and (tree is None or isinstance(tree.length_penalty, int | float))
        and len(nodes) <= MAX_TOKENS * 16
        and all(_is_node(number, node) for number, node in enumerate(nodes))
    )
    if not valid:
        raise _InvalidTrace("The decoding steps in this file are invalid.")


def _is_node(number: int, node: Any) -> bool:
    parent_is_valid = node.parent is None if number == 0 else type(node.parent) is int
    numbers = (node.probability, node.log_probability, node.score)
    return (
        parent_is_valid
        and (number == 0 or 0 <= node.parent < number)
        and type(node.depth) is int
        and type(node.id) is int
        and isinstance(node.token, str)
        and len(node.token) <= MAX_TOKEN_CHARACTERS
        and all(isinstance(value, int | float) and math.isfinite(value) for value in numbers)
        and node.status in ("kept", "finished", "discarded")
        and isinstance(node.best, bool)
    )


def _check_array(name: str, array: Array, heads: int, d_k: int, rows: int, columns: int) -> None:
    """Raise ValueError for a shape that does not match the tokens or heads, or values that are not
    finite."""
    part = _KIND_AND_PART[name][1]
    expected_shape = {"key": (heads, columns, d_k), "value": (heads, columns, d_k)}.get(
        part, (heads, rows, columns if part in ("scores", "weights") else d_k)
    )
    if array.shape != expected_shape:
        raise _InvalidTrace(
            f"The array {name} has shape {array.shape}; its tokens need {expected_shape}."
        )
    if not np.isfinite(array).all():
        raise _InvalidTrace(f"The array {name} contains infinity or NaN.")
