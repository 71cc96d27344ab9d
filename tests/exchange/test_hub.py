"""Models are loaded from the Hugging Face hub by name; the download is replaced by a copy."""

from __future__ import annotations

import fnmatch
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch

from tests.exchange import marian
from transformer import exchange
from transformer.checkpoint import CheckpointError, save_checkpoint
from transformer.exchange import hub
from transformer.inference import Translator
from transformer.model import Transformer
from transformer.text import Vocabulary

REPOSITORIES = "repositories"


@pytest.fixture(autouse=True)
def folder_of_repositories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Replace the client's function by one that copies from a folder with the same arguments."""

    def copy_snapshot(name: str, *, revision: str | None, allow_patterns: Sequence[str]) -> str:
        repository = tmp_path / REPOSITORIES / name / (revision or "main")
        if not repository.is_dir():
            raise FileNotFoundError(f"404 {name} at {revision}\nmore lines")
        snapshot = tmp_path / "cache" / f"models--{name.replace('/', '--')}" / "snapshots" / "1"
        snapshot.mkdir(parents=True, exist_ok=True)
        for path in repository.iterdir():
            if any(fnmatch.fnmatch(path.name, pattern) for pattern in allow_patterns):
                shutil.copy(path, snapshot)
        return str(snapshot)

    monkeypatch.setattr(hub, "snapshot_download", copy_snapshot)
    monkeypatch.chdir(tmp_path)
    return tmp_path / REPOSITORIES


def test_a_checkpoint_is_loaded_without_other_files(
    folder_of_repositories: Path, tiny_model: Transformer, vocabulary: Vocabulary
) -> None:
    repository = folder_of_repositories / "ana/en-fr" / "v2"
    save_checkpoint(repository, tiny_model, vocabulary, "# English to French\n")
    for name in ("train.py", "pytorch_model.bin"):
        (repository / name).write_bytes(b"raise SystemExit")
    loaded = Translator.load("ana/en-fr", "cpu", revision="v2")
    for name, weight in tiny_model.state_dict().items():
        assert torch.equal(weight, loaded.model.state_dict()[name]), name
    assert loaded.folder is not None
    assert not {path.name for path in loaded.folder.iterdir()} & {"train.py", "pytorch_model.bin"}
    with pytest.raises(CheckpointError, match=r"no folder ana/en-fr, .*: 404 ana/en-fr at None$"):
        Translator.load("ana/en-fr", "cpu")


def test_a_marian_model_gets_its_languages_from_its_name(
    folder_of_repositories: Path, tmp_path: Path
) -> None:
    folder = folder_of_repositories / "lab/opus-mt-en-fr" / "main"
    marian.save(folder, trained=True)
    with pytest.warns(UserWarning, match="are not applied.*: max_length 48"):
        loaded = Translator.load("lab/opus-mt-en-fr", "cpu")
    with pytest.warns(UserWarning, match="are not applied.*: max_length 48"):
        local = Translator.load(folder, "cpu")
    assert loaded.translate("A boat.").tokens == local.translate("A boat.").tokens
    loaded.save_pretrained(tmp_path / "kept")
    card = (tmp_path / "kept/README.md").read_text("utf-8")
    assert "language: [en, fr]\n" in card
    assert "# opus-mt-en-fr\n" in card


def test_a_local_path_is_never_looked_up_on_the_hub(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    for path in ("models/en-xx", "./en-xx", "../en-xx", "en-xx", "/en-xx", "a/b/c", "~/x"):
        with pytest.raises(CheckpointError, match=r"no checkpoint folder .*by name: en-de"):
            Translator.load(path, "cpu")
    with pytest.raises(CheckpointError, match="only models on the hub have a revision such as"):
        Translator.load("models", "cpu", revision="v9")


def test_a_missing_package_is_named_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    monkeypatch.delitem(sys.modules, "transformer.exchange.hub", raising=False)
    monkeypatch.delattr(exchange, "hub", raising=False)
    with pytest.raises(ImportError, match=r'no folder ana/en-fr, and .*"heads-up\[hub\]"'):
        Translator.load("ana/en-fr", "cpu")
