"""`evaluate`: BLEU and chrF of a file of pairs."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
import sacrebleu
import torch

from tests.cli.conftest import Shell, check_refused
from transformer import Translator
from transformer.training.quality import concatenate_sentences


def test_scores_equal_sacrebleu(
    shell: Shell, checkpoint: Path, pairs: list[tuple[str, str]], tmp_path: Path
) -> None:
    """One sentence has a second reference, which equals its hypothesis."""
    translator = Translator.load(checkpoint, "cpu")
    hypotheses = [translator.translate(source, max_len=8).text for source, _ in pairs[:6]]
    path = tmp_path / "test.tsv.gz"
    lines = [f"{source}\t{target}" for source, target in pairs[:6]]
    lines.append(f"{pairs[0][0]}\t{hypotheses[0] or 'rien'}")
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    output_file = tmp_path / "hypotheses.txt"
    options = ("--method", "greedy", "--max-len", 8, "--batch", 4, "--merge-repeated")
    result = shell("evaluate", checkpoint, path, *options, "--json", "--output", output_file)
    assert result.status == 0
    scores = json.loads(result.out)
    first_references = [target for _, target in pairs[:6]]
    references: Any = [first_references, [hypotheses[0] or "rien", *[None] * 5]]
    assert scores["bleu"] == pytest.approx(sacrebleu.corpus_bleu(hypotheses, references).score)
    assert scores["chrf"] == pytest.approx(sacrebleu.corpus_chrf(hypotheses, references).score)
    assert "nrefs:var" in scores["bleu_signature"]
    assert "version:" in scores["chrf_signature"]
    assert (scores["sentences"], scores["references"]) == (6, 7)
    threads = torch.get_num_threads()
    assert scores["computed"] == {"precision": "float32", "device": "cpu", "threads": threads}
    assert output_file.read_text("utf-8").split("\n")[:-1] == hypotheses


@pytest.mark.parametrize("join", [1, 2])
def test_repeated_sources_are_scored_line_by_line(
    shell: Shell, checkpoint: Path, pairs: list[tuple[str, str]], tmp_path: Path, join: int
) -> None:
    """sacrebleu gives the same scores for the same lines, of which some have the same source."""
    lines = [*pairs[:3], (pairs[0][0], "rien"), pairs[4], (pairs[0][0], "une autre phrase")]
    files = tmp_path / "t.en", tmp_path / "t.fr"
    for file, side in zip(files, zip(*lines, strict=True), strict=True):
        file.write_text("\n".join(side) + "\n", encoding="utf-8")
    options = ("--method", "greedy", "--max-len", 8, "--json", "--join", join)
    result = shell("evaluate", checkpoint, *files, *options, "--output", tmp_path / "out")
    starts = range(0, len(lines), join)
    sources, references = (
        [" ".join(texts[start : start + join]) for start in starts]
        for texts in zip(*lines, strict=True)
    )
    translator = Translator.load(checkpoint, "cpu")
    hypotheses = [translator.translate(source, max_len=8).text for source in sources]
    assert (tmp_path / "out").read_text("utf-8").split("\n")[:-1] == hypotheses
    scores = json.loads(result.out)
    assert scores["bleu"] == pytest.approx(sacrebleu.corpus_bleu(hypotheses, [references]).score)
    assert scores["chrf"] == pytest.approx(sacrebleu.corpus_chrf(hypotheses, [references]).score)
    assert scores["sentences"] == len(starts)


def test_an_invalid_file_is_refused(shell: Shell, checkpoint: Path, tmp_path: Path) -> None:
    path = tmp_path / "wrong.tsv"
    path.write_text("fine\tbien\n\ttarget alone\n")
    check_refused(shell("evaluate", checkpoint, path), f"{path}, line 2 has an empty source")


def test_nothing_is_translated_for_a_source_that_is_too_long_or_a_wrong_output(
    shell: Shell, checkpoint: Path, tmp_path: Path
) -> None:
    path = tmp_path / "long.tsv"
    path.write_text("Yes.\tOui.\n" + "word " * 600 + "\tmot\nNo.\tNon.\n", "utf-8")
    result = shell("evaluate", checkpoint, path)
    check_refused(result, "Sentence 2: The text has")
    assert "sentences" not in result.err.split("error:")[0]  # no progress
    check_refused(shell("evaluate", checkpoint, path, "--output", tmp_path), "is a folder; give")
    check_refused(shell("evaluate", checkpoint, ""), "name of a file is empty")


def test_consecutive_pairs_are_joined(shell: Shell, checkpoint: Path, tmp_path: Path) -> None:
    sources, references = concatenate_sentences(
        ["A.", "B.", "C.", "D."], [["a1", "a2"], ["b1"], ["c1", "c2", "c3"], ["d1"]], 3
    )
    assert sources == ["A. B. C.", "D."]
    assert references == [["a1 b1 c1", "a2 b1 c2", "a2 b1 c3"], ["d1"]]
    with pytest.raises(ValueError, match="must be at least 1, not 0"):
        concatenate_sentences(sources, references, 0)
    pairs = tmp_path / "test.tsv"
    pairs.write_text("She paints.\tElle peint.\n" + "She sells.\tElle vend.\n" * 2, "utf-8")
    options = (checkpoint, pairs, "--join", 2, "--max-len", 4)
    result = shell("evaluate", *options)
    assert "2 sentences, 2 references" in result.out
    assert "1 sentences, 2 references" in shell("evaluate", *options, "--merge-repeated").out
