"""A trace file from a stranger: sizes are checked before anything is unpacked, then the content."""

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
from transformer.inference.given_weights import trace_parts
from transformer.inference.trace import WEIGHTS, Trace
from transformer.inference.trace_files import HEADER, UNREADABLE, Array, checked
from transformer.measures.registry import SITES, VECTORS, layers_of

FILE_BYTES = 5_000_000
"""Of a file, packed: as much as the server takes of any upload."""
ARRAY_BYTES = 64_000_000
"""Of weights and vectors, unpacked; the other arrays of a file are never unpacked."""
HEADER_BYTES = 4_000_000
MOST_ARRAYS, MOST_TOKENS, MOST_LAYERS, MOST_HEADS = 4096, 1024, 64, 128
LETTERS = 200
"""Of one token, at most."""
_ENTRY = b"PK\x01\x02"  # before each file in a zip's directory
_NAME = re.compile(r"[a-z0-9_]+(\.[a-z0-9_]+)*\.npy")
_READ = {
    f"{site}hook_{what}": (kind, what)
    for kind, every in SITES.items()
    for layer in range(MOST_LAYERS)
    for site in [every.format(layer)]
    for what in ("weights", *VECTORS)
}


_ODD = RuntimeError, NotImplementedError, MemoryError, SyntaxError, RecursionError, TokenError
"""What zipfile raises for an encrypted part, and numpy for an array's header that is no Python."""


class _Refused(ValueError):
    """A sentence for the visitor already; what numpy and zlib say is put into one."""


def open_trace(content: bytes) -> Trace:
    """The attention of a file that `Trace.save_npz` made, with the vectors of its heads if it has
    them, and no other array.

    Raises:
        ValueError: in one sentence, for a file that is none, is too large, or whose arrays do not
            fit its tokens, are no numbers, or do not sum to 1.
    """
    if len(content) > FILE_BYTES:
        raise _Refused(
            f"The file has {len(content):,} bytes; a trace to look at has at most {FILE_BYTES:,}."
        )
    if (count := content.count(_ENTRY)) > MOST_ARRAYS:
        raise _Refused(f"The file holds {count:,} arrays; a trace has at most {MOST_ARRAYS:,}.")
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as packed:
            infos = _listed(packed)
            header = _header(packed, infos)
            arrays = {name: _array(packed, infos[name], name, 3) for name in infos if name in _READ}
    except _Refused:
        raise
    except (*UNREADABLE, *_ODD) as error:
        raise ValueError(
            "This is no trace: it must be an .npz file that Trace.save_npz or the button "
            "“Every number (.npz)” made, whole."
        ) from error
    return _trace(header, arrays)


def _listed(packed: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    """Every array by its name, from the zip's directory alone."""
    found: dict[str, zipfile.ZipInfo] = {}
    for info in packed.infolist():
        name = info.filename
        if not _NAME.fullmatch(name) or name.removesuffix(".npy") in found:
            raise _Refused(
                f"The file holds {name[:60]!r}; a trace holds each array once, by the name of its "
                "place in the model."
            )
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise _Refused(f"The part {name} is packed in another way than numpy packs.")
        found[name.removesuffix(".npy")] = info
    read = sum(info.file_size for name, info in found.items() if name in _READ)
    if read > ARRAY_BYTES:
        raise _Refused(
            f"The weights and vectors take {read:,} bytes unpacked; at most {ARRAY_BYTES:,} are "
            "looked at here, so record fewer sites or a shorter text."
        )
    return found


def _header(packed: zipfile.ZipFile, infos: Mapping[str, zipfile.ZipInfo]) -> dict[str, Any]:
    size = infos[HEADER].file_size
    if size > HEADER_BYTES:
        raise _Refused(
            f"The labels take {size:,} bytes; those of a trace take at most {HEADER_BYTES:,}."
        )
    text = _array(packed, infos[HEADER], HEADER, 1).tobytes().decode()
    try:
        return checked(json.loads(text, parse_constant=_no_number), "the file")
    except RecursionError as error:
        raise ValueError("nested too deep") from error


def _no_number(name: str) -> float:
    raise _Refused(f"The labels hold {name}, which is no number.")


def _array(packed: zipfile.ZipFile, info: zipfile.ZipInfo, name: str, ndim: int) -> Array:
    """One array, after its own header has been held against its size in the zip's directory."""
    with packed.open(info) as file:
        version = np.lib.format.read_magic(file)
        if version != (1, 0):
            raise _Refused(f"The array {name} is written in another form of .npy than 1.0.")
        shape, fortran, dtype = np.lib.format.read_array_header_1_0(file)
        plain = dtype == np.uint8 if name == HEADER else dtype.kind == "f" and dtype.itemsize <= 8
        if not plain or fortran or len(shape) != ndim or min(shape) < 1:
            raise _Refused(
                f"The array {name} is {dtype} of shape {shape}; it must hold plain numbers with a "
                "point, heads × rows × columns."
            )
        size = math.prod(shape) * dtype.itemsize
        if size != info.file_size - file.tell():
            raise _Refused(
                f"The array {name} says that it takes {size:,} bytes, and has "
                f"{info.file_size - file.tell():,}."
            )
        raw = file.read(size)
    found = np.frombuffer(raw, dtype=dtype).reshape(shape)
    return found if name == HEADER else found.astype(np.float32)


def _trace(header: dict[str, Any], arrays: dict[str, Array]) -> Trace:
    """As `Trace._of`, of what can be relied on only."""
    try:
        trace = Trace._of(header, {})
        for name in ("src_tokens", "tgt_tokens", "predicted_tokens"):
            _labels(name, getattr(trace, name))
        config = _config(header["config"])
        _history(trace)
    except _Refused:
        raise
    except (*UNREADABLE, IndexError, OverflowError) as error:
        raise ValueError("The labels of this file are not those of a trace of ours.") from error
    n_heads = config["n_heads"]
    given = {
        kind: [arrays.get(place.format(layer)) for layer in range(layers_of(config, kind))]
        for kind, place in WEIGHTS.items()
        if any(_READ[name] == (kind, "weights") for name in arrays)
    }
    parts = trace_parts(
        trace.src_tokens, trace.tgt_tokens, trace.predicted_tokens, given, trace.source, trace.text
    )
    if parts["config"]["n_heads"] != n_heads:
        raise _Refused(
            f"The weights are of {parts['config']['n_heads']} heads, and the labels say {n_heads}."
        )
    lengths = {"encoder": (len(trace.src_tokens),) * 2, "decoder": (len(trace.tgt_tokens),) * 2}
    lengths["cross"] = (len(trace.tgt_tokens), len(trace.src_tokens))
    for name, array in arrays.items():
        _fits(name, array, n_heads, config["d_model"] // n_heads, *lengths[_READ[name][0]])
    return replace(
        trace,
        **{name: parts[name] for name in ("src_ids", "tgt_ids", "predicted_ids")},
        config=config,
        tensors={name: array[None] for name, array in arrays.items()},
    )


def _labels(name: str, tokens: tuple[Any, ...]) -> None:
    if len(tokens) > MOST_TOKENS:
        raise _Refused(f"The {name} are {len(tokens):,}; at most {MOST_TOKENS:,} are drawn.")
    if not all(isinstance(token, str) and len(token) <= LETTERS for token in tokens):
        raise _Refused(f"The {name} must be texts of at most {LETTERS} letters each.")
    if any("\ud800" <= sign <= "\udfff" for token in tokens for sign in token):
        raise _Refused(f"The {name} hold half a sign, which nobody can draw.")


def _config(given: Mapping[str, Any]) -> dict[str, Any]:
    """What the explorer asks of a model."""
    bounds = {"n_layers": (1, MOST_LAYERS), "n_heads": (1, MOST_HEADS), "d_model": (0, 2**20)}
    for name, (low, high) in bounds.items():
        if type(given[name]) is not int or not low <= given[name] <= high:
            raise _Refused(f"The {name} must be a whole number from {low} to {high:,}.")
    found = {name: given[name] for name in bounds}
    found["score"] = given["score"] if given["score"] in get_args(Score) else ""
    if "depths" in given:
        found["depths"] = _depths(given["depths"], given["n_layers"])
    return found


def _depths(given: Any, n_layers: int) -> dict[str, int]:
    """How many layers each kind has, where they are unequal."""
    if not (
        isinstance(given, dict)
        and given.keys() <= WEIGHTS.keys()
        and all(type(depth) is int and 1 <= depth <= n_layers for depth in given.values())
    ):
        raise _Refused(f"The depths must name kinds, each with 1 to {n_layers} layers.")
    return given


def _history(trace: Trace) -> None:
    """How the text was written: steps within the rows, probabilities, a tree without circles."""
    done: Any = trace.translation  # of a stranger's making: its types are yet to be seen
    table, taken = done.table, list(done.table.chosen)
    shares = [*chain([one.probability for one in taken], *table.probabilities)]
    tokens = [*chain([one.token for one in taken], *table.tokens)]
    ids = [*chain([one.id for one in taken], *table.ids)]
    tree = done.tree
    nodes = () if tree is None else tree.nodes
    good = (
        isinstance(done.source, str)
        and isinstance(done.text, str)
        and max(len(done.source), len(done.text)) <= MOST_TOKENS * LETTERS
        and len(taken) <= len(trace.predicted_tokens)
        and all(isinstance(token, str) and len(token) <= LETTERS for token in tokens)
        and all(type(one) is int for one in ids)
        and all(isinstance(one, int | float) and 0 <= one <= 1.0001 for one in shares)
        and (tree is None or type(tree.beam_size) is int)
        and (tree is None or isinstance(tree.length_penalty, int | float))
        and len(nodes) <= MOST_TOKENS * 16
        and all(_is_node(number, node) for number, node in enumerate(nodes))
    )
    if not good:
        raise _Refused("The steps in this file are not those of a translation.")


def _is_node(number: int, node: Any) -> bool:
    parent = node.parent is None if number == 0 else type(node.parent) is int
    numbers = (node.probability, node.log_probability, node.score)
    return (
        parent
        and (number == 0 or 0 <= node.parent < number)
        and type(node.depth) is int
        and type(node.id) is int
        and isinstance(node.token, str)
        and len(node.token) <= LETTERS
        and all(isinstance(one, int | float) and math.isfinite(one) for one in numbers)
        and node.status in ("kept", "finished", "discarded")
        and isinstance(node.best, bool)
    )


def _fits(name: str, array: Array, heads: int, d_k: int, rows: int, columns: int) -> None:
    """Raises ValueError for vectors of other tokens or heads, or with what is no number."""
    what = _READ[name][1]
    wanted = {"key": (heads, columns, d_k), "value": (heads, columns, d_k)}.get(
        what, (heads, rows, columns if what in ("scores", "weights") else d_k)
    )
    if array.shape != wanted:
        raise _Refused(f"The array {name} is of shape {array.shape}; its tokens need {wanted}.")
    if not np.isfinite(array).all():
        raise _Refused(f"The array {name} holds what is no number.")
