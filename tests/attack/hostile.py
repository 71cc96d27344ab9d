"""What hostile visitors and spoilt files bring: signs, texts, values of every type, spoilt JSON,
and messages of Streamlit filled at random."""

from __future__ import annotations

import contextlib
import json
import random
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from streamlit.proto.BackMsg_pb2 import BackMsg

from transformer.ui.shell.registry import PAGES, path
from transformer.ui.widgets.frame import as_sentence, plain

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
NAMES = [path(file) for file in PAGES]
Ids = dict[str, list[str]]
"""Of a page's widgets."""


def text(chance: random.Random) -> str:
    return "".join(chance.choices(BITS, k=chance.randint(0, 8)))


def check_message(error: BaseException) -> None:
    """A refusal is a sentence that can be shown."""
    message = plain(as_sentence(error))
    assert message.strip(" ."), f"a refusal without a word: {error!r}"
    assert "Traceback" not in message


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


def filled(chance: random.Random, kind: Descriptor, ids: list[str]) -> Any:
    """A message of this kind with random fields, some with what they should hold."""
    proto = kind._concrete_class()
    fields = [*kind.fields]
    for field in chance.sample(fields, chance.randint(0, len(fields))):
        for _ in range(chance.choice((1, 1, 3)) if field.is_repeated else 1):
            put(chance, proto, field, ids)
    return proto


def put(chance: random.Random, proto: Any, field: FieldDescriptor, ids: list[str]) -> None:
    """One value into one field."""
    if field.message_type is not None:
        value = filled(chance, field.message_type, ids)
        target = getattr(proto, field.name)
        target.add().CopyFrom(value) if field.is_repeated else target.CopyFrom(value)
        return
    numbers = (0, 1, -1, 2**31 - 1, 7)
    value = {
        FieldDescriptor.CPPTYPE_STRING: lambda: chance.choice((*ids, *NAMES, *words(chance))),
        FieldDescriptor.CPPTYPE_BOOL: lambda: chance.random() < 0.5,
        FieldDescriptor.CPPTYPE_DOUBLE: lambda: chance.choice((*numbers, 1e308, float("nan"))),
    }.get(field.cpp_type, lambda: chance.choice(numbers))()
    if field.type == FieldDescriptor.TYPE_BYTES:
        value = chance.randbytes(chance.choice((0, 10, 1000)))
    with contextlib.suppress(ValueError):  # a negative number where there is none
        getattr(proto, field.name).append(value) if field.is_repeated else setattr(
            proto, field.name, value
        )


def words(chance: random.Random) -> tuple[str, ...]:
    """Texts that protobuf takes: it has no lone surrogates."""
    clean = text(chance).encode("utf-8", "replace").decode()
    return clean, "model=tiny&layer=99", f"kind={clean}", "../../etc/passwd", '{"a": [1]}'


def payload(chance: random.Random, known_ids: Ids) -> bytes | str:
    """A message of any kind, whole, cut off or turned over; or something else."""
    kind = chance.randrange(16)
    if kind == 0:
        return chance.randbytes(chance.choice((1, 100, 10_000)))
    if kind == 1:
        return text(chance).encode("utf-8", "replace").decode()
    if kind == 2:
        return b"\0" * chance.choice((10**5, 10**6, 2 * 10**7 if chance.random() < 0.1 else 1))
    page = chance.choice([*known_ids])
    message = BackMsg()
    if kind > 9:  # widgets of this page, with values of other types than theirs
        message.rerun_script.page_name = page
        for _ in range(chance.randint(1, 6)):
            state = message.rerun_script.widget_states.widgets.add()
            field = chance.choice(state.DESCRIPTOR.oneofs_by_name["value"].fields)
            put(chance, state, field, known_ids[page])
            state.id = chance.choice(known_ids[page])
    else:
        field = chance.choice(BackMsg.DESCRIPTOR.fields)
        put(chance, message, field, known_ids[page])
    raw = bytearray(message.SerializeToString())
    if kind == 3 and raw:
        raw[chance.randrange(len(raw))] = chance.randrange(256)
    return bytes(raw[: chance.randrange(len(raw) + 1)] if kind == 4 else raw)
