"""Settings of generation that an import leaves out are named exactly if they change outputs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from transformers import MarianMTModel

from tests.exchange import marian
from transformer.cli import main
from transformer.exchange import ignored_settings
from transformer.inference import Translator

TEXTS = marian.ENGLISH[:3]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("marian") / "opus-mt-en-fr"
    marian.save(path, trained=True)
    file = path / "generation_config.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "max_length": 512}))
    return path


@pytest.fixture
def changed(folder: Path) -> Any:
    """Return a function that writes settings into the folder, which is restored afterwards."""
    files = [folder / "generation_config.json", folder / "config.json"]
    before = [file.read_text() for file in files]

    def change(settings: dict[str, Any], file: Path = files[0]) -> None:
        file.write_text(json.dumps({**json.loads(file.read_text()), **settings}))

    yield change
    for file, text in zip(files, before, strict=True):
        file.write_text(text)


def greedy(folder: Path) -> list[list[int]]:
    model, tokenizer = MarianMTModel.from_pretrained(folder), marian.tokenizer(folder)
    return [
        model.eval().generate(**tokenizer(text, return_tensors="pt"), num_beams=1)[0].tolist()
        for text in TEXTS
    ]


def settings_of(folder: Path, plain: list[list[int]]) -> list[dict[str, Any]]:
    first, later = plain[0][1], plain[0][2]
    pad = json.loads((folder / "vocab.json").read_text())["<pad>"]
    other = next(id for id in range(3, 20) if id not in plain[0])
    return [
        *({"forced_bos_token_id": other}, {"bad_words_ids": [[later]]}, {"bad_words_ids": [[pad]]}),
        *({"suppress_tokens": [first, pad]}, {"begin_suppress_tokens": [first]}),
        *({"suppress_tokens": [pad]}, {"suppress_tokens": []}, {"min_length": 0}),
        *({"min_length": 60}, {"min_new_tokens": 60}, {"max_length": 4}, {"max_length": 512}),
        *({"repetition_penalty": 1.0}, {"repetition_penalty": 50.0}, {"no_repeat_ngram_size": 1}),
        *({"sequence_bias": [[[first], -50.0]]}, {"forced_eos_token_id": None}),
        *({"max_new_tokens": 2}, {"num_beam_groups": 1}, {"temperature": 1.0}),
    ]


def test_each_setting_that_changes_an_output_is_named(folder: Path, changed: Any) -> None:
    assert ignored_settings(folder) == ""
    plain = greedy(folder)
    n_changing = 0
    for settings in settings_of(folder, plain):
        before = (folder / "generation_config.json").read_text()
        changed(settings)
        is_changed = greedy(folder) != plain
        [name] = settings
        assert name in ignored_settings(folder) or not is_changed, settings
        n_changing += is_changed
        (folder / "generation_config.json").write_text(before)
    assert n_changing >= 8


@pytest.mark.parametrize(
    "settings",
    [
        *({"bad_words_ids": []}, {"min_length": 0}, {"do_sample": False}, {"num_beams": 4}),
        *({"max_length": 512}, {"repetition_penalty": 1.0}, {"forced_eos_token_id": 0}),
    ],
)
def test_settings_that_change_nothing_are_not_named(
    folder: Path, changed: Any, settings: dict[str, Any]
) -> None:
    changed(settings)
    assert ignored_settings(folder) == ""


def test_the_command_and_the_translator_name_them(
    folder: Path, changed: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    changed({"min_length": 9}, folder / "config.json")  # where older models have it
    assert main(["import", str(folder), str(tmp_path / "out")]) == 0
    assert "outputs can differ: min_length 9" in capsys.readouterr().out
    with pytest.warns(UserWarning, match="min_length 9"):
        Translator.load(folder, "cpu")
