from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import torch

from tests.cli.conftest import Shell, refused
from transformer import Translator
from transformer.analysis.corpora import Corpus
from transformer.checkpoint import load_languages
from transformer.training.gates import learn_gates


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "mine.tsv"
    path.write_text("She paints a boat.\tElle peint un bateau.\nShe sells bread.\tElle vend.\n")
    return path


def test_the_checkpoint_it_writes_is_what_the_function_learns(
    shell: Shell, checkpoint: Path, corpus: Path, tmp_path: Path
) -> None:
    checkpoint = shutil.copytree(checkpoint, tmp_path / "en-de")
    asked = ("--corpus", corpus, "--penalty", "1", "--steps", "30", "--device", "cpu")
    said = shell("gates", checkpoint, tmp_path / "new", *asked, "--json")
    assert (said.status, said.err) == (0, "")
    translator = Translator.load(checkpoint, "cpu")
    wanted = learn_gates(translator, Corpus.read(corpus), penalty=1.0, steps=30)
    gates = [line["gate"] for line in json.loads(said.out)]
    assert gates == pytest.approx(wanted.gates)
    new = Translator.load(tmp_path / "new", "cpu").model.state_dict()
    for name, weight in wanted.translator.model.state_dict().items():
        torch.testing.assert_close(new[name], weight)
    card = (tmp_path / "new" / "README.md").read_text()
    assert f"{len(wanted.survivors)} of {len(wanted.heads)} heads stay" in card
    assert load_languages(tmp_path / "new") == ("en", "de")


def test_rounded_gates_over_sentences_of_ours(
    shell: Shell, checkpoint: Path, tmp_path: Path
) -> None:
    asked = ("--corpus", "linked-de", "--penalty", "0.5", "--steps", "3", "--round", "--json")
    said = shell("gates", checkpoint, tmp_path / "new", *asked)
    assert (said.status, said.err) == (0, "")
    assert {line["gate"] for line in json.loads(said.out)} <= {0.0, 1.0}
    card = (tmp_path / "new" / "README.md").read_text()
    assert "3 steps over 70 sentences" in card
    assert "rounded to 0 or 1" in card


def test_what_cannot_be_is_said_before_anything_is_learned(
    shell: Shell, checkpoint: Path, corpus: Path, tmp_path: Path
) -> None:
    refused(shell("gates", checkpoint, tmp_path, "--penalty", "1"), "exists already")
    low = ("--penalty", "-1", "--corpus", corpus)
    refused(shell("gates", checkpoint, tmp_path / "new", *low), "penalty -1.0")
    assert not (tmp_path / "new").exists()
