"""From text to encoded pairs: validation split, dropped pairs, messages."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest

from transformer.text import CorpusError, Vocabulary
from transformer.training import data as data_module
from transformer.training.data import HeldOut, TrainingPairs, epoch_plan, prepare_data
from transformer.training.run_folder import RunFolder

Pairs = list[tuple[str, str]]


def write_pairs(path: Path, pairs: Pairs) -> Path:
    path.write_text("".join(f"{source}\t{target}\n" for source, target in pairs), "utf-8")
    return path


@pytest.mark.parametrize("n_pairs", [2, 50, 51, 120])
def test_every_fiftieth_pair_is_held_out(tmp_path: Path, n_pairs: int) -> None:
    pairs = [(f"source {n}", f"target {n}") for n in range(n_pairs)]
    corpus = TrainingPairs.from_files([write_pairs(tmp_path / "p.tsv", pairs)])
    for _ in range(2):  # each iteration reads the file again
        train, valid = list(corpus.train()), list(corpus.valid())
        assert valid == pairs[::50]
        assert sorted(train + valid) == sorted(pairs)


@pytest.mark.parametrize("n_pairs", [100_001, 120_000])
def test_held_out_pairs_are_limited(n_pairs: int) -> None:
    pairs = [(f"source {n}", f"target {n}") for n in range(n_pairs)]
    held_out = HeldOut(lambda: iter(pairs), "p.tsv")
    assert held_out.sources == {source for source, _ in pairs[: 50 * 2000 : 50]}


REPEATS = {
    "three times": [(f"I see {n} cats.", f"Je vois {n} chats.") for n in range(80)] * 3,
    "three translations": [
        (f"I see {n} cats.", f"{start} {n} chats.")
        for n in range(80)
        for start in ("Je vois", "J'aperçois", "Moi, je vois")
    ],
    "spaces": [
        (f"I see{space}{n} cats.", "Oui.")
        for space in (" ", "\xa0", "  ", "\u200b")
        for n in range(74)
    ],
    "decomposed": [(f"Le café{mark} {n}", "Yes.") for mark in ("", "\u2060") for n in range(60)]
    + [(f"Le cafe\u0301 {n}", "Yes.") for n in range(60)],
}


@pytest.mark.parametrize("name", REPEATS)
def test_pairs_with_equal_sources_are_held_out_together(tmp_path: Path, name: str) -> None:
    table = write_pairs(tmp_path / "p.tsv", REPEATS[name])
    added = write_pairs(tmp_path / "more.tsv", REPEATS[name])
    corpus = TrainingPairs.from_files([table], added={str(added): 1.0})
    train, valid = list(corpus.train()), list(corpus.valid())
    assert sorted(train + valid) == sorted(REPEATS[name])
    read_added = corpus.added[0][0]
    keys = [
        {
            unicodedata.normalize("NFKC", source.translate({0x2060: "", 0x200B: " "})).replace(
                "  ", " "
            )
            for source, _ in part
        }
        for part in (valid, train, list(read_added()))
    ]
    assert 2 <= len(keys[0]) <= 6
    assert not keys[0] & (keys[1] | keys[2])


def test_a_frequent_source_stays_in_training() -> None:
    pairs = [("Yes.", "Oui."), ("No.", "Non.")] * 200 + [(f"Rare {n}", "x") for n in range(99)]
    assert HeldOut(lambda: iter(pairs), "p").sources == {"Rare 0", "Rare 50"}
    few = [("Yes.", "Oui.")] * 90 + [("No.", "Non.")] * 60
    assert HeldOut(lambda: iter(few), "p").sources == {"No."}
    with pytest.raises(CorpusError, match="p has 90 pairs with the same source; at least 2"):
        _ = HeldOut(lambda: iter(few[:90]), "p").sources


def test_repeats_are_counted_for_the_user(tmp_path: Path) -> None:
    repeated = write_pairs(tmp_path / "p.tsv", REPEATS["three times"])
    valid = write_pairs(
        tmp_path / "v.tsv", [*REPEATS["three times"][:2], ("A bird 3.", "Oiseau 3.")]
    )
    messages: list[str] = []
    for folder, files in (("a", ([repeated],)), ("b", ([repeated], [valid]))):
        corpus = TrainingPairs.from_files(*files)
        run = RunFolder(tmp_path / folder)
        prepare_data(run, corpus, vocab_size=320, max_len=30, fit=True, log=messages.append)
    assert "10 of the 15 validation pairs repeat another's source" in messages
    assert any(
        text.startswith("2 of the 3 validation pairs have a source that") for text in messages
    )


def test_pairs_are_read_from_parallel_and_validation_files(tmp_path: Path) -> None:
    sides = {"en": "one\ntwo\n", "fr": "un\ndeux\n"}
    for name, text in sides.items():
        (tmp_path / name).write_text(text)
    valid = write_pairs(tmp_path / "valid.tsv", [("three", "trois")])
    corpus = TrainingPairs.from_files([tmp_path / "en", tmp_path / "fr"], [valid])
    assert list(corpus.train()) == [("one", "un"), ("two", "deux")]
    assert list(corpus.valid()) == [("three", "trois")]


def test_prepared_data_is_reused(tmp_path: Path, pairs: Pairs) -> None:
    run, messages = RunFolder(tmp_path / "run"), []
    corpus = TrainingPairs.from_files([write_pairs(tmp_path / "p.tsv", pairs)])
    data = prepare_data(run, corpus, vocab_size=320, max_len=20, log=messages.append)
    dropped = data.train.n_dropped
    assert 0 < dropped < 196
    assert len(data.train) + dropped == 196
    assert len(data.valid) + data.valid.n_dropped == 4
    assert f"{dropped} train pairs of more than 20 tokens left out" in messages
    (tmp_path / "p.tsv").unlink()  # no file is read again
    messages.clear()
    reopened = prepare_data(run, corpus, vocab_size=320, max_len=20, log=messages.append)
    assert messages == []
    for number in range(len(data.train)):
        for ids, reopened_ids in zip(
            data.train.pair(number), reopened.train.pair(number), strict=True
        ):
            assert ids.tolist() == reopened_ids.tolist()


def test_vocabulary_is_learned_without_validation_pairs(tmp_path: Path, pairs: Pairs) -> None:
    corpus = TrainingPairs(lambda: iter(pairs[:100]), lambda: iter(pairs[100:]))
    data = prepare_data(RunFolder(tmp_path), corpus, vocab_size=310, max_len=64)
    sentences = [side for pair in pairs[:100] for side in pair]
    assert data.vocabulary.sha256 == Vocabulary.train(sentences, 310).sha256


def test_another_vocabulary_is_refused(
    tmp_path: Path, pairs: Pairs, vocabulary: Vocabulary
) -> None:
    corpus = TrainingPairs(lambda: iter(pairs), lambda: iter(pairs))
    run = RunFolder(tmp_path)
    prepare_data(run, corpus, vocab_size=310, max_len=64)
    vocabulary.save(run.vocabulary_path)
    with pytest.raises(ValueError, match=r"train\.arrow was built with the vocabulary"):
        prepare_data(run, corpus, vocab_size=310, max_len=64)
    assert run.is_prepared
    run.delete_text()
    assert not run.is_prepared
    assert (
        prepare_data(run, corpus, vocab_size=305, max_len=64).vocabulary.sha256 != vocabulary.sha256
    )


def test_epoch_plan_covers_every_pair_once(data: data_module.PreparedData) -> None:
    plan = epoch_plan(data.train, 300, seed=1, epoch=2)
    assert sorted(index for batch in plan for index in batch) == list(range(len(data.train)))
    same_epoch, next_epoch = epoch_plan(data.train, 300, 1, 2), epoch_plan(data.train, 300, 1, 3)
    assert [batch.tolist() for batch in plan] == [batch.tolist() for batch in same_epoch]
    assert [batch.tolist() for batch in plan] != [batch.tolist() for batch in next_epoch]
