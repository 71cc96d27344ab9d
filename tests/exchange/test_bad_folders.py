"""Folders that cannot be imported are refused with a reason of one sentence."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file

from tests.checkpoint.models import Corruption, edited, edited_weights, truncated, without
from tests.exchange import marian
from tests.hostile import check_message, corrupt_bytes, corrupt_json
from transformer.checkpoint import CheckpointError, load_checkpoint
from transformer.exchange import import_folder


@pytest.fixture(scope="module")
def valid_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("marian") / "en-fr"
    marian.save(folder)
    return folder


@pytest.fixture
def folder(valid_folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(valid_folder, tmp_path / "en-fr"))


def convert_to_pickle(folder: Path) -> None:
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()


def with_tensor(name: str, tensor: torch.Tensor) -> Corruption:
    return edited_weights(lambda weights: weights.update({name: tensor}))


INVALID_FOLDERS: dict[str, tuple[Corruption, str]] = {
    "no config": (without("config.json"), "has no config.json; it contains "),
    "no vocab.json": (without("vocab.json"), "has no vocab.json"),
    "another model type": (
        edited("config.json", model_type="vits"),
        "is 'vits'; only 'marian' can",
    ),
    "a similar model type": (
        edited("config.json", model_type="m2m_100"),
        "'m2m_100', which has LayerNorm before each sublayer (pre-norm)",
    ),
    "unequal depths": (
        edited("config.json", decoder_layers=1),
        "encoder_layers is 2 and its decoder_layers 1",
    ),
    "two embedding tables": (
        edited("config.json", share_encoder_decoder_embeddings=False),
        "share_encoder_decoder_embeddings is False; it must be True",
    ),
    "two vocabularies": (edited("config.json", decoder_vocab_size=77), "the source and 77 for"),
    "an unsupported activation": (
        edited("config.json", activation_function="tanh"),
        "activation is 'tanh'",
    ),
    "another d_model": (edited("config.json", d_model=32), "table of embeddings is (61, 24)"),
    "more layers": (
        edited("config.json", encoder_layers=3, decoder_layers=3),
        "do not include model.encoder.layers.2",
    ),
    "a start id out of range": (
        edited("generation_config.json", decoder_start_token_id=600),
        "starts with piece 600",
    ),
    "too many pieces": (edited("vocab.json", more=61), "vocab.json has 62 pieces, its config"),
    "another padding id": (edited("config.json", pad_token_id=7), "has <pad> as 60"),
    "weights cut off": (truncated("model.safetensors", 5000), "(5000 bytes) is cut off"),
    "a target model cut off": (
        truncated("target.spm", 0),
        "target model's 0 bytes are not a SentencePiece model",
    ),
    "a missing weight": (
        edited_weights(lambda weights: weights.pop("model.decoder.layers.1.fc1.bias")),
        "do not include model.decoder.layers.1.fc1.bias",
    ),
    "another output matrix": (
        with_tensor("lm_head.weight", torch.ones(61, 24)),
        "and its lm_head.weight are not the same table",
    ),
    "other position embeddings": (
        with_tensor("model.encoder.embed_positions.weight", torch.ones(64, 24)),
        "differs from the sinusoids",
    ),
    "NaN": (
        with_tensor("final_logits_bias", torch.full((1, 61), torch.nan)),
        "61 of the 62 numbers of output_bias are not finite",
    ),
    "a pickle": (convert_to_pickle, "a pickle, which is not read: write model.safetensors"),
}


@pytest.mark.parametrize("case", INVALID_FOLDERS)
def test_unsupported_models_are_refused(folder: Path, tmp_path: Path, case: str) -> None:
    corrupt, expected_message = INVALID_FOLDERS[case]
    corrupt(folder)
    with pytest.raises(CheckpointError) as raised:
        import_folder(folder, tmp_path / "out")
    message = str(raised.value)
    assert expected_message in message
    assert "\n" not in message
    assert not (tmp_path / "out").exists()


@settings(max_examples=25)
@given(data=st.data())
def test_a_corrupt_folder_is_imported_whole_or_not_at_all(
    data: st.DataObject, valid_folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("corrupt")
    corrupt, imported = folder / "en-fr", folder / "out"
    shutil.copytree(valid_folder, corrupt)
    file = corrupt / data.draw(st.sampled_from(sorted(path.name for path in corrupt.iterdir())))
    content = data.draw(corrupt_bytes(file.read_bytes()))
    if file.suffix == ".json" and data.draw(st.booleans()):
        content = data.draw(corrupt_json(json.loads(file.read_bytes()))).encode()
    file.write_bytes(content)
    try:
        import_folder(corrupt, imported)
    except CheckpointError as error:
        check_message(error)
        assert not imported.exists()
    else:
        load_checkpoint(imported)


def test_a_missing_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="there is no folder"):
        import_folder(tmp_path / "none", tmp_path / "out")


def test_a_pickle_is_read_on_request(folder: Path, tmp_path: Path) -> None:
    import_folder(folder, tmp_path / "safe")
    convert_to_pickle(folder)
    import_folder(folder, tmp_path / "pickled", pickled=True)
    from_safetensors, from_pickle = (
        load_checkpoint(tmp_path / name)[0] for name in ("safe", "pickled")
    )
    for name, weight in from_safetensors.state_dict().items():
        assert torch.equal(weight, from_pickle.state_dict()[name])


def test_code_in_a_pickle_is_not_run(folder: Path, tmp_path: Path) -> None:
    (folder / "model.safetensors").unlink()
    torch.save({"weight": Path("x")}, folder / "pytorch_model.bin")
    with pytest.raises(CheckpointError, match=r"has more than weights"):
        import_folder(folder, tmp_path / "out", pickled=True)
    torch.save([torch.ones(1)], folder / "pytorch_model.bin")
    with pytest.raises(CheckpointError, match="must contain only tensors by name"):
        import_folder(folder, tmp_path / "out", pickled=True)


def test_stored_sinusoids_are_accepted(folder: Path, tmp_path: Path) -> None:
    """Older folders contain the table: all sines, then all cosines, here computed by formula."""
    position, pair = torch.arange(64.0).double()[:, None], torch.arange(12).double()
    angle = position / 10000 ** (2 * pair / 24)
    table = torch.cat([angle.sin(), angle.cos()], dim=1).float()
    with_tensor("model.encoder.embed_positions.weight", table)(folder)
    assert import_folder(folder, tmp_path / "out").positions == "sinusoidal"
