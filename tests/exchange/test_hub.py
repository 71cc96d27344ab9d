"""Models are loaded from a hub by name, and uploaded: the real client with a fake hub."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from tests.exchange import marian
from tests.exchange.hub_server import HubHandler, commit_id, hub_server
from transformer import exchange
from transformer.checkpoint import CheckpointError, save_checkpoint
from transformer.exchange import import_folder
from transformer.inference import Translator
from transformer.model import Transformer
from transformer.text import Vocabulary

hub_client = pytest.importorskip("huggingface_hub", reason='needs pip install "heads-up[hub]"')

TEXT = "The baker paints a boat today."
CARD = "---\nlanguage: [en, fr]\nlicense: cc-by-2.0\n---\n\n# English to French\n"


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[type[HubHandler]]:
    """Run a hub without repositories; the client has an empty cache and uses only this hub."""
    from huggingface_hub import close_session, constants

    with hub_server() as server:
        monkeypatch.setattr(constants, "ENDPOINT", server.url)
        template = server.url + "/{repo_id}/resolve/{revision}/{filename}"
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
        monkeypatch.setattr(constants, "HF_HUB_DISABLE_PROGRESS_BARS", True)
        monkeypatch.setenv("HF_TOKEN", "may-write")
        monkeypatch.setenv("NO_PROXY", "*")
        monkeypatch.chdir(tmp_path)
        yield server
        close_session()


@pytest.fixture
def checkpoint_folder(
    hub: type[HubHandler], tiny_model: Transformer, vocabulary: Vocabulary, tmp_path: Path
) -> Path:
    """Return a checkpoint folder whose files are also on the hub as "ana/en-fr"."""
    save_checkpoint(tmp_path / "checkpoint", tiny_model, vocabulary, CARD)
    files = contents(tmp_path / "checkpoint")
    hub.repositories["ana/en-fr"] = {"main": {**files, "train.py": b"raise SystemExit"}}
    return tmp_path / "checkpoint"


def test_a_checkpoint_is_downloaded_once(hub: type[HubHandler], checkpoint_folder: Path) -> None:
    loaded = Translator.load("ana/en-fr", "cpu", "fp32")
    local = Translator.load(checkpoint_folder, "cpu", "fp32")
    for name, weight in local.model.state_dict().items():
        assert torch.equal(weight, loaded.model.state_dict()[name]), name
    assert loaded.folder is not None
    # train.py is not downloaded.
    assert {path.name for path in loaded.folder.iterdir()} == set(contents(checkpoint_folder))
    assert sum("model.safetensors" in line for line in hub.log if line.startswith("GET")) == 1
    Translator.load("ana/en-fr", "cpu")
    assert sum("model.safetensors" in line for line in hub.log if line.startswith("GET")) == 1


def test_the_cache_works_without_the_hub(
    hub: type[HubHandler], checkpoint_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Translator.load("ana/en-fr", "cpu")
    monkeypatch.setattr(hub_client.constants, "HF_HUB_OFFLINE", True)
    hub_client.close_session()
    before = len(hub.log)
    assert Translator.load("ana/en-fr", "cpu").translate(TEXT, max_len=4).tokens
    assert len(hub.log) == before
    with pytest.raises(CheckpointError, match=r"the hub cannot be reached, and its cache on this"):
        Translator.load("ana/other", "cpu")


def test_a_marian_model_is_imported_while_it_is_loaded(
    hub: type[HubHandler], tmp_path: Path
) -> None:
    marian.save(tmp_path / "marian", trained=True)
    (tmp_path / "marian/README.md").write_text(
        "---\nlicense: apache-2.0\n---\n\n# A Marian model\n"
    )
    hub.repositories["lab/opus-mt-en-fr"] = {"main": contents(tmp_path / "marian")}
    import_folder(tmp_path / "marian", tmp_path / "imported")
    imported = Translator.load(tmp_path / "imported", "cpu", "fp32")
    for path in ("lab/opus-mt-en-fr", tmp_path / "marian"):  # the cached hub folder
        loaded = Translator.load(path, "cpu", "fp32")
        assert loaded.translate(TEXT).tokens == imported.translate(TEXT).tokens
        for name, weight in imported.model.state_dict().items():
            assert torch.equal(weight, loaded.model.state_dict()[name]), name
        assert not any(weight.requires_grad for weight in loaded.model.parameters())
    loaded = Translator.load("lab/opus-mt-en-fr", "cpu")
    loaded.save_pretrained(tmp_path / "kept")
    card = hub_client.ModelCard((tmp_path / "kept/README.md").read_text("utf-8"))
    assert card.data.to_dict()["language"] == ["en", "fr"]  # from the repository's name
    assert card.data.to_dict()["license"] == "apache-2.0"
    assert card.text.lstrip().startswith("# opus-mt-en-fr\n")


@pytest.mark.parametrize("format", ["heads-up", "marian"])
def test_an_uploaded_model_can_be_loaded(
    hub: type[HubHandler], checkpoint_folder: Path, format: str
) -> None:
    translator = Translator.load(checkpoint_folder, "cpu", "fp32")
    address = translator.push_to_hub("ana/mine", format=format)
    files = hub.repositories["ana/mine"]["main"]
    assert address == f"{hub.url}/ana/mine/commit/{commit_id(files)}"
    library = {"heads-up": "heads-up", "marian": "transformers"}[format]
    assert hub_client.ModelCard(files["README.md"].decode()).data.to_dict() == {
        "library_name": library,
        "pipeline_tag": "translation",
        "language": ["en", "fr"],
        "license": "cc-by-2.0",
    }
    reloaded = Translator.load("ana/mine", "cpu", "fp32")
    options = {"max_len": 12}
    assert reloaded.translate(TEXT, **options).text == translator.translate(TEXT, **options).text


def test_another_revision_is_loaded_by_name(hub: type[HubHandler], checkpoint_folder: Path) -> None:
    files = contents(checkpoint_folder)
    pickled = {**files, "pytorch_model.bin": b"\x80"}
    del pickled["model.safetensors"]
    hub.repositories["ana/old"] = {"main": pickled, "refs/pr/1": files}
    with pytest.raises(CheckpointError, match=r"^ana/old has its weights in pytorch_model\.bin"):
        Translator.load("ana/old", "cpu")
    assert not any("pytorch_model.bin" in line for line in hub.log)
    assert Translator.load("ana/old", "cpu", revision="refs/pr/1").folder is not None
    with pytest.raises(CheckpointError, match=r"^ana/old on the hub has no revision 'v9'$"):
        Translator.load("ana/old", "cpu", revision="v9")
    with pytest.raises(
        CheckpointError,
        match="is not on the hub; only models on the hub have a revision such as 'v9'",
    ):
        Translator.load(checkpoint_folder, "cpu", revision="v9")


def test_loading_errors_are_one_sentence(hub: type[HubHandler], checkpoint_folder: Path) -> None:
    hub.gated.add("ana/gated")
    bert = {"config.json": json.dumps({"model_type": "bert"}).encode(), "model.safetensors": b"x"}
    sharded = {**contents(checkpoint_folder), "model.safetensors.index.json": b"{}"}
    del sharded["model.safetensors"]
    hub.repositories |= {
        "ana/empty": {"main": {"README.md": b"# Nothing"}},
        "ana/bert": {"main": bert},
        "ana/sharded": {"main": sharded},
    }
    for name, expected_message in (
        ("ana/missing", "there is no folder ana/missing, and the hub has no model of this name"),
        ("ana/gated", "ana/gated requires that you accept its conditions"),
        ("ana/empty", "ana/empty on the hub has no config.json"),
        (
            "ana/bert",
            "ana/bert on the hub cannot be loaded: ana/bert holds a model",
        ),
        ("ana/sharded", "ana/sharded has its weights in several files"),
        ("a na/mine", "names on the hub are like owner/name"),
        ("ana/mi--ne", "names on the hub are like owner/name"),
    ):
        with pytest.raises(CheckpointError, match=f"^{re.escape(expected_message)}") as raised:
            Translator.load(name, "cpu")
        assert "\n" not in str(raised.value)
    assert not any("/ana/bert/resolve" in line and "safetensors" in line for line in hub.log)


def test_hub_errors_are_one_sentence(
    hub: type[HubHandler], checkpoint_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    translator = Translator.load(checkpoint_folder, "cpu")
    with pytest.raises(CheckpointError, match="names on the hub are like owner/name"):
        translator.push_to_hub("mine")
    monkeypatch.setenv("HF_TOKEN", "may-read")
    with pytest.raises(CheckpointError, match=r"could not be written .*status 401.*hf auth login"):
        translator.push_to_hub("ana/mine")
    with pytest.raises(ValueError, match="languages are two codes"):
        translator.push_to_hub("ana/mine", languages=["en"])
    assert "ana/mine" not in hub.repositories


def test_a_local_path_is_never_looked_up_on_the_hub(
    hub: type[HubHandler], checkpoint_folder: Path
) -> None:
    Path("models").mkdir()
    for path in ("models/en-xx", "./en-xx", "../en-xx", "en-xx", "/en-xx", "a/b/c", "~/x"):
        with pytest.raises(CheckpointError, match=r"no checkpoint folder .*by name: en-de"):
            Translator.load(path, "cpu")
    assert hub.log == []


def test_a_missing_package_is_named_in_one_sentence(
    tiny_model: Transformer, vocabulary: Vocabulary, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    monkeypatch.delitem(sys.modules, "transformer.exchange.hub", raising=False)
    monkeypatch.delattr(exchange, "hub", raising=False)
    with pytest.raises(ImportError, match=r'no folder ana/en-fr, and .*"heads-up\[hub\]"'):
        Translator.load("ana/en-fr", "cpu")
    with pytest.raises(ImportError, match=r'package huggingface_hub: pip install "heads-up\[hub\]'):
        Translator(tiny_model, vocabulary).push_to_hub("ana/en-fr")
