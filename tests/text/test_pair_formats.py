"""Formats of sentence pairs are recognised, refused, or called uncertain."""

from __future__ import annotations

import bz2
import csv
import hashlib
import io
import json
import lzma
import uuid
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from transformer.analysis.corpora import Corpus
from transformer.text import CorpusError, parse_pairs, read_pairs
from transformer.text.corpus import read_sentences
from transformer.text.languages import NAMES
from transformer.text.pair_columns import MAX_COLUMNS, MIN_ROWS, text_columns
from transformer.text.pair_formats import split_text

NOUNS = "cat:chat dog:chien book:livre car:camion house:palais tree:arbre bird:oiseau key:verrou"
PAIRS = [
    (f"The {noun} is {place}, now.", f"Le {nom} est {lieu}, maintenant.")
    for noun, nom in (words.split(":") for words in NOUNS.split())
    for place, lieu in (("here", "ici"), ("there", "là"), ("old", "vieux"))
]


def rows(line: Callable[[int, str, str], str]) -> str:
    return "\n".join(line(number, *pair) for number, pair in enumerate(PAIRS, start=17)) + "\n"


def csv_text(separator: str, header: list[str], row: Callable[[int, str, str], list[str]]) -> str:
    """Return what Python's csv module writes for the pairs."""
    out = io.StringIO()
    writer = csv.writer(out, delimiter=separator)
    if header:
        writer.writerow(header)
    writer.writerows(row(number, *pair) for number, pair in enumerate(PAIRS))
    return out.getvalue()


FORMATS = {
    "tab": rows(lambda n, s, t: f"{s}\t{t}"),
    "tab and further columns": rows(lambda n, s, t: f"{s}\t{t}\tCC-BY 2.0\t{n}"),
    "ids": rows(lambda n, s, t: f"{n}\t{s}\t{t}"),
    "named ids": rows(lambda n, s, t: f"sent_{n}\t{s}\t{t}"),
    "score first": rows(lambda n, s, t: f"1.{n}\t{s}\t{t}"),
    "Tatoeba pairs": rows(lambda n, s, t: f"{n}\t{s}\t{9 * n}\t{t}"),
    "Tatoeba detailed": rows(lambda n, s, t: f"{n}\teng\t{s}\t{9 * n}\tfra\t{t}"),
    "languages": rows(lambda n, s, t: f"eng\t{s}\tfra\t{t}"),
    "TSV with a header": "source\ttarget\n" + rows(lambda n, s, t: f"{s}\t{t}"),
    "TSV with languages": "English\tFrench\n" + rows(lambda n, s, t: f"{s}\t{t}"),
    "TSV with ids and a header": "id\ten\tfr\n" + rows(lambda n, s, t: f"{n}\t{s}\t{t}"),
    "quoted TSV": rows(lambda n, s, t: f'"{s}"\t"{t}"'),
    "fast_align": rows(lambda n, s, t: f"{s} ||| {t}"),
    "fast_align without spaces": rows(lambda n, s, t: f"{s}|||{t}"),
    "phrase table": rows(lambda n, s, t: f"{s} ||| {t} ||| 0.5 0.1 ||| 0-0"),
    "a column of labels": rows(lambda n, s, t: f"{'AB'[n % 2]}\t{s}\t{t}"),
    "parts of speech": rows(lambda n, s, t: f"{s}\tnoun\t{t}"),
    "percent": rows(lambda n, s, t: f"{n},5 %\t{s}\t{t}"),
    "times": rows(lambda n, s, t: f"00:01:{n},5\t{s}\t{t}"),
    "durations": rows(lambda n, s, t: f"{n} min\t{s}\t{t}"),
    "file names": rows(lambda n, s, t: f"news-{n}.sgm\t{s}\t{t}"),
    "hashes": rows(lambda n, s, t: f"{hashlib.md5(s.encode()).hexdigest()}\t{s}\t{t}"),
    "UUIDs": rows(lambda n, s, t: f"{uuid.uuid5(uuid.NAMESPACE_DNS, s)}\t{s}\t{t}"),
    "manythings.org": rows(lambda n, s, t: f"{s}\t{t}\tCC-BY 2.0 Attribution: a.org #{n} (CK)"),
    "crawled": rows(lambda n, s, t: f"https://a.org/{n}\thttps://a.org/fr\t{s}\t{t}\t0.{n}"),
    "bar": rows(lambda n, s, t: f"{s} | {t}"),
    "dash": rows(lambda n, s, t: f"{s} - {t}"),
    "long dash": rows(lambda n, s, t: f"{s} – {t}"),
    "equals": rows(lambda n, s, t: f"{s} = {t}"),
    "arrow": rows(lambda n, s, t: f"{s} → {t}"),
    "pairs.csv": csv_text(",", [], lambda n, s, t: [s, t]),
    "quoted comma": csv_text(",", [], lambda n, s, t: [s, t]),
    "semicolon": csv_text(";", [], lambda n, s, t: [s, t]),
    "CSV with ids": csv_text(",", [], lambda n, s, t: [str(n), s, t]),
    "CSV with a header": csv_text(",", ["en", "fr"], lambda n, s, t: [s, t]),
    "CSV with an index": csv_text(",", ["", "src", "tgt"], lambda n, s, t: [str(n), s, t]),
    "CSV with a named pair": csv_text(
        ",", ["id", "domain", "en", "fr"], lambda n, s, t: [str(n), f"topic {n % 3}", s, t]
    ),
    "TSV with named sides": "src_text\ttgt_text\n" + rows(lambda n, s, t: f"{s}\t{t}"),
    "TSV with regions": "English (US)\tfr_FR\n" + rows(lambda n, s, t: f"{s}\t{t}"),
}


def clean(pairs: list[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(src.strip(), tgt.strip()) for src, tgt in pairs]


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_gives_the_same_pairs(tmp_path: Path, name: str) -> None:
    path = tmp_path / (name if name.endswith(".csv") else f"{name}.txt")
    for line_end in ("\n", "\r\n", "\r"):
        text = FORMATS[name].replace("\r\n", "\n").replace("\n", line_end)
        assert clean([*parse_pairs(split_text(text), name)]) == PAIRS, repr(line_end)
        path.write_bytes(text.encode())
        assert clean([*read_pairs(path)]) == PAIRS, repr(line_end)


@pytest.mark.parametrize(
    "line",
    ['"The {0}, here; now.";"Le {0}, ici ; là."', "The {0}, here.;Le {0}, ici.", "{0}, yes;{0}"],
)
@pytest.mark.parametrize("name", ["mine.csv", "mine.txt"])
def test_semicolons_are_recognised_where_the_texts_have_commas(line: str, name: str) -> None:
    words = ["cat", "dog", "house", "river"]
    text = "".join(line.format(word) + "\n" for word in words)
    source, target = line.replace('"', "").rsplit(";", 1) if "now" not in line else (
        "The {0}, here; now.", "Le {0}, ici ; là."
    )  # fmt: skip
    pairs = [*parse_pairs(split_text(text), name)]
    assert pairs == [(source.format(word), target.format(word)) for word in words]


@pytest.mark.parametrize("end", ["\x0b", "\x0c", "\x85", "\u2028", "\u2029"])
def test_other_line_ends_are_named(end: str) -> None:
    text = "".join(f"{source}\t{target}{end}" for source, target in PAIRS)
    with pytest.raises(CorpusError, match=rf"several lines with U\+{ord(end):04X} between them"):
        [*parse_pairs(split_text(text), "mine.txt")]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (rows(lambda n, s, t: f"{s}\n{t}"), "line 1 has no tab; every line needs a source, a tab"),
        (rows(lambda n, s, t: f"{s}\n{t}\n"), "line 1 has no tab"),
        (rows(lambda n, s, t: f"{s}     {t}"), "line 1 has no tab"),
        (rows(lambda n, s, t: s), "line 1 has no tab"),
        (rows(lambda n, s, t: f"Well, {n} cats"), "line 1 has no tab"),
        ("| en | fr |\n|---|:-:|\n" + rows(lambda n, s, t: f"| {s} | {t} |"), "a Markdown table"),
        (rows(lambda n, s, t: f"{n}\t{s}"), "the first column may be a number"),
        (rows(lambda n, s, t: f"{n}\teng\t{s}"), "has only one column of text"),
        (rows(lambda n, s, t: f"{n}\t{s}\t{t}\t{t} {s}"), "3 columns have texts and no header"),
        (rows(lambda n, s, t: f"{n:x}a7\t{s}"), "the first column may be a number"),
        (rows(lambda n, s, t: f"<i>{s}</i>\t{t}"), "HTML in its sentences; export it as plain"),
        (rows(lambda n, s, t: f"{s}\t{t}<br>&nbsp;"), "HTML in its sentences"),
        ("en\tde\tfr\n" + rows(lambda n, s, t: f"{s}\tin {n}\t{t}"), "the header does not say"),
        (rows(lambda n, s, t: f'"{s}": "{t}"'), "is JSON; extract its sentences"),
        (rows(lambda n, s, t: f'"{s}" is "{t}"'), "line 1 has no tab"),
        ("sep=;\n" + rows(lambda n, s, t: f"{s};{t}"), "begins with the line 'sep=;'; delete"),
        ("#html:true\n" + rows(lambda n, s, t: f"<b>{s}</b>\t{t}"), "the line '#html:true'; del"),
        ("#tags column:3\n" + rows(lambda n, s, t: f"{s}\t{t}\ta"), "export Anki's notes without"),
        (rows(lambda n, s, t: f"{s}\t{t}") * 9 + "1\tOne.\tUn.\n", "line 217 has 3 columns"),
    ],
)
def test_an_uncertain_format_is_refused_with_a_reason(text: str, reason: str) -> None:
    with pytest.raises(CorpusError, match=reason):
        [*parse_pairs(split_text(text), "mine.txt")]


@pytest.mark.parametrize(
    ("text", "pair"),
    [
        ("1 2 3\t3 2 1\n" * 30, ("1 2 3", "3 2 1")),  # numbers are texts in a task
        ("12\t21\n13\t31\n14\t41\n15\t51\n", ("12", "21")),
        ("1\tone\n2\ttwo\n3\tthree\n4\tfour\n5\tfive\n6\tsix\n7\tseven\n", ("1", "one")),
        ("three\t3\n" * 9, ("three", "3")),
        ("cat\tchat\nno\tnon\nEnglish\tanglais\nyes\toui\n", ("cat", "chat")),
        ("English\tanglais\ncat\tchat\nno\tnon\nyes\toui\n", ("English", "anglais")),
        ("source\tressource\ncat\tchat\nno\tnon\nyes\toui\n", ("source", "ressource")),
        ('"Yes", he said.\t« Oui », dit-il.\nNo.\tNon.\n', ('"Yes", he said.', "« Oui », dit-il.")),
        ("a | b\tc | d\n" * 4, ("a | b", "c | d")),
        ("<b>\tgras\n{\taccolade\n[\tcrochet\n", ("<b>", "gras")),
    ],
)
def test_a_table_of_two_columns_is_read_literally(text: str, pair: tuple[str, str]) -> None:
    pairs = [*parse_pairs(split_text(text), "mine.txt")]
    assert pairs[0] == pair
    assert len(pairs) == text.count("\n")


def test_cells_that_a_spreadsheet_has_quoted_are_read_without_the_quotes() -> None:
    pairs = [(f'He said "{src}"', f"{tgt} 3") for src, tgt in PAIRS] + [("Yes.", "Oui.")] * 3
    out = io.StringIO()
    csv.writer(out, delimiter="\t").writerows(pairs)
    lines = [
        "\t".join(
            f'"{cell}"' if "," in cell and '"' not in cell else cell for cell in line.split("\t")
        )
        for line in out.getvalue().splitlines()
    ]  # a spreadsheet quotes cells with a comma as well
    assert [*parse_pairs(lines, "mine.txt")] == pairs


def test_an_uncertain_table_is_no_corpus_to_measure() -> None:
    for line in ("{n}\t{s} It is.", '{n},"{s}","{t}","{s}"'):
        text = rows(lambda n, s, t, line=line: line.format(n=n, s=s, t=t))
        with pytest.raises(CorpusError, match=r"mine seems to have .*, but "):
            Corpus.from_lines(split_text(text), "mine")
    scored = rows(lambda n, s, t: f"{s}\t{t}\t0.{n}")  # scores are not links
    assert Corpus.from_lines(split_text(scored), "mine").n_gold == 0


def zipped(content: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("pairs.tsv", content)
    return file.getvalue()


OTHER_TEXTS = {
    json.dumps({"cells": [{"source": ["a"]}], "nbformat": 4}, indent=1): "a Jupyter notebook",
    json.dumps([{"en": "Yes.", "fr": "Oui."}] * 3): "JSON",
    '{"en": "Yes.", "fr": "Oui."}\n' * 3: "JSON",
    '["Yes.", "No."]\n': "JSON",
    "[\n  [1, 2],\n  [3, 4]\n]\n": "JSON",
    "<!DOCTYPE html>\n<html><body><p>Yes.</p></body></html>\n": "HTML",
    "<html>\n<p>Yes.\n": "HTML",
    "<p>Yes.</p>\n<p>No.</p>\n": "XML",
    '<?xml version="1.0"?>\n<tmx version="1.4">\n<body>\n</body></tmx>\n': "XML",
    "<doc id='1'>\n<seg id='1'>Yes.</seg>\n": "XML",
    "1\n00:00:01,000 --> 00:00:02,000\nYes.\n\n2\n": "subtitles",
    "WEBVTT\n\n00:01.000 --> 00:02.000\nYes.\n": "subtitles",
    'msgid "Yes"\nmsgstr "Oui"\n': "a gettext catalogue",
    '#, fuzzy\n\nmsgctxt "x"\nmsgid "Yes"\nmsgstr "Oui"\n': "a gettext catalogue",
    "{'en': 'Yes.', 'fr': 'Oui.'}\n": "Python data",
    "{\\rtf1\\ansi Yes.}\n": "RTF",
}


@pytest.mark.parametrize("text", OTHER_TEXTS)
def test_text_of_another_kind_is_no_pairs_and_no_corpus(text: str) -> None:
    for read in (parse_pairs, Corpus.from_lines):
        with pytest.raises(CorpusError, match=rf"mine is {OTHER_TEXTS[text]}.*; extract its sent"):
            [*read(split_text(text), "mine")]


@pytest.mark.parametrize(
    ("compress", "kind"),
    [
        (bz2.compress, "compressed with bzip2"),
        (lzma.compress, "compressed with xz"),
        (zipped, "a zip archive, such as .docx or .xlsx"),
    ],
)
def test_compressed_files_are_named(
    compress: Callable[[bytes], bytes], kind: str, tmp_path: Path
) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_bytes(compress("".join(f"{src}\t{tgt}\n" for src, tgt in PAIRS).encode()))
    for read in (read_pairs, read_sentences):
        with pytest.raises(CorpusError, match=f"pairs.tsv is {kind}; give a text file"):
            [*read(path)]


def test_sentences_with_commas_and_dashes_remain_sentences() -> None:
    lines = [f"Well, {src} - really" if n % 5 else src for n, (src, _) in enumerate(PAIRS)]
    corpus = Corpus.from_lines(lines, "mine.txt")
    assert [sentence.source for sentence in corpus.sentences] == lines
    assert not any(sentence.target for sentence in corpus.sentences)


def test_a_line_of_separators_is_no_table_of_thousands_of_columns() -> None:
    assert len(text_columns([["The cat."] * 10_000] * MIN_ROWS)) == MAX_COLUMNS


@pytest.mark.parametrize("pronunciation", ["/{}/", "[{}]"])
def test_a_column_of_pronunciations_is_no_target_unless_it_is_the_only_one(
    pronunciation: str,
) -> None:
    ipa = pronunciation.format
    three = rows(lambda _, src, tgt: f"{src}\t{ipa(src.lower())}\t{tgt}")
    assert [*parse_pairs(split_text(three), "mine")] == PAIRS
    two = rows(lambda _, src, tgt: f"{src}\t{ipa(src.lower())}")
    assert [*parse_pairs(split_text(two), "mine")] == [(src, ipa(src.lower())) for src, _ in PAIRS]


TEXTS = json.loads(Path(__file__).with_name("pair_texts.json").read_text(encoding="utf-8"))
"""Texts with their pairs, and texts that are refused: the browser's reader has the same results, as
`tests/figures/scripts/pair-text.test.js` checks."""


@pytest.mark.parametrize("name", TEXTS["pairs"])
def test_a_text_has_the_same_pairs_as_in_the_browser(name: str) -> None:
    text, pairs = TEXTS["pairs"][name].values()
    read = [*parse_pairs(split_text(text), "mine.txt")]
    assert [[" ".join(side.split()) for side in pair] for pair in read] == pairs


@pytest.mark.parametrize("name", TEXTS["refused"])
def test_a_text_is_refused_as_in_the_browser(name: str) -> None:
    with pytest.raises(CorpusError):
        [*parse_pairs(split_text(TEXTS["refused"][name]), "mine.txt")]


def test_languages_of_a_header_are_those_of_the_browser() -> None:
    script = Path("transformer/client/training/pair-text.js").read_text(encoding="utf-8")
    languages = " ".join(f"{code} {name}" for code, name in NAMES.items())
    assert f'"{languages}"' in script
