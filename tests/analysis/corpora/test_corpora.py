"""Corpora from lines, files, runs and the bundled sentences, with and without gold links."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from transformer.analysis.corpora import MAX_SENTENCES, Corpus, corpus_for
from transformer.analysis.corpora.gold import GoldAnnotations, parse_links, pieces_linked, words_of
from transformer.checkpoint import save_checkpoint
from transformer.model import Transformer
from transformer.text import CorpusError, TokenStore, Vocabulary
from transformer.text.languages import front_matter
from transformer.text.tasks import TASKS, split
from transformer.text.tasks.french import french_examples
from transformer.training.recipe import make_run_config


def test_the_bundled_sentences_have_normal_spelling_and_valid_links() -> None:
    corpus = Corpus.bundled(120)
    assert len(corpus) == 120
    assert 50 < corpus.n_gold < 120
    task_examples = french_examples()[: corpus.n_gold]
    for sentence, example in zip(corpus.sentences[-corpus.n_gold :], task_examples, strict=True):
        assert sentence.source[0].isupper()
        assert not {" .", "' ", " '", " ?"} & {sentence.source[i : i + 2] for i in range(90)}
        assert sentence.gold is not None
        assert sentence.gold.sure == set(example.alignment or ())
        for text, words in (
            (sentence.source, sentence.gold.source_words),
            (sentence.target, sentence.gold.target_words),
        ):
            assert "".join(words) == text.replace(" ", "")


def test_the_hash_depends_only_on_the_content() -> None:
    corpus = Corpus.from_lines(["a\tb\t0-0", "c\td"], "one")
    assert Corpus.from_lines(["a\tb\t0-0", "c\td"], "another").hash == corpus.hash
    assert Corpus.from_dict(json.loads(json.dumps(corpus.to_dict()))) == corpus
    other_contents = (["a\tb", "c\td"], ["a\tb\t0?0", "c\td"], ["c\td", "a\tb\t0-0"], ["a", "c"])
    assert (
        len({Corpus.from_lines(lines, "one").hash for lines in other_contents} | {corpus.hash}) == 5
    )


def test_lines_may_have_targets_and_links() -> None:
    plain = Corpus.from_lines(["One line.\r\n", " Two. ", "", " "], "text")
    assert [(s.source, s.target, s.gold) for s in plain.sentences] == [
        ("One line.", "", None),
        ("Two.", "", None),
    ]
    pair = Corpus.from_lines(["a b\tc d e\t0-0 1?2 1p1", "a\tb\tCC0"], "text").sentences
    assert pair[0].gold == GoldAnnotations(
        ("a", "b"), ("c", "d", "e"), frozenset({(0, 0)}), frozenset({(0, 0), (1, 2), (1, 1)})
    )
    assert pair[1].gold is None
    separate_links = Corpus.from_lines(["a b\tc d"], "text", ["1-0 0-1"]).sentences[0]
    assert separate_links.gold is not None
    assert separate_links.gold.sure == {(1, 0), (0, 1)}


@pytest.mark.parametrize(
    ("lines", "links", "message"),
    [
        ([], None, "no sentences"),
        (["a"] * (MAX_SENTENCES + 1), None, f"more than {MAX_SENTENCES:,} sentences"),
        (["a", " ", "b"], None, "line 2: the line has no sentence"),
        (["a\tb", "b"], None, "line 2: it has no tab"),
        (["a\tb\t0-0 0=1"], None, "line 1: '0=1' is not a link"),
        (["a\tb\t0-" + "9" * 5000], None, "is not a link; write the source and target word as 0-1"),
        (["a\tb\t0-1"], None, "line 1: the link 0-1 is outside"),
        (["a\tb"], ["0-0", "0-0"], "1 lines and 2 lines of links"),
    ],
)
def test_invalid_text_is_refused(lines: list[str], links: list[str] | None, message: str) -> None:
    with pytest.raises(CorpusError, match=f"^mine.*{message}"):
        Corpus.from_lines(lines, "mine", links)


def test_corpora_are_read_from_files(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "a.tsv.gz", "wt", encoding="utf-8") as file:
        file.write("the café\tle café\n")
    (tmp_path / "links").write_text("0-0 1-1\n")
    corpus = Corpus.read(tmp_path / "a.tsv.gz", tmp_path / "links")
    assert (corpus.name, corpus.n_gold) == ("a.tsv.gz", 1)
    with pytest.raises(CorpusError, match="cannot be read"):
        Corpus.read(tmp_path / "none")
    (tmp_path / "latin").write_bytes("café".encode("latin-1"))
    with pytest.raises(CorpusError, match="line 1 is not UTF-8"):
        Corpus.read(tmp_path / "latin")


def test_a_grammar_run_has_validation_pairs_with_links(tmp_path: Path) -> None:
    config = make_run_config("french", options={"n_train": 50, "n_valid": 7}, settings={"seed": 3})
    (tmp_path / "config.json").write_text(json.dumps(config.to_dict()))
    corpus = Corpus.from_run(tmp_path)
    _, valid = split(TASKS["french"], 50, 7, 3)
    assert [(s.source, s.target) for s in corpus.sentences] == [(e.src, e.tgt) for e in valid]
    assert [s.gold and s.gold.sure for s in corpus.sentences] == [
        set(e.alignment or ()) for e in valid
    ]


def test_a_run_on_own_pairs_has_its_held_out_pairs(
    tmp_path: Path, vocabulary: Vocabulary, pairs: list[tuple[str, str]]
) -> None:
    run, checkpoint = tmp_path / "mine", tmp_path / "mine" / "checkpoint"
    checkpoint.mkdir(parents=True)
    with pytest.raises(CorpusError, match="has no readable validation pairs"):
        Corpus.from_run(run)
    (run / "config.json").write_text(json.dumps(make_run_config().to_dict()))
    vocabulary.save(run / "vocabulary.model")
    TokenStore.build(run / "valid.arrow", pairs[:5], vocabulary)
    corpus = corpus_for(checkpoint, vocabulary)
    assert [(s.source, s.target) for s in corpus.sentences] == pairs[:5]
    assert corpus_for(tmp_path, vocabulary).sentences == Corpus.bundled().sentences
    symbols = Vocabulary.from_symbols(TASKS["french"].symbols)
    assert corpus_for(tmp_path, symbols) == Corpus.bundled(symbols=True)


def test_the_bundled_corpus_has_the_checkpoints_target_language(
    tmp_path: Path, tiny_model: Transformer, vocabulary: Vocabulary
) -> None:
    for code, expected in {"de": Corpus.bundled(target="de"), "fr": Corpus.bundled()}.items():
        card = front_matter(("en", code))
        save_checkpoint(tmp_path / code, tiny_model, vocabulary, card)
        assert corpus_for(tmp_path / code, vocabulary) == expected
    # For a language without translations, the sentences have no targets.
    save_checkpoint(tmp_path / "it", tiny_model, vocabulary, front_matter(("en", "it")))
    corpus = corpus_for(tmp_path / "it", vocabulary)
    assert [s.source for s in corpus.sentences] == [s.source for s in Corpus.bundled().sentences]
    assert not any(s.target or s.gold for s in corpus.sentences)


@pytest.mark.parametrize(
    ("pieces", "words", "word_of_token"),
    [
        (["▁l", "'", "ami"], ["l'", "ami"], [0, 0, 1]),
        (["▁the", "▁b", "oys"], ["the", "boys"], [0, 1, 1]),
        (["▁", "<0xE2>", "<0x82>", "<0xAC>", "▁5"], ["€", "5"], [0, 0, 0, 0, 1]),
        (["▁a", "▁", "b"], ["a", "b"], [0, 1, 1]),
        (["▁isn", "'t"], ["is", "n't"], [0, 1]),
        (["▁ﬁ"], ["ﬁ"], None),  # the vocabulary would normalise it to "fi"
        (["▁fi"], ["ﬁ"], [0]),
        (["▁a"], ["b"], None),
        (["<unk>"], ["b"], None),
    ],
)
def test_each_token_belongs_to_a_word(
    pieces: list[str], words: list[str], word_of_token: list[int] | None
) -> None:
    assert words_of(pieces, words) == word_of_token


def test_word_links_become_token_links() -> None:
    gold = GoldAnnotations(("black", "cats"), ("chats", "noirs"), *parse_links("0-1 1-0"))
    table = pieces_linked(["▁black", "▁cat", "s", "</s>"], ["▁chats", "▁no", "irs", "</s>"], gold)
    assert table is not None
    assert table.astype(int).tolist() == [[0, 1, 1, 0], [1, 0, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0]]
    assert pieces_linked(["▁blue", "</s>"], ["▁chats", "</s>"], gold) is None
