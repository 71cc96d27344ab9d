"""Untrusted trace files: contents are checked, and arrays that are not needed are not unpacked."""

from __future__ import annotations

import io
import json
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from transformer import Trace, Translator
from transformer.inference import untrusted_trace
from transformer.inference.trace_files import HEADER
from transformer.inference.untrusted_trace import open_trace

CONFIG = {"n_layers": 2, "n_heads": 4, "d_model": 8, "score": ""}
CROSS = "decoder.layers.1.cross_attn.hook_weights"
Entries = dict[str, Any]


@pytest.fixture(scope="module")
def trace(checkpoints: Path) -> Trace:
    translator = Translator.load(checkpoints / "tiny", device="cpu")
    return translator.trace("She hides books.", method="beam", beam_size=3)


def npz_bytes(trace: Trace, path: Path) -> bytes:
    trace.save_npz(path / "t.npz")
    return (path / "t.npz").read_bytes()


def with_edits(content: bytes, change: Callable[[Entries, Entries], object]) -> bytes:
    """Return the file with a changed header and changed arrays."""
    with np.load(io.BytesIO(content)) as stored:
        arrays: Entries = {name: stored[name] for name in stored.files}
    header = json.loads(arrays.pop(HEADER).tobytes())
    change(header, arrays)
    text = np.frombuffer(json.dumps(header).encode(), np.uint8)
    out = io.BytesIO()
    np.savez_compressed(out, **{HEADER: text, **arrays})
    return out.getvalue()


def test_weights_vectors_and_steps_are_loaded(trace: Trace, tmp_path: Path) -> None:
    loaded = open_trace(npz_bytes(trace, tmp_path))
    for kind in ("encoder", "decoder", "cross"):
        for layer in range(trace.n_layers):
            np.testing.assert_array_equal(loaded.weights(kind, layer), trace.weights(kind, layer))
    name = "encoder.layers.0.self_attn.hook_query"
    np.testing.assert_array_equal(loaded[name], trace[name])
    assert loaded.translation == trace.translation
    assert (loaded.src_tokens, loaded.predicted_tokens) == (
        trace.src_tokens,
        trace.predicted_tokens,
    )
    assert "hook_logits" in trace
    assert "hook_logits" not in loaded  # never unpacked


def test_kinds_of_unequal_depth_are_loaded(tmp_path: Path) -> None:
    rows = list(np.random.default_rng(5).dirichlet(np.ones(3), size=(3, 2, 3)))
    original = Trace.from_weights(["a", "b", "c"], ["d", "e", "f"], encoder=rows, cross=rows[:1])
    loaded = open_trace(npz_bytes(original, tmp_path))
    assert (loaded.depth("encoder"), loaded.depth("cross")) == (3, 1)
    np.testing.assert_allclose(loaded.weights("encoder", 2), rows[2], rtol=1e-6)


def array_with(name: str, value: Callable[[Any], Any]) -> Callable[[Entries, Entries], object]:
    """Return a change to one array."""
    return lambda header, arrays: arrays.update({name: value(arrays[name])})


def header_with(**values: Any) -> Callable[[Entries, Entries], object]:
    """Return a change to fields of the header."""
    return lambda header, arrays: header.update(values)


def translation_with(change: Callable[[Entries], object]) -> Callable[[Entries, Entries], object]:
    """Return a change to the translation in the header."""
    return lambda header, arrays: change(header["translation"])


INVALID_CONTENT: dict[str, tuple[Callable[[Entries, Entries], object], str]] = {
    "objects": (array_with(CROSS, lambda x: x.astype(object)), "must be floating-point"),
    "whole numbers": (array_with(CROSS, lambda x: x.astype(int)), "must be floating-point"),
    "no heads": (array_with(CROSS, lambda x: x[0]), "must be floating-point"),
    "too few columns": (array_with(CROSS, lambda x: x[:, :, :-1]), "its tokens"),
    "too few heads": (array_with(CROSS, lambda x: x[:-1]), "heads"),
    "NaN": (array_with(CROSS, lambda x: x * np.nan), "infinite or NaN"),
    "rows that do not sum to one": (array_with(CROSS, lambda x: x * 0.5), "sums to 0.500"),
    "negative": (array_with(CROSS, lambda x: -x), "negative"),
    "missing layer": (lambda header, arrays: arrays.pop(CROSS), "no weights"),
    "too few keys": (
        array_with("encoder.layers.0.self_attn.hook_key", lambda x: x[:, :-1]),
        "its tokens need",
    ),
    "infinite keys": (
        array_with("encoder.layers.0.self_attn.hook_key", lambda x: x * np.inf),
        "infinity or NaN",
    ),
    "another format": (header_with(format=7), "Trace.save_npz"),
    "no labels": (header_with(src_tokens=None), "labels"),
    "numbers for labels": (header_with(src_tokens=[1, 2]), "strings"),
    "long labels": (header_with(src_tokens=["x" * 201]), "200 characters"),
    "a lone surrogate": (header_with(src_tokens=["\ud800", "b", "c"]), "lone surrogate"),
    "many labels": (header_with(src_tokens=["x"] * 2000), "2,000"),
    "config": (header_with(config={**CONFIG, "n_layers": 10**9}), "64"),
    "depths": (
        header_with(config={**CONFIG, "depths": {"cross": 3}}),
        "to 1 to 2 layers each",
    ),
    "heads": (header_with(config={**CONFIG, "n_heads": 0}), "n_heads"),
    "no config": (header_with(config=None), "labels"),
    "no translation": (header_with(translation=[]), "labels"),
    "NaN in the labels": (
        translation_with(lambda fields: fields.update(score=float("nan"))), "NaN"
    ),
    "source": (translation_with(lambda fields: fields.update(source=5)), "steps"),
    "probability": (
        translation_with(lambda fields: fields["steps"][0]["chosen"].update(probability=5)), "steps"
    ),
    "more steps than rows": (
        translation_with(lambda fields: fields.update(steps=fields["steps"] * 40)), "steps"
    ),
    "a cycle in the tree": (
        translation_with(lambda fields: fields["tree"]["nodes"][1].update(parent=1)), "steps"
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", INVALID_CONTENT)
def test_invalid_content_is_refused_in_one_sentence(
    case: str, trace: Trace, tmp_path: Path
) -> None:
    change, message = INVALID_CONTENT[case]
    with pytest.raises(ValueError, match=message) as error:
        open_trace(with_edits(npz_bytes(trace, tmp_path), change))
    assert "\n" not in str(error.value)


def test_truncated_files_are_refused(trace: Trace, tmp_path: Path) -> None:
    content = npz_bytes(trace, tmp_path)
    for end in (len(content) // 2, len(content) - 1):
        with pytest.raises(ValueError, match="This is not a complete trace"):
            open_trace(content[:end])


def zip_bytes(members: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        for name, raw in members.items():
            file.writestr(name, raw)
    return out.getvalue()


@pytest.mark.parametrize(
    "name", ["../../x.npy", "/etc/passwd", "a/b.npy", "a\\b.npy", "..npy", "x.pkl"]
)
def test_members_named_as_paths_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="named after a hook point"):
        open_trace(zip_bytes({name: b"x"}))


@pytest.mark.parametrize("text", ["(" * 200, "{" * 200, "-" * 500 + "1", "'\\x"])
def test_an_unparsable_array_header_is_refused(text: str) -> None:
    """numpy parses an array's header as Python; its own errors must not be shown."""
    header = text.encode()
    raw = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header
    with pytest.raises(ValueError, match="This is not a complete trace"):
        open_trace(zip_bytes({f"{HEADER}.npy": raw}))


@pytest.mark.parametrize("compression", [zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_other_compressions_are_refused(compression: int) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as file:
        file.writestr(f"{HEADER}.npy", b"x" * 100)
    with pytest.raises(ValueError, match="another compression"):
        open_trace(out.getvalue())


def zip_bomb(name: str, size: int, shape: tuple[int, ...] | None = None) -> bytes:
    array_header = io.BytesIO()
    dtype = np.dtype(np.uint8 if name == HEADER else np.float32)
    header_fields: Any = {
        "descr": dtype.str,
        "fortran_order": False,
        "shape": shape or (1, 1, size),
    }
    np.lib.format.write_array_header_1_0(array_header, header_fields)
    return zip_bytes({f"{name}.npy": array_header.getvalue() + bytes(size)})


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (zip_bomb(CROSS, untrusted_trace.MAX_ARRAY_BYTES + 1), "the limit is 64,000,000"),
        (zip_bomb(HEADER, untrusted_trace.MAX_HEADER_BYTES + 1), "the limit is 4,000,000"),
        (zip_bomb(HEADER, 10, (10**12,)), "declares 1,000,000,000,000 bytes"),
        (zip_bytes({f"a{n}.npy": b"" for n in range(5000)}), "5,000 arrays"),
        (bytes(untrusted_trace.MAX_FILE_BYTES + 1), "5,000,001 bytes"),
    ],
    ids=["weights", "labels", "npy header", "entries", "file"],
)
def test_zip_bombs_are_refused_before_unpacking(content: bytes, message: str) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=message):
            open_trace(content)
        assert tracemalloc.get_traced_memory()[1] < 3_000_000
    finally:
        tracemalloc.stop()
