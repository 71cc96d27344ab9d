"""Names of tokens, layers and heads: the same in Python and in the browser's scripts."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.figures.made import HOSTILE
from tests.figures.node import node
from transformer import figures
from transformer.figures.state import state_of
from transformer.measures import naming
from transformer.measures.naming import token_name, token_names
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
BROWSER = Path(figures.__file__).parent / "browser"


def printed(script: str) -> Any:
    """What a script prints that has naming.js as `n`."""
    begin = f"const n = await import({json.dumps((BROWSER / 'naming.js').as_uri())});"
    told = node("--input-type=module", "--no-warnings", "-e", begin + script)
    assert told.returncode == 0, told.stderr
    return json.loads(told.stdout)


def test_people_read_no_signs_and_count_from_1() -> None:
    names = naming.token_names(TOKENS)
    assert names[:10] == ["start", "umbr", "…ella", ",", "␣", "L", "'", "…eau", ".", "end"]
    assert naming.head_name(3, 1) == "layer 4, head 2"
    assert naming.short_name(3, 1) == "L4·H2"
    assert not naming.short_name(3, 1).replace(".", "").isdigit()


def test_what_was_said_exactly_is_retold() -> None:
    said = "In layer 3 head L3·H1 rests on </s>; L11·H0 does not."
    assert naming.retold(said) == "In layer 4 head L4·H2 rests on “end”; L12·H1 does not."
    assert naming.retold(said, True) == said


def test_exactly_nothing_is_changed() -> None:
    assert naming.token_names(TOKENS, True) == TOKENS
    assert naming.head_name(3, 1, True) == "layer 3, head 1"
    assert naming.short_name(3, 1, True) == "L3·H1"


@pytest.mark.parametrize("exact", [False, True])
def test_the_scripts_name_alike(exact: bool) -> None:
    labels = {"tokens": TOKENS, "words": words(TOKENS)}
    script = (
        f"n.nameExactly({json.dumps(exact)});"
        "const head = { layer: 3, head: 1 };"
        f"const names = n.pieceNames({json.dumps(labels)}).map(n.tokenName);"
        "console.log(JSON.stringify([names, n.headName(head), n.shortName(head)]));"
    )
    assert printed(script) == [
        naming.token_names(TOKENS, exact),
        naming.head_name(3, 1, exact),
        naming.short_name(3, 1, exact),
    ]


FILES = [
    ("attention", "en-fr", "If it rains", "heatmap", "L3-H2"),
    ("cells", "toy-reverse", "Élève à l'école", "cross", ""),
    ("cells", "", "مرحبا 👩🏽‍🚀"),
    ("cells", "../../etc/passwd", "\\x:*?\r\nİstanbul ﬁle ž½"),
    ("cells", "a.b.c.d.e.f.g.h", "x" * 99),
    ("cells", "", "a " * 99),
    *(("cells", "m", text) for text in HOSTILE),
]


def test_names_of_files_hold_letters_that_every_file_system_takes() -> None:
    names = [naming.file_name(*given) for given in FILES]
    assert names[:4] == [
        "attention-en-fr-if-it-rains-heatmap-L3-H2",
        "cells-toy-reverse-eleve-a-l-ecole-cross",
        "cells",
        "cells-etc-passwd-x-istanbul-file-z1-2",
    ]
    assert names[5] == "cells-a-a-a-a-a-a"
    for name in names:
        assert re.fullmatch(r"[A-Za-z0-9-]{1,200}", name)


def test_the_scripts_name_files_alike() -> None:
    script = (
        f"const given = {json.dumps(FILES)};"
        "console.log(JSON.stringify(given.map((each) => n.stampedName(...each))));"
    )
    assert printed(script) == [naming.file_name(*given) for given in FILES]


def test_what_links_said_before_is_understood() -> None:
    assert state_of({"units": "pieces"})["exact"] == 1
    assert state_of({"units": "words"})["exact"] == 0


def test_a_byte_is_called_a_byte() -> None:
    assert token_names(["▁", "<0xC3>", "<0x89>", "teins"]) == [
        "␣",
        "…byte C3",
        "…byte 89",
        "…teins",
    ]
    assert token_name("<0xC3>", exact=True) == "<0xC3>"


def test_bytes_that_spell_characters_are_joined_and_others_stay_bytes() -> None:
    assert join_bytes("<0xC3><0x89>teins") == "Éteins"
    assert join_bytes("<0xE2><0x98><0x83>!<0xC3>") == "☃!⟨C3⟩"
    assert join_bytes("a<0x00><0x0A>b") == "a⟨00⟩⟨0A⟩b"
    for text in ("", "no bytes", "<0xZZ>", "\ud800"):
        assert join_bytes(text) == text
