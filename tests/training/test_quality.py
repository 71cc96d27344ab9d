"""BLEU with the tokenizer of the target language, compared with sacrebleu's own command."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from transformer.training.quality import concatenate_sentences, score, tokenizer_note

CHINESE = ["我看见一只猫。", "这本书在桌子上。", "她喜欢那位老师。", "我们明天去学校。"]
ENGLISH = [
    "I see a cat here.",
    "The book is on the table.",
    "She likes that teacher.",
    "We go, too.",
]
TEXTS = {"zh": CHINESE, "zh-TW": CHINESE, "en": ENGLISH, "de": ENGLISH}


def by_the_command(tmp_path: Path, hypotheses: list[str], target: str, *options: str) -> Any:
    (tmp_path / "hyp").write_text("\n".join(hypotheses) + "\n", "utf-8")
    (tmp_path / "ref").write_text("\n".join(TEXTS[target]) + "\n", "utf-8")
    command = [sys.executable, "-m", "sacrebleu", "ref", "-i", "hyp", "-l", f"en-{target[:2]}"]
    result = subprocess.run(
        [*command, "-w", "6", *options], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    return json.loads(result.stdout)


@pytest.mark.parametrize(
    ("target", "tokenizer"),
    [("zh", None), ("zh-TW", None), ("en", None), ("de", "intl"), ("zh", "char"), ("zh", "13a")],
)
def test_bleu_equals_that_of_the_sacrebleu_command(
    tmp_path: Path, target: str, tokenizer: str | None
) -> None:
    references = TEXTS[target]
    hypotheses = [references[0], *(text[:-3] + text[-2:] for text in references[1:])]
    options = ("--tokenize", tokenizer) if tokenizer else ()
    expected = by_the_command(tmp_path, hypotheses, target, *options)
    scores = score(hypotheses, [[text] for text in references], target=target, tokenizer=tokenizer)
    assert scores["bleu"] == pytest.approx(expected["score"], abs=1e-5)
    assert f"tok:{tokenizer or ('zh' if target[:2] == 'zh' else '13a')}" in scores["bleu_signature"]


def test_perfect_output_has_100_in_languages_without_spaces() -> None:
    for target, text in (
        ("zh", CHINESE[0]),
        ("ja", "私は猫が好きだ。"),
        ("ko", "나는 고양이를 좋아한다."),
    ):
        scores = score([text], [[text]], target=target)
        assert scores["bleu"] == pytest.approx(100)


@pytest.mark.parametrize(
    ("text", "target", "tokenizer", "expected"),
    [
        ("ฉันชอบแมว", "th", None, "without spaces"),
        ("我看见一只猫。", "zh", "13a", "without spaces"),
        ("我看见一只猫。", "zh", "char", ""),
        ("我看见一只猫。", "zh", None, ""),
        ("나는 고양이를 좋아한다.", "ko", "13a", ""),
    ],
)
def test_a_tokenizer_that_needs_spaces_is_named(
    text: str, target: str, tokenizer: str | None, expected: str
) -> None:
    signature = score([text], [[text]], target=target, tokenizer=tokenizer)["bleu_signature"]
    note = tokenizer_note(signature, [[text]], tokenizer)
    assert expected in note
    assert bool(note) == bool(expected)


def test_an_unknown_tokenizer_is_refused() -> None:
    with pytest.raises(ValueError, match="there is no tokenizer 'moses'; choose 13a, intl, zh"):
        score(["a"], [["a"]], tokenizer="moses")


def test_joined_sentences_have_no_space_in_languages_without() -> None:
    joined = concatenate_sentences(["I.", "You."], [["我。"], ["你。"]], 2, ("en", "zh"))
    assert joined == (["I. You."], [["我。你。"]])
