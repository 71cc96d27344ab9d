"""What hostile visitors and spoilt files bring: signs, texts, values of every type, spoilt JSON."""

from __future__ import annotations

import json
import random
from typing import Any

from transformer.ui.frame import plain, sentence

BITS = (
    *("", " ", "\t", "\n", "\r\n", "\0", "\x1b[2J", "\u200b", "\u202e", "\ufeff", "\ud800", "\x85"),
    *("é", "e\u0301", "😀", "の", "a" * 2000, "9" * 5000, "-1", "1e309", "NaN", "null", "[]", "{}"),
    *("<script>", "![x](http://x)", "$$", "`", "../..", "%00", "' OR 1", "0-0", "1?2", "▁", "</s>"),
    *("https://evil.example", "www.evil.example", "me@evil.example", "0" * 400, "true", ",", ";"),
)
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2**31, 10**30, 10**400, 0.5, -0.0, 1e308, float("inf")),
    *(float("nan"), "", "x", "running", "9" * 5000, [], [1], [[]], {}, {"a": 1}, [None] * 3),
)


def text(chance: random.Random) -> str:
    return "".join(chance.choices(BITS, k=chance.randint(0, 8)))


def told(error: BaseException) -> None:
    """A refusal is a sentence that can be shown."""
    shown = plain(sentence(error))
    assert shown.strip(" ."), f"a refusal without a word: {error!r}"
    assert "Traceback" not in shown


def spoil(chance: random.Random, values: dict[str, Any]) -> str:
    """JSON with one value of another type or size somewhere, or cut off, or something else."""
    kind = chance.randrange(8)
    if kind == 0:
        return chance.choice(("", "[]", "3", "[" * 100_000, '"x"', "9" * 5000, "\0", "nul"))
    inner, name = values, chance.choice([*values])
    while isinstance(inner[name], dict) and inner[name] and chance.random() < 0.8:
        inner = inner[name]
        name = chance.choice([*inner])
    inner[name] = chance.choice(VALUES)
    written = json.dumps(values)
    return written[: chance.randrange(len(written))] if kind == 1 else written
