"""A checkpoint loads as it was saved; saving replaces it completely or leaves it unchanged."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import threading
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.checkpoint.models import files, tiny_transformer, weights
from transformer.app_folders import APP_FOLDER
from transformer.checkpoint import (
    CheckpointError,
    checkpoint_hash,
    load_checkpoint,
    load_languages,
    save_checkpoint,
)
from transformer.model import Transformer
from transformer.text import Vocabulary
from transformer.text.languages import front_matter


@pytest.mark.parametrize(
    "changes",
    [{}, {"score": "additive"}, {"positions": "learned", "max_len": 7}, {"positions": "none"}],
)
def test_float32_weights_are_saved_exactly(
    tmp_path: Path, vocabulary: Vocabulary, changes: dict[str, Any]
) -> None:
    model = tiny_transformer(len(vocabulary), **changes)
    save_checkpoint(tmp_path / "model", model, vocabulary, "")
    loaded, loaded_vocabulary = load_checkpoint(tmp_path / "model")
    assert loaded.config == model.config
    assert loaded_vocabulary.to_bytes() == vocabulary.to_bytes()
    assert not loaded.training
    assert not any(weight.requires_grad for weight in loaded.parameters())
    for name, weight in weights(model).items():
        assert torch.equal(loaded.get_parameter(name), weight), name


def test_float16_halves_the_file_and_rounds(
    tmp_path: Path, folder: Path, model: Transformer, vocabulary: Vocabulary
) -> None:
    save_checkpoint(tmp_path / "half", model, vocabulary, "", dtype=torch.float16)
    loaded, _ = load_checkpoint(tmp_path / "half")
    for name, weight in weights(model).items():
        assert loaded.get_parameter(name).dtype == torch.float32
        # 11 bits: half a unit in the last place, or of the smallest normal number.
        error = (loaded.get_parameter(name) - weight).abs()
        assert (error <= weight.abs() * 2**-11 + 2**-25).all(), name
    sizes = [(path / "model.safetensors").stat().st_size for path in (tmp_path / "half", folder)]
    assert sizes[0] < 0.6 * sizes[1]


def test_the_included_checkpoints_have_their_checksums() -> None:
    for path in (APP_FOLDER / "checkpoints").rglob("model.safetensors"):
        for line in path.with_name(f"{path.name}.sha256").read_text().splitlines():
            checksum, name = line.split("  ")
            assert hashlib.sha256(path.with_name(name).read_bytes()).hexdigest() == checksum


def test_the_hash_depends_on_weights_and_not_on_the_card(
    tmp_path: Path, folder: Path, model: Transformer, vocabulary: Vocabulary
) -> None:
    original_hash = checkpoint_hash(folder)
    assert len(original_hash) == 16
    save_checkpoint(folder, model, vocabulary, "another card")
    assert checkpoint_hash(folder) == original_hash
    shutil.copytree(folder, tmp_path / "moved")
    assert checkpoint_hash(tmp_path / "moved") == original_hash
    save_checkpoint(folder, tiny_transformer(len(vocabulary), seed=1), vocabulary, "another card")
    assert checkpoint_hash(folder) != original_hash


def test_the_card_takes_precedence_over_the_name(
    tmp_path: Path, model: Transformer, vocabulary: Vocabulary
) -> None:
    card = front_matter(("en", "de")) + "# Card\n"
    save_checkpoint(tmp_path / "en-fr", model, vocabulary, card)
    assert load_languages(tmp_path / "en-fr") == ("en", "de")


def test_without_a_card_the_name_gives_the_languages(folder: Path, tmp_path: Path) -> None:
    assert load_languages(folder) is None
    named_folder = tmp_path / "en-de"
    shutil.copytree(folder, named_folder)
    assert load_languages(named_folder) == ("en", "de")
    (named_folder / "README.md").unlink()
    assert load_languages(named_folder) == ("en", "de")


FFN = "decoder.layers.0.ffn.w_1.bias"


def test_another_model_is_not_overwritten(
    folder: Path, vocabulary: Vocabulary, pairs: list[tuple[str, str]]
) -> None:
    before = files(folder)
    with pytest.raises(CheckpointError, match=r"with d_model 16, not 32; d_ff 24, not 48: give"):
        save_checkpoint(
            folder, tiny_transformer(len(vocabulary), d_model=32, d_ff=48), vocabulary, ""
        )
    other_vocabulary = Vocabulary.train((target for _, target in pairs), len(vocabulary) - 30)
    with pytest.raises(CheckpointError, match=r"vocab_size 320, not 290; the vocabulary \w{12}, n"):
        save_checkpoint(folder, tiny_transformer(len(other_vocabulary)), other_vocabulary, "")
    assert files(folder) == before


def test_an_invalid_checkpoint_is_replaced(
    folder: Path, model: Transformer, vocabulary: Vocabulary
) -> None:
    (folder / "config.json").write_text("{")
    wider = tiny_transformer(len(vocabulary), d_model=32)
    save_checkpoint(folder, wider, vocabulary, "")
    assert load_checkpoint(folder)[0].config == wider.config


def test_a_vocabulary_of_another_size_is_refused(
    folder: Path, tmp_path: Path, vocabulary: Vocabulary
) -> None:
    with pytest.raises(CheckpointError, match=r"model has 321 pieces, the vocabulary has 320"):
        save_checkpoint(tmp_path / "new", tiny_transformer(321), vocabulary, "")
    assert not (tmp_path / "new").exists()


def test_nonfinite_weights_are_refused(
    folder: Path, model: Transformer, vocabulary: Vocabulary
) -> None:
    before = files(folder)
    model.get_parameter(FFN).data[0] = 1e5  # more than the maximum of float16
    with pytest.raises(CheckpointError, match=f"1 of the 24 numbers of {FFN} are not finite"):
        save_checkpoint(folder, model, vocabulary, "", dtype=torch.float16)
    assert files(folder) == before


def test_a_checkpoint_can_be_read_while_it_is_written(folder: Path, vocabulary: Vocabulary) -> None:
    """All weights of a saved model have the same value, so a mixture of two models is detected."""
    versions = [tiny_transformer(len(vocabulary)) for _ in range(2)]
    for number, version in enumerate(versions):
        for weight in version.parameters():
            weight.data.fill_(number + 1)
    save_checkpoint(folder, versions[0], vocabulary, "")
    values_read: set[float] = set()
    errors: list[Exception] = []
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            try:
                model, _ = load_checkpoint(folder)
            except Exception as error:
                errors.append(error)
                return
            values = {float(v) for weight in model.parameters() for v in weight.flatten()}
            assert len(values) == 1, values
            values_read.update(values)

    reader = threading.Thread(target=read)
    reader.start()
    try:
        for number in range(200):
            save_checkpoint(folder, versions[number % 2], vocabulary, "")
            if number > 20 and len(values_read) == 2:
                break
    finally:
        done.set()
        reader.join()
    assert errors == []
    assert values_read == {1.0, 2.0}


@pytest.mark.skipif(os.name != "posix", reason="no fork")
@pytest.mark.parametrize("call", ["write", "rename"])
@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_a_kill_while_saving_leaves_a_complete_checkpoint(
    call: str, number: int, folder: Path, model: Transformer, vocabulary: Vocabulary
) -> None:
    """A forked process saves other weights and is killed at its n-th write or rename."""
    child = os.fork()
    if child == 0:
        target: Any = Path if call == "write" else os
        name = "write_bytes" if call == "write" else "replace"
        original, calls = getattr(target, name), []

        def kill_or_call(*arguments: Any) -> Any:
            calls.append(arguments)
            if len(calls) == number:
                os.kill(os.getpid(), signal.SIGKILL)
            return original(*arguments)

        setattr(target, name, kill_or_call)
        save_checkpoint(folder, tiny_transformer(len(vocabulary), seed=9), vocabulary, "new card")
        os._exit(0)  # not reached
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status)
    loaded, _ = load_checkpoint(folder)
    # The third rename is that of the weights, after those of the checksums and the vocabulary.
    weights_replaced = call == "rename" and number == 4
    expected = tiny_transformer(len(vocabulary), seed=9) if weights_replaced else model
    for name, weight in weights(expected).items():
        assert torch.equal(loaded.get_parameter(name), weight), name
    save_checkpoint(folder, expected, vocabulary, "later")
    assert (folder / "README.md").read_text() == "later"
