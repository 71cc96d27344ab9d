"""Saving replaces a checkpoint as a whole or leaves it alone; no reader ever finds half of one."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.checkpoint.models import files, tiny, weights
from transformer.checkpoint import CheckpointError, load_checkpoint, save_checkpoint
from transformer.model import Transformer
from transformer.text import Vocabulary

FFN = "decoder.layers.0.ffn.w_1.bias"


def test_another_model_is_not_overwritten(
    folder: Path, vocabulary: Vocabulary, pairs: list[tuple[str, str]]
) -> None:
    before = files(folder)
    with pytest.raises(CheckpointError, match=r"with d_model 16, not 32; d_ff 24, not 48: give"):
        save_checkpoint(folder, tiny(len(vocabulary), d_model=32, d_ff=48), vocabulary, "")
    other = Vocabulary.train((target for _, target in pairs), len(vocabulary) - 30)
    with pytest.raises(CheckpointError, match=r"vocab_size 320, not 290; the vocabulary \w{12}, n"):
        save_checkpoint(folder, tiny(len(other)), other, "")
    assert files(folder) == before


def test_what_could_not_be_loaded_is_replaced(
    folder: Path, model: Transformer, vocabulary: Vocabulary
) -> None:
    (folder / "config.json").write_text("{")
    wider = tiny(len(vocabulary), d_model=32)
    save_checkpoint(folder, wider, vocabulary, "")
    assert load_checkpoint(folder)[0].config == wider.config


def test_a_vocabulary_of_another_size_is_refused(
    folder: Path, tmp_path: Path, vocabulary: Vocabulary
) -> None:
    with pytest.raises(CheckpointError, match=r"made for 321 pieces, the vocabulary has 320"):
        save_checkpoint(tmp_path / "new", tiny(321), vocabulary, "")
    assert not (tmp_path / "new").exists()


def test_weights_that_are_not_finite_are_refused(
    folder: Path, model: Transformer, vocabulary: Vocabulary
) -> None:
    before = files(folder)
    model.get_parameter(FFN).data[0] = 1e5  # more than float16 can hold
    with pytest.raises(CheckpointError, match=f"1 of the 24 numbers of {FFN} are not finite"):
        save_checkpoint(folder, model, vocabulary, "", dtype=torch.float16)
    assert files(folder) == before


def test_a_reader_is_served_while_another_writes(folder: Path, vocabulary: Vocabulary) -> None:
    """Each model saved has all weights equal, so half of two would show."""
    versions = [tiny(len(vocabulary)) for _ in range(2)]
    for number, version in enumerate(versions):
        for weight in version.parameters():
            weight.data.fill_(number + 1)
    save_checkpoint(folder, versions[0], vocabulary, "")
    seen: set[float] = set()
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
            seen.update(values)

    reader = threading.Thread(target=read)
    reader.start()
    try:
        for number in range(200):
            save_checkpoint(folder, versions[number % 2], vocabulary, "")
            if number > 20 and len(seen) == 2:
                break
    finally:
        done.set()
        reader.join()
    assert errors == []
    assert seen == {1.0, 2.0}


@pytest.mark.skipif(os.name != "posix", reason="no fork")
@pytest.mark.parametrize("call", ["write", "rename"])
@pytest.mark.parametrize("number", [1, 3, 4])
def test_a_kill_while_saving_leaves_a_whole_checkpoint(
    call: str, number: int, folder: Path, model: Transformer, vocabulary: Vocabulary
) -> None:
    """A copy of this process saves other weights and is killed at its n-th write or rename."""
    child = os.fork()
    if child == 0:
        target: Any = Path if call == "write" else os
        name = "write_bytes" if call == "write" else "replace"
        real, calls = getattr(target, name), []

        def fatal(*arguments: Any) -> Any:
            calls.append(arguments)
            if len(calls) == number:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*arguments)

        setattr(target, name, fatal)
        save_checkpoint(folder, tiny(len(vocabulary), seed=9), vocabulary, "new card")
        os._exit(0)  # not reached
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status)
    loaded, _ = load_checkpoint(folder)
    new = call == "rename" and number == 4  # vocabulary, config and weights are there, equal but
    expected = tiny(len(vocabulary), seed=9) if new else model  # for the weights; the card is not
    for name, weight in weights(expected).items():
        assert torch.equal(loaded.get_parameter(name), weight), name
    save_checkpoint(folder, expected, vocabulary, "later")
    assert (folder / "README.md").read_text() == "later"
