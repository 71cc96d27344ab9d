"""Folders that cannot be imported are refused in one sentence that says why."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from tests.exchange import marian
from transformer.checkpoint import CheckpointError, load_checkpoint
from transformer.exchange import import_folder


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("marian") / "en-fr"
    marian.save(found)
    return found


@pytest.fixture
def folder(sound: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(sound, tmp_path / "en-fr"))


def changed(name: str, **values: Any) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        found = json.loads((folder / name).read_text("utf-8"))
        (folder / name).write_text(json.dumps({**found, **values}), encoding="utf-8")

    return change


def without(name: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).unlink()


def cut(name: str, size: int) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        (folder / name).write_bytes((folder / name).read_bytes()[:size])

    return change


def weights(**values: torch.Tensor | None) -> Callable[[Path], None]:
    """Tensors put in, or taken out; "__" in a name is a dot."""

    def change(folder: Path) -> None:
        found = load_file(folder / "model.safetensors")
        for name, tensor in values.items():
            found.pop(name.replace("__", "."), None)
            if tensor is not None:
                found[name.replace("__", ".")] = tensor
        save_file(found, folder / "model.safetensors")

    return change


def as_pickle(folder: Path) -> None:
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()


BAD: dict[str, tuple[Callable[[Path], object], str]] = {
    "no config": (without("config.json"), "has no config.json; it holds "),
    "no weights": (without("model.safetensors"), "has no model.safetensors; it holds "),
    "no list": (without("vocab.json"), "has no vocab.json"),
    "no source model": (without("source.spm"), "has no source.spm"),
    "another kind": (changed("config.json", model_type="vits"), "of type 'vits'; 'marian' can"),
    "no kind": (changed("config.json", model_type=[1]), "of type [1]; 'marian' can"),
    "a relative": (
        changed("config.json", model_type="m2m_100"),
        "'m2m_100', which has its LayerNorm before each sublayer and not after",
    ),
    "an activation that is none": (
        changed("config.json", activation_function=["relu"]),
        "activation is ['relu']; it must be one of relu",
    ),
    "more positions than there is memory": (
        changed("config.json", max_position_embeddings=2**31),
        "asks for 2,147,483,648 positions of 24",
    ),
    "unequal depths": (
        changed("config.json", decoder_layers=1),
        "encoder_layers is 2 and its decoder_layers 1",
    ),
    "two tables": (
        changed("config.json", share_encoder_decoder_embeddings=False),
        "share_encoder_decoder_embeddings is False; it must be True",
    ),
    "untied": (changed("config.json", tie_word_embeddings=False), "tie_word_embeddings is False"),
    "two vocabularies": (changed("config.json", decoder_vocab_size=77), "the source and 77 for"),
    "an activation": (changed("config.json", activation_function="tanh"), "activation is 'tanh'"),
    "a width": (changed("config.json", d_model=32), "table of embeddings is (61, 24)"),
    "an inner width": (
        changed("config.json", encoder_ffn_dim=41, decoder_ffn_dim=41),
        "config.json asks for (41, 24)",
    ),
    "more layers": (
        changed("config.json", encoder_layers=3, decoder_layers=3),
        "lack model.encoder.layers.2",
    ),
    "a width that is text": (changed("config.json", d_model="wide"), "does not fit"),
    "a start that is none": (
        changed("generation_config.json", decoder_start_token_id=600),
        "starts with piece 600",
    ),
    "a list too long": (changed("vocab.json", more=61), "vocab.json has 62 pieces, its config"),
    "ids twice": (changed("vocab.json", more=5), "ids of its vocab.json are not 0 to 61"),
    "another padding": (changed("config.json", pad_token_id=7), "has <pad> as 60"),
    "weights cut off": (cut("model.safetensors", 5000), "(5000 bytes) is cut off"),
    "a list cut off": (cut("vocab.json", 99), "is cut off or is no JSON"),
    "a model cut off": (cut("target.spm", 0), "target's 0 bytes are not a SentencePiece model"),
    "a weight too much": (weights(model__extra=torch.ones(3)), "model.extra, which this model has"),
    "a weight too few": (
        weights(model__decoder__layers__1__fc1__bias=None),
        "lack model.decoder.layers.1.fc1.bias",
    ),
    "another output": (
        weights(lm_head__weight=torch.ones(61, 24)),
        "and its lm_head.weight are not the same table",
    ),
    "other positions": (
        weights(model__encoder__embed_positions__weight=torch.ones(64, 24)),
        "off the sinusoids",
    ),
    "whole numbers": (
        weights(final_logits_bias=torch.ones(1, 61, dtype=torch.int64)),
        "final_logits_bias is of type I64",
    ),
    "no number": (
        weights(final_logits_bias=torch.full((1, 61), torch.nan)),
        "61 of the 62 numbers of output_bias are not finite",
    ),
    "a pickle": (as_pickle, "a pickle, which is not read: write model.safetensors"),
}


@pytest.mark.parametrize("case", BAD)
def test_is_refused(folder: Path, tmp_path: Path, case: str) -> None:
    spoil, says = BAD[case]
    spoil(folder)
    with pytest.raises(CheckpointError) as raised:
        import_folder(folder, tmp_path / "out")
    said = str(raised.value)
    assert says in said
    assert "\n" not in said
    assert not (tmp_path / "out").exists()


def test_no_folder(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="there is no folder"):
        import_folder(tmp_path / "none", tmp_path / "out")


def test_a_pickle_is_read_when_asked_for(folder: Path, tmp_path: Path) -> None:
    import_folder(folder, tmp_path / "safe")
    as_pickle(folder)
    import_folder(folder, tmp_path / "pickled", pickled=True)
    one, other = (load_checkpoint(tmp_path / name)[0] for name in ("safe", "pickled"))
    for name, weight in one.state_dict().items():
        assert torch.equal(weight, other.state_dict()[name])


def test_a_pickle_of_anything_else_is_not_run(folder: Path, tmp_path: Path) -> None:
    (folder / "model.safetensors").unlink()
    torch.save({"weight": Path("x")}, folder / "pytorch_model.bin")
    with pytest.raises(CheckpointError, match=r"is no file of weights alone"):
        import_folder(folder, tmp_path / "out", pickled=True)
    torch.save([torch.ones(1)], folder / "pytorch_model.bin")
    with pytest.raises(CheckpointError, match="must hold tensors by name"):
        import_folder(folder, tmp_path / "out", pickled=True)


def test_stored_sinusoids_are_accepted(folder: Path, tmp_path: Path) -> None:
    """Older folders hold them: all sines, then all cosines, here by the formula's own words."""
    place, pair = torch.arange(64.0).double()[:, None], torch.arange(12).double()
    angle = place / 10000 ** (2 * pair / 24)
    table = torch.cat([angle.sin(), angle.cos()], dim=1).float()
    weights(model__encoder__embed_positions__weight=table)(folder)
    assert import_folder(folder, tmp_path / "out").positions == "sinusoidal"
