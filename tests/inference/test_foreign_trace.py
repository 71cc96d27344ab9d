"""A stranger's trace file: what it holds is what is read, and nothing else is unpacked."""

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
from transformer.inference import foreign_trace
from transformer.inference.foreign_trace import open_trace
from transformer.inference.trace_files import HEADER

SMALL = {"n_layers": 2, "n_heads": 4, "d_model": 8, "score": ""}
CROSS = "decoder.layers.1.cross_attn.hook_weights"
Parts = dict[str, Any]


@pytest.fixture(scope="module")
def trace(checkpoints: Path) -> Trace:
    translator = Translator.load(checkpoints / "tiny", device="cpu")
    return translator.trace("She hides books.", method="beam", beam_size=3)


def packed(trace: Trace, path: Path) -> bytes:
    trace.save_npz(path / "t.npz")
    return (path / "t.npz").read_bytes()


def changed(content: bytes, change: Callable[[Parts, Parts], object]) -> bytes:
    """The file with its header and arrays changed by hand."""
    with np.load(io.BytesIO(content)) as stored:
        arrays: Parts = {name: stored[name] for name in stored.files}
    header = json.loads(arrays.pop(HEADER).tobytes())
    change(header, arrays)
    text = np.frombuffer(json.dumps(header).encode(), np.uint8)
    out = io.BytesIO()
    np.savez_compressed(out, **{HEADER: text, **arrays})
    return out.getvalue()


def test_what_was_saved_comes_back_with_its_weights_vectors_and_steps(
    trace: Trace, tmp_path: Path
) -> None:
    found = open_trace(packed(trace, tmp_path))
    for kind in ("encoder", "decoder", "cross"):
        for layer in range(trace.n_layers):
            np.testing.assert_array_equal(found.weights(kind, layer), trace.weights(kind, layer))
    name = "encoder.layers.0.self_attn.hook_query"
    np.testing.assert_array_equal(found[name], trace[name])
    assert found.translation == trace.translation
    assert (found.src_tokens, found.predicted_tokens) == (trace.src_tokens, trace.predicted_tokens)
    assert "hook_logits" in trace
    assert "hook_logits" not in found  # never unpacked


def test_attention_of_another_model_comes_back(tmp_path: Path) -> None:
    weights = list(np.random.default_rng(5).dirichlet(np.ones(3), size=(2, 2, 3)))
    given = Trace.from_weights(["a", "b", "<b>"], encoder=weights)
    found = open_trace(packed(given, tmp_path))
    np.testing.assert_allclose(found.weights("encoder", 1), weights[1], rtol=1e-6)
    assert found.src_tokens == given.src_tokens


def test_kinds_of_unequal_depth_come_back(tmp_path: Path) -> None:
    rows = list(np.random.default_rng(5).dirichlet(np.ones(3), size=(3, 2, 3)))
    given = Trace.from_weights(["a", "b", "c"], ["d", "e", "f"], encoder=rows, cross=rows[:1])
    found = open_trace(packed(given, tmp_path))
    assert (found.depth("encoder"), found.depth("cross")) == (3, 1)
    np.testing.assert_allclose(found.weights("encoder", 2), rows[2], rtol=1e-6)


def put(name: str, value: Callable[[Any], Any]) -> Callable[[Parts, Parts], object]:
    return lambda header, arrays: arrays.update({name: value(arrays[name])})


def said(**values: Any) -> Callable[[Parts, Parts], object]:
    return lambda header, arrays: header.update(values)


def in_history(change: Callable[[Parts], object]) -> Callable[[Parts, Parts], object]:
    return lambda header, arrays: change(header["translation"])


REFUSED: dict[str, tuple[Callable[[Parts, Parts], object], str]] = {
    "objects": (put(CROSS, lambda x: x.astype(object)), "plain numbers"),
    "whole numbers": (put(CROSS, lambda x: x.astype(int)), "plain numbers"),
    "no heads": (put(CROSS, lambda x: x[0]), "plain numbers"),
    "too few columns": (put(CROSS, lambda x: x[:, :, :-1]), "its tokens"),
    "too few heads": (put(CROSS, lambda x: x[:-1]), "heads"),
    "no number": (put(CROSS, lambda x: x * np.nan), "no numbers"),
    "sums": (put(CROSS, lambda x: x * 0.5), "sums to 0.500"),
    "negative": (put(CROSS, lambda x: -x), "negative"),
    "a layer is gone": (lambda header, arrays: arrays.pop(CROSS), "no weights"),
    "vectors of other tokens": (
        put("encoder.layers.0.self_attn.hook_key", lambda x: x[:, :-1]),
        "its tokens need",
    ),
    "infinite vectors": (
        put("encoder.layers.0.self_attn.hook_key", lambda x: x * np.inf),
        "no number",
    ),
    "another format": (said(format=7), "Trace.save_npz"),
    "no labels": (said(src_tokens=None), "labels"),
    "numbers for labels": (said(src_tokens=[1, 2]), "texts"),
    "long labels": (said(src_tokens=["x" * 201]), "200 letters"),
    "half a sign": (said(src_tokens=["\ud800", "b", "c"]), "half a sign"),
    "many labels": (said(src_tokens=["x"] * 2000), "2,000"),
    "config": (said(config={"n_layers": 10**9, "n_heads": 4, "d_model": 8, "score": ""}), "64"),
    "depths": (
        said(config={**SMALL, "depths": {"cross": 3}}),
        "each with 1 to 2 layers",
    ),
    "heads": (said(config={"n_layers": 2, "n_heads": 0, "d_model": 8, "score": ""}), "n_heads"),
    "no config": (said(config=None), "labels"),
    "no translation": (said(translation=[]), "labels"),
    "NaN in the labels": (in_history(lambda done: done.update(score=float("nan"))), "NaN"),
    "source": (in_history(lambda done: done.update(source=5)), "steps"),
    "probability": (in_history(lambda done: done["steps"][0]["chosen"].update(probability=5)),
                    "steps"),
    "more steps than rows": (in_history(lambda done: done.update(steps=done["steps"] * 40)),
                             "steps"),
    "a circle in the tree": (in_history(lambda done: done["tree"]["nodes"][1].update(parent=1)),
                             "steps"),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_what_does_not_fit_is_refused_in_one_sentence(
    what: str, trace: Trace, tmp_path: Path
) -> None:
    change, why = REFUSED[what]
    with pytest.raises(ValueError, match=why) as refused:
        open_trace(changed(packed(trace, tmp_path), change))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("raw", [b"", b"PK", b"a,b\n1,2\n", b"\x93NUMPY\x01\x00" + b"\0" * 99])
def test_what_is_no_npz_is_refused(raw: bytes) -> None:
    with pytest.raises(ValueError, match="This is no trace"):
        open_trace(raw)


def test_half_a_file_is_refused(trace: Trace, tmp_path: Path) -> None:
    content = packed(trace, tmp_path)
    for end in (len(content) // 2, len(content) - 1):
        with pytest.raises(ValueError, match="This is no trace"):
            open_trace(content[:end])


def zipped(members: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        for name, raw in members.items():
            file.writestr(name, raw)
    return out.getvalue()


@pytest.mark.parametrize(
    "name", ["../../x.npy", "/etc/passwd", "a/b.npy", "a\\b.npy", "..npy", "x.pkl"]
)
def test_names_that_are_paths_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="by the name of its place"):
        open_trace(zipped({name: b"x"}))


@pytest.mark.parametrize("said", ["(" * 200, "{" * 200, "-" * 500 + "1", "'\\x"])
def test_a_header_that_is_no_python_is_refused(said: str) -> None:
    """numpy reads an array's header as Python; what is none may not end in numpy's own words."""
    header = said.encode()
    raw = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header
    with pytest.raises(ValueError, match="This is no trace"):
        open_trace(zipped({f"{HEADER}.npy": raw}))


@pytest.mark.parametrize("packing", [zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_what_numpy_does_not_pack_is_refused(packing: int) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", packing) as file:
        file.writestr(f"{HEADER}.npy", b"x" * 100)
    with pytest.raises(ValueError, match="packed in another way"):
        open_trace(out.getvalue())


def bomb(name: str, size: int, shape: tuple[int, ...] | None = None) -> bytes:
    head = io.BytesIO()
    dtype = np.dtype(np.uint8 if name == HEADER else np.float32)
    described: Any = {"descr": dtype.str, "fortran_order": False, "shape": shape or (1, 1, size)}
    np.lib.format.write_array_header_1_0(head, described)
    return zipped({f"{name}.npy": head.getvalue() + bytes(size)})


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (bomb(CROSS, foreign_trace.ARRAY_BYTES + 1), "at most 64,000,000"),
        (bomb(HEADER, foreign_trace.HEADER_BYTES + 1), "at most 4,000,000"),
        (bomb(HEADER, 10, (10**12,)), "says that it takes 1,000,000,000,000 bytes"),
        (zipped({f"a{n}.npy": b"" for n in range(5000)}), "5,000 arrays"),
        (bytes(foreign_trace.FILE_BYTES + 1), "5,000,001 bytes"),
    ],
    ids=["weights", "labels", "npy header", "entries", "file"],
)
def test_bombs_are_refused_before_memory_is_spent(content: bytes, why: str) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=why):
            open_trace(content)
        assert tracemalloc.get_traced_memory()[1] < 3_000_000
    finally:
        tracemalloc.stop()
