"""A corrupt checkpoint gives a one-sentence error with both sizes; no pickle is loaded."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import shutil
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.checkpoint.models import (
    Corruption,
    edited,
    edited_weights,
    files,
    tiny_transformer,
    truncated,
    without,
)
from tests.hostile import check_message, corrupt_bytes, corrupt_json
from transformer.checkpoint import (
    CheckpointError,
    check_checkpoint,
    checkpoint_hash,
    load_checkpoint,
    load_config,
    save_checkpoint,
)
from transformer.model import Transformer
from transformer.text import Vocabulary

edit_config = partial(edited, "config.json")


def write(name: str, content: str) -> Corruption:
    return lambda folder: (folder / name).write_text(content)


FFN = "decoder.layers.0.ffn.w_1.bias"
CORRUPTIONS: dict[str, tuple[Corruption, tuple[str, ...]]] = {
    "a Marian model": (
        write("config.json", '{"model_type": "marian"}'),
        ("of type 'marian'; make a checkpoint of it", "transformer import FOLDER OUT"),
    ),
    "config cut off": (write("config.json", '{"format": 1, "vocab'), ("is truncated or not JSON",)),
    "config a list": (write("config.json", "[1]"), ("must contain a JSON object, not list",)),
    "config of another format": (edit_config(format=7), ("format 7", "reads format 1")),
    "unknown field": (edit_config(d_modle=8), ("no field 'd_modle'", "did you mean 'd_model'")),
    "value out of range": (
        edit_config(dropout=2),
        ("dropout must be at least 0 and below 1, not 2",),
    ),
    "heads that do not divide": (edit_config(n_heads=3), ("d_model 16", "n_heads 3")),
    "vocabulary of another size": (edit_config(vocab_size=321), ("321 pieces", "320")),
    "another width": (edit_config(d_model=32), ("has shape (320, 16)", "asks for (320, 32)")),
    "another depth": (edit_config(n_layers=2), ("25 tensors where the config asks for 49",)),
    "vocabulary cut off": (truncated("vocabulary.model", 99), ("vocabulary.model", "99 bytes")),
    "weights of another kind": (write("model.safetensors", "no weights"), ("(10 bytes) is cut",)),
    "weights missing": (
        edited_weights(lambda t: t.pop(FFN)),
        ("24 tensors where the config asks for 25", f"{FFN} is missing"),
    ),
    "weights too many": (
        edited_weights(lambda t: t.update(extra=torch.zeros(1))),
        ("26 tensors where the config asks for 25", "extra is not in the model"),
    ),
    "weights of another shape": (
        edited_weights(lambda t: t.update({FFN: torch.zeros(23)})),
        (FFN, "has shape (23,)", "asks for (24,)"),
    ),
    "NaN": (
        edited_weights(lambda t: t[FFN][3:5].fill_(float("nan"))),
        (f"2 of the 24 numbers of {FFN} are not finite",),
    ),
    "20,000 layers": (edit_config(n_layers=20_000), ("25 tensors where", "20,000 layers")),
    "a huge d_ff": (edit_config(d_ff=4_000_000), ("has shape (24,", "asks for (4000000,")),
    "a huge max_len": (edit_config(max_len=10**12), ("max_len must be at most 10,000,000",)),
    "deep JSON": (write("config.json", "[" * 200_000), ("config.json",)),
    "weights of bools": (
        edited_weights(lambda t: t.update({FFN: torch.zeros(24, dtype=torch.bool)})),
        (f"{FFN} is of type BOOL; weights are F32, F16, BF16, F64",),
    ),
    "no config": (
        without("config.json"),
        ("has no config.json", "it contains README.md, model.saf"),
    ),
    "no vocabulary": (without("vocabulary.model"), ("has no vocabulary.model",)),
    "no weights": (without("model.safetensors"), ("has no model.safetensors",)),
    "no folder": (lambda folder: shutil.rmtree(folder), ("there is no checkpoint folder",)),
}


@pytest.mark.parametrize("case", CORRUPTIONS)
def test_a_corrupt_checkpoint_gives_a_one_sentence_error(case: str, folder: Path) -> None:
    corrupt, expected = CORRUPTIONS[case]
    corrupt(folder)
    with pytest.raises(CheckpointError) as caught:
        load_checkpoint(folder)
    message = str(caught.value)
    assert str(folder) in message
    assert "\n" not in message
    for part in expected:
        assert part in message


@pytest.mark.parametrize("fraction", [0.0, 0.001, 0.1, 0.5, 0.999])
def test_truncated_weights_are_reported_with_their_size(fraction: float, folder: Path) -> None:
    path = folder / "model.safetensors"
    size = min(int(fraction * path.stat().st_size), path.stat().st_size - 1)
    os.truncate(path, size)
    with pytest.raises(CheckpointError, match=rf"\({size} bytes\) is cut off or is not a safe"):
        load_checkpoint(folder)


@pytest.mark.parametrize("name", ["model.safetensors", "vocabulary.model"])
@pytest.mark.parametrize("fraction", [0.3, 0.6, 0.999])
def test_a_flipped_bit_is_reported_with_both_checksums(
    name: str, fraction: float, folder: Path
) -> None:
    path = folder / name
    content = bytearray(path.read_bytes())
    expected = hashlib.sha256(content).hexdigest()
    content[int(fraction * len(content))] ^= 1
    path.write_bytes(content)
    actual = hashlib.sha256(content).hexdigest()
    with pytest.raises(CheckpointError) as caught:
        load_checkpoint(folder)
    damaged = (
        f"{name} is damaged: its SHA-256 is {actual}, and model.safetensors.sha256 has {expected}"
    )
    if name == "model.safetensors" or "damaged" in str(caught.value):
        assert damaged in str(caught.value)
        (folder / "model.safetensors.sha256").unlink()
        load_checkpoint(folder)  # as a folder that another program has written


def test_a_file_is_not_a_checkpoint(
    tmp_path: Path, model: Transformer, vocabulary: Vocabulary
) -> None:
    path = tmp_path / "model.bin"
    path.write_text("mine")
    for function in (load_checkpoint, load_config, checkpoint_hash):
        with pytest.raises(CheckpointError, match=r"model\.bin is a file; a checkpoint is a fold"):
            function(path)
    with pytest.raises(CheckpointError, match=r"model\.bin is a file"):
        save_checkpoint(path, model, vocabulary, "")
    assert path.read_text() == "mine"


class Trap:
    """Unpickling it would create a file."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[Callable[..., object], tuple[str]]:
        return os.mkdir, (str(self.marker),)


@pytest.mark.parametrize("name", ["model.pt", "pytorch_model.bin", "model.safetensors"])
def test_a_pickle_is_never_loaded(name: str, tmp_path: Path, folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    (folder / name).write_bytes(pickle.dumps(Trap(tmp_path / "marker")))
    with pytest.raises(CheckpointError, match=r"has no model\.safetensors|not a safetensors file"):
        load_checkpoint(folder)
    assert not (tmp_path / "marker").exists()
    pickle.loads((folder / name).read_bytes())
    assert (tmp_path / "marker").exists()  # the trap works


def test_a_huge_config_allocates_no_memory(folder: Path) -> None:
    """Its sizes are rejected before memory is allocated for them."""
    edit_config(d_ff=10_000_000)(folder)
    start = time.process_time()
    with pytest.raises(CheckpointError, match="asks for"):
        load_checkpoint(folder)
    with pytest.raises(CheckpointError, match="asks for"):
        check_checkpoint(folder)
    assert time.process_time() - start < 2


@pytest.fixture(scope="module")
def valid_files(
    vocabulary: Vocabulary, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("valid") / "model"
    save_checkpoint(folder, tiny_transformer(len(vocabulary)), vocabulary, "# Card\n")
    return files(folder)


@given(data=st.data())
def test_a_corrupt_folder_is_valid_or_refused(
    data: st.DataObject, valid_files: dict[str, bytes], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("corrupt")
    corrupt = data.draw(st.sampled_from(("config.json", "model.safetensors", "vocabulary.model")))
    content = data.draw(corrupt_bytes(valid_files[corrupt]))
    if corrupt == "config.json" and data.draw(st.booleans()):
        content = data.draw(corrupt_json(json.loads(valid_files[corrupt]))).encode()
    for name, valid_content in valid_files.items():
        (folder / name).write_bytes(content if name == corrupt else valid_content)
    try:
        check_checkpoint(folder)
    except CheckpointError as error:
        check_message(error)
