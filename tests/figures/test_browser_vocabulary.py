"""Vocabularies of others: the browser gives SentencePiece's ids, or both languages refuse them."""

from __future__ import annotations

import io
import json
import random
from pathlib import Path
from typing import Any

import pytest
import sentencepiece

from tests.figures.deno import run_deno
from tests.figures.test_browser_model import varied_texts
from transformer.figures.browser_vocabulary import browser_problem
from transformer.text.vocabulary import Vocabulary

LINES = [
    "The student reads a book in the library every day.",
    "Ich lese ein Buch.",
    "I see the cat.",
    "Good evening, Anna.",
    "a  b   c",
]
TEXTS = ["student -> students", " Hello  world ", "A<sep>B", "<c1>", "   ", "", "a  b   c ", "▁x ▁"]
USUAL = {"pad_id": 0, "unk_id": 1, "bos_id": 2, "eos_id": 3, "vocab_size": 380}
SAME: dict[str, dict[str, Any]] = {
    "byte fallback": {"byte_fallback": True},
    "unknown pieces": {"vocab_size": 100},
    "control symbols": {"control_symbols": ["<c1>", "<c2>"]},
    "all spaces": {"remove_extra_whitespaces": False},
    "no space before the text": {"add_dummy_prefix": False},
    "spaces as they are typed": {"add_dummy_prefix": False, "remove_extra_whitespaces": False},
    "no normalisation": {"normalization_rule_name": "identity"},
    "small letters": {"normalization_rule_name": "nmt_nfkc_cf"},
    "own rules": {"normalization_rule_tsv": "rules.tsv"},
    "another text for unknown pieces": {"unk_surface": " UNK ", "vocab_size": 100},
    "pieces across words": {"split_by_whitespace": False},
    "pieces of spaces": {"allow_whitespace_only_pieces": True, "remove_extra_whitespaces": False},
    "other names": {"pad_piece": "[PAD]", "unk_piece": "[UNK]", "eos_piece": "[EOS]"},
    "other ids": {"pad_id": 3, "unk_id": 0, "bos_id": 1, "eos_id": 2},
}
REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "user-defined symbols": ({"user_defined_symbols": ["<sep>", "->"]}, "user-defined symbols"),
    "spaces after words": ({"treat_whitespace_as_suffix": True}, "spaces after words"),
    "rewritten output": ({"denormalization_rule_tsv": "rules.tsv"}, "rewrites its output"),
    "BPE": ({"model_type": "bpe"}, "a SentencePiece BPE model"),
    "characters": ({"model_type": "char", "vocab_size": 60}, "a SentencePiece character model"),
    "words": ({"model_type": "word", "vocab_size": 20}, "a SentencePiece word model"),
}


def train(folder: Path, options: dict[str, Any]) -> Vocabulary:
    """Return a vocabulary that is also stored in `folder`."""
    (folder / "rules.tsv").write_text("41\t42\n61 62\t63\n")
    options = {
        key: str(folder / value) if key.endswith("_tsv") else value
        for key, value in options.items()
    }
    buffer = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(LINES * 30),
        model_writer=buffer,
        hard_vocab_limit=False,
        minloglevel=2,
        **(USUAL | options),
    )
    (folder / "vocabulary.model").write_bytes(buffer.getvalue())
    return Vocabulary(buffer.getvalue())


@pytest.mark.parametrize("name", SAME)
def test_ids_and_texts_are_those_of_sentencepiece(name: str, tmp_path: Path) -> None:
    vocabulary = train(tmp_path, SAME[name])
    assert browser_problem(vocabulary) == ""
    texts, rng = [*varied_texts(300), *TEXTS], random.Random(1)
    lists = [
        [rng.randrange(len(vocabulary)) for _ in range(rng.randint(0, 12))] for _ in range(200)
    ]
    (tmp_path / "cases.json").write_text(json.dumps({"texts": texts, "lists": lists}))
    results = run_deno("pieces", str(tmp_path), str(tmp_path))
    assert results["ids"] == [vocabulary.encode(text) for text in texts]
    assert results["texts"] == [vocabulary.decode(ids) for ids in lists]


@pytest.mark.parametrize("name", REFUSED)
def test_what_the_browser_would_read_differently_is_refused(name: str, tmp_path: Path) -> None:
    options, reason = REFUSED[name]
    assert reason in browser_problem(train(tmp_path, options))
    (tmp_path / "cases.json").write_text(json.dumps({"texts": [], "lists": []}))
    with pytest.raises(AssertionError, match=r"The vocabulary (must be|has|keeps)"):
        run_deno("pieces", str(tmp_path), str(tmp_path))
