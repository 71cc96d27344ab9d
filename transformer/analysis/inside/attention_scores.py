"""Panels of an attention up to its scores, for one head: Q, K, V, q·k, scaled (section 3.2)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from transformer.analysis.inside.context import (
    ONE,
    Axis,
    CodeOf,
    Room,
    array,
    given,
    learned,
    numbered,
    program,
    table,
)
from transformer.analysis.inside.latex import Work, number, products, signed, summed
from transformer.analysis.inside.panels import Array, Kind, Panel, Role

_LETTERS = {"query": ("q", "Queries"), "key": ("k", "Keys"), "value": ("v", "Values")}


def site(room: Room, step: str) -> str:
    """A hook of this attention: `hook_query`, `hook_scores`, …"""
    return f"{room.path}.hook_{step}"


def narrow(room: Room) -> Axis:
    """The d_k dimensions of one head."""
    return numbered(room.d_k, f"dimension of head {room.head}")


def of_head(room: Room, step: str) -> Panel:
    """Queries, keys or values, as their own box computed them."""
    name, title = _LETTERS[step]
    rows = room.rows if step == "query" else room.keys
    source = site(room, step), f"{room.name}.{step}"
    return given(room, name, title, name, source, rows, narrow(room))


def projection(room: Room) -> list[Panel]:
    """Q, K or V of the head: the tokens' vectors times its matrix (section 3.2.2)."""
    step = room.box.step
    small, title = _LETTERS[step]
    large = small.upper()
    rows, source = (room.rows, room.before) if step == "query" else (room.keys, room.attended)
    letter, read = ("m", "Memory") if source[1] == "encoder.memory" else ("x", "What comes in")
    wide = numbered(room.config.d_model, "dimension of d_model")
    x = given(room, letter, read, letter, source, rows, wide)
    cut = slice(room.head * room.d_k, (room.head + 1) * room.d_k)
    weight = array(getattr(room.block, f"w_{small}"))[cut].T
    pick = f"{room.expression()}.w_{small}[{cut.start}:{cut.stop}].T"
    symbol, origin = rf"W^{large}_{{{room.head}}}", f"{room.path}.w_{small}"
    name = f"W^{large} of head {room.head}"
    w = learned("w", name, symbol, weight, wide, narrow(room), pick, origin)
    found = room.held(x.values @ weight, room.box.site)

    def work(row: int, column: int) -> list[str]:
        return [
            rf"{small}_{{{row},{column}}} = \sum_i {letter}_{{{row},i}}\, W_{{i,{column}}}",
            f"= {products(x.values[row], weight[:, column])}",
            f"= {number(found[row, column])}",
        ]

    lines = [f"{letter} = seen[{source[0]!r}]", f"w = {pick}", f"{small} = {letter} @ w"]
    code = program([source[0]], lines, f"{small}[{{r}}, {{c}}]")
    return [x, w, table(small, title, small, found, rows, narrow(room), work, code)]


def scores(room: Room) -> list[Panel]:
    """Every query with every key, before any scaling."""
    q, k = of_head(room, "query"), of_head(room, "key")
    if room.config.score == "additive":
        return _additive(room, q, k)
    found = q.values @ k.values.T

    def work(row: int, column: int) -> list[str]:
        return [
            rf"s_{{{row},{column}}} = \sum_i q_{{{row},i}}\, k_{{{column},i}}",
            f"= {products(q.values[row], k.values[column])}",
            f"= {number(found[row, column])}",
        ]

    code = program(*_from_qk(room, "s = q @ k.T"), "s[{r}, {c}]")
    return [q, k, pairs(room, "s", "Scores", "s", found, work, code)]


def _additive(room: Room, q: Panel, k: Panel) -> list[Panel]:
    """v · tanh(q + k), Bahdanau et al. 2015."""
    v = array(room.block.score.v)[room.head]
    expression, origin = f"{room.expression()}.score.v[{room.head}]", f"{room.path}.score.v"
    weight = learned("v", "v", "v", v[None], ONE, narrow(room), f"{expression}[None]", origin)
    by_query = [np.tanh(one + k.values) @ v for one in q.values]
    found = room.held(np.stack(by_query), site(room, "scores"))

    def work(row: int, column: int) -> list[str]:
        a, b = q.values[row], k.values[column]

        def write(i: int) -> str:
            return rf"{signed(v[i])} \cdot \tanh({number(a[i])} + {signed(b[i])})"

        return [
            rf"s_{{{row},{column}}} = \sum_i v_i \tanh(q_{{{row},i}} + k_{{{column},i}})",
            f"= {summed(v * np.tanh(a + b), write)}",
            f"= {number(found[row, column])}",
        ]

    lines = [f"v = {expression}", "s = torch.tanh(q[:, None] + k) @ v"]
    code = program(*_from_qk(room, *lines), "s[{r}, {c}]")
    return [q, k, weight, pairs(room, "s", "Scores", "s", found, work, code)]


def scale(room: Room) -> list[Panel]:
    """Divided by √d_k, or left as they are."""
    before = scores(room)[-1]
    s = replace(before, role="input", origin=f"{room.name}.scores")
    if room.config.score != "scaled_dot":
        found = room.held(s.values, room.box.site)

        def same(row: int, column: int) -> list[str]:
            value = number(found[row, column])
            return [rf"s'_{{{row},{column}}} = s_{{{row},{column}}}", f"= {value}"]

        return [s, pairs(room, "scaled", "Scores, not scaled", "s'", found, same, s.code)]
    found = room.held(s.values / room.d_k**0.5, room.box.site)

    def work(row: int, column: int) -> list[str]:
        return [
            rf"s'_{{{row},{column}}} = \frac{{s_{{{row},{column}}}}}{{\sqrt{{d_k}}}}",
            rf"= \frac{{{number(s.values[row, column])}}}{{\sqrt{{{room.d_k}}}}}",
            f"= {number(found[row, column])}",
        ]

    lines = ["s = q @ k.T", f"scaled = s / {room.d_k} ** 0.5"]
    code = program(*_from_qk(room, *lines), "scaled[{r}, {c}]")
    return [s, pairs(room, "scaled", "Scores ÷ √d_k", "s'", found, work, code)]


def axes(room: Room) -> tuple[Axis, Axis]:
    """Queries down and keys across."""
    rows, keys = room.rows, room.keys
    return Axis(rows.labels, f"query: {rows.title}"), Axis(keys.labels, f"key: {keys.title}")


def pairs(
    room: Room,
    name: str,
    title: str,
    symbol: str,
    values: Array,
    work: Work,
    code: CodeOf,
    kind: Kind = "signed",
    role: Role = "result",
) -> Panel:
    """A number for every query and key."""
    return table(name, title, symbol, values, *axes(room), work, code, kind=kind, role=role)


def _from_qk(room: Room, *lines: str) -> tuple[list[str], list[str]]:
    """Hooks and lines of a program that starts from queries and keys."""
    sites = [site(room, "query"), site(room, "key")]
    names = zip("qk", sites, strict=True)
    return sites, [*(f"{name} = seen[{one!r}][{room.head}]" for name, one in names), *lines]
