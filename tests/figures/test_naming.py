"""Names of tokens, layers and heads: the same in Python and in the browser's scripts."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.figures.deno import deno
from tests.figures.fake_traces import HOSTILE
from transformer.figures.modules import CLIENT
from transformer.measures import naming
from transformer.measures.pieces import join_bytes
from transformer.measures.words import words

TOKENS = [
    "<s>",
    "▁umbr",
    "ella",
    ",",
    "▁",
    "▁L",
    "'",
    "eau",
    ".",
    "</s>",
    "<unk>",
    "<0xC3>",
    *HOSTILE,
]


def run_script(script: str) -> Any:
    """Return what a script prints that imports naming.js as `n`."""
    import_line = f"const n = await import({json.dumps((CLIENT / 'common/naming.js').as_uri())});"
    return json.loads(deno("eval", "--quiet", import_line + script))


def test_readable_names_have_no_signs_and_count_from_1() -> None:
    names = naming.token_names(TOKENS)
    assert names[:10] == ["start", "umbr", "…ella", ",", "␣", "L", "'", "…eau", ".", "end"]
    assert naming.head_name(3, 1) == "layer 4, head 2"
    assert naming.short_name(3, 1) == "L4·H2"
    assert not naming.short_name(3, 1).replace(".", "").isdigit()


def test_exact_names_in_text_become_readable() -> None:
    sentence = "In layer 3 head L3·H1 rests on </s>; L11·H0 does not."
    assert naming.display_text(sentence) == "In layer 4 head L4·H2 rests on “end”; L12·H1 does not."
    assert naming.display_text(sentence, True) == (
        "In layer 4 head L4·H2 rests on </s>; L12·H1 does not."
    )
    assert (
        naming.display_text(f"head {naming.index_name(3, 1)}") == f"head {naming.short_name(3, 1)}"
    )


@pytest.mark.parametrize("exact", [False, True])
def test_scripts_use_the_same_names(exact: bool) -> None:
    labels = {"tokens": TOKENS, "words": words(TOKENS)}
    script = (
        f"n.setExactNames({json.dumps(exact)});"
        "const head = { layer: 3, head: 1 };"
        f"const names = n.pieceNames({json.dumps(labels)}).map(n.tokenName);"
        "console.log(JSON.stringify([names, n.headName(head), n.shortName(head)]));"
    )
    assert run_script(script) == [
        naming.token_names(TOKENS, exact),
        naming.head_name(3, 1),
        naming.short_name(3, 1),
    ]


FILE_NAME_PARTS = [
    ("attention", "en-fr", "If it rains", "heatmap", "L3-H2"),
    ("cells", "toy-reverse", "Élève à l'école", "cross", ""),
    ("cells", "", "مرحبا 👩🏽‍🚀"),
    ("cells", "../../etc/passwd", "\\x:*?\r\nİstanbul ﬁle ž½"),
    ("cells", "a.b.c.d.e.f.g.h", "x" * 99),
    ("cells", "", "a " * 99),
    *(("cells", "m", text) for text in HOSTILE),
]


def test_file_names_are_portable() -> None:
    names = [naming.file_name(*parts) for parts in FILE_NAME_PARTS]
    assert names[:4] == [
        "attention-en-fr-if-it-rains-heatmap-L3-H2",
        "cells-toy-reverse-eleve-a-l-ecole-cross",
        "cells",
        "cells-etc-passwd-x-istanbul-file-z1-2",
    ]
    assert names[5] == "cells-a-a-a-a-a-a"
    for name in names:
        assert re.fullmatch(r"[A-Za-z0-9-]{1,200}", name)


def test_scripts_use_the_same_file_names() -> None:
    script = (
        f"const given = {json.dumps(FILE_NAME_PARTS)};"
        "console.log(JSON.stringify(given.map((each) => n.exportName(...each))));"
    )
    assert run_script(script) == [naming.file_name(*parts) for parts in FILE_NAME_PARTS]


@pytest.mark.parametrize(
    ("token", "name"),
    [("▁chat", "chat"), ("lève", "…lève"), (",", ","), ("</s>", "end"), ("▁", "␣")],
)
def test_a_token_outside_of_its_sentence_shows_whether_it_continues_a_word(
    token: str, name: str
) -> None:
    assert naming.piece_name(token) == name
    assert naming.piece_name(token, exact=True) == token


def test_bytes_that_spell_characters_are_joined_and_others_stay_bytes() -> None:
    assert join_bytes("<0xC3><0x89>teins") == "Éteins"
    assert join_bytes("<0xE2><0x98><0x83>!<0xC3>") == "☃!�"
    family = "👨\u200d👧"
    assert join_bytes("".join(f"<0x{byte:02X}>" for byte in family.encode())) == family
    assert join_bytes("a<0x00><0x0A>b") == "a⟨00⟩⟨0A⟩b"
    for text in ("", "no bytes", "<0xZZ>", "\ud800"):
        assert join_bytes(text) == text


@pytest.mark.parametrize(
    ("formula", "counted_from_1"),
    [
        (r"W^Q_{2}", r"W^Q_{3}"),
        (r"\left(W^K_{0}\right)_{2,5}", r"\left(W^K_{1}\right)_{3,6}"),
        (r"q_{2,5} = \sum_i x_{2,i}\, W_{i,5} + b_{5}",
         r"q_{3,6} = \sum_i x_{3,i}\, W_{i,6} + b_{6}"),
        (r"\underbrace{1.7}_{i=58} + \underbrace{0.1}_{2\ \text{more}}",
         r"\underbrace{1.7}_{i=59} + \underbrace{0.1}_{2\ \text{more}}"),
        (r"\sqrt{d_{model}}\; E_{267,5}", r"\sqrt{d_{model}}\; E_{267,6}"),
        (r"\sum_i y_{2,i}\, E_{v,i},\quad v = 264", r"\sum_i y_{3,i}\, E_{v,i},\quad v = 264"),
        (r"\underbrace{e^{0}}_{v=2521}", r"\underbrace{e^{0}}_{v=2521}"),
        (r"P(y_{3}) = \frac{e^{z_v - M}}{2}", r"P(y_{3}) = \frac{e^{z_v - M}}{2}"),
        (r"a_{2,u},\quad u = 454", r"a_{3,u},\quad u = 455"),
        (r"c_{1,37} = \mathrm{head}^{(1)}_{1,5},\quad 37 = 1 \cdot 32 + 5",
         r"c_{2,38} = \mathrm{head}^{(2)}_{2,6},\quad 38 = (2 - 1) \cdot 32 + 6"),
        (r"PE_{2,5} = \cos\left(\frac{pos}{10000^{4/d_{model}}}\right),\quad pos = 2",
         r"PE_{3,6} = \cos\left(\frac{pos}{10000^{4/d_{model}}}\right),\quad pos = 2"),
        ("x W_1 + b_1", "x W_1 + b_1"),
    ],
)  # fmt: skip
def test_a_formula_is_counted_from_1(formula: str, counted_from_1: str) -> None:
    assert naming.display_latex(formula) == counted_from_1
