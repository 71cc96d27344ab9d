"""Random hostile input: texts, values of every type, corrupted JSON, and random Streamlit
messages."""

from __future__ import annotations

import contextlib
import json
import random
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from streamlit.proto.BackMsg_pb2 import BackMsg

from transformer.ui.shell.registry import PAGES, path
from transformer.ui.widgets.frame import as_sentence, plain

TEXT_FRAGMENTS = (
    *("", " ", "\t", "\n", "\r\n", "\0", "\x1b[2J", "\u200b", "\u202e", "\ufeff", "\ud800", "\x85"),
    *("é", "e\u0301", "😀", "の", "a" * 2000, "9" * 5000, "-1", "1e309", "NaN", "null", "[]", "{}"),
    *("<script>", "![x](http://x)", "$$", "`", "../..", "%00", "' OR 1", "0-0", "1?2", "▁", "</s>"),
    *("https://evil.example", "www.evil.example", "me@evil.example", "0" * 400, "true", ",", ";"),
)
ODD_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2**31, 10**30, 10**400, 0.5, -0.0, 1e308, float("inf")),
    *(float("nan"), "", "x", "running", "9" * 5000, [], [1], [[]], {}, {"a": 1}, [None] * 3),
)
PAGE_PATHS = [path(file) for file in PAGES]
WidgetIds = dict[str, list[str]]
"""Widget ids by page."""


def random_text(rng: random.Random) -> str:
    return "".join(rng.choices(TEXT_FRAGMENTS, k=rng.randint(0, 8)))


def check_message(error: BaseException) -> None:
    """Check that the error message is a sentence that a page can display."""
    message = plain(as_sentence(error))
    assert message.strip(" ."), f"an error without a message: {error!r}"
    assert "Traceback" not in message


def corrupt_json(rng: random.Random, values: dict[str, Any]) -> str:
    """Return `values` as JSON with one value replaced, or truncated, or other text."""
    case = rng.randrange(8)
    if case == 0:
        return rng.choice(("", "[]", "3", "[" * 100_000, '"x"', "9" * 5000, "\0", "nul"))
    inner, name = values, rng.choice([*values])
    while isinstance(inner[name], dict) and inner[name] and rng.random() < 0.8:
        inner = inner[name]
        name = rng.choice([*inner])
    inner[name] = rng.choice(ODD_VALUES)
    text = json.dumps(values)
    return text[: rng.randrange(len(text))] if case == 1 else text


def random_message(rng: random.Random, message_type: Descriptor, ids: list[str]) -> Any:
    """Return a message of this type with random fields, some of them valid."""
    message = message_type._concrete_class()
    fields = [*message_type.fields]
    for field in rng.sample(fields, rng.randint(0, len(fields))):
        for _ in range(rng.choice((1, 1, 3)) if field.is_repeated else 1):
            set_random_value(rng, message, field, ids)
    return message


def set_random_value(
    rng: random.Random, message: Any, field: FieldDescriptor, ids: list[str]
) -> None:
    """Set one field of the message, or append to a repeated one."""
    if field.message_type is not None:
        value = random_message(rng, field.message_type, ids)
        target = getattr(message, field.name)
        target.add().CopyFrom(value) if field.is_repeated else target.CopyFrom(value)
        return
    numbers = (0, 1, -1, 2**31 - 1, 7)
    value = {
        FieldDescriptor.CPPTYPE_STRING: lambda: rng.choice(
            (*ids, *PAGE_PATHS, *random_strings(rng))
        ),
        FieldDescriptor.CPPTYPE_BOOL: lambda: rng.random() < 0.5,
        FieldDescriptor.CPPTYPE_DOUBLE: lambda: rng.choice((*numbers, 1e308, float("nan"))),
    }.get(field.cpp_type, lambda: rng.choice(numbers))()
    if field.type == FieldDescriptor.TYPE_BYTES:
        value = rng.randbytes(rng.choice((0, 10, 1000)))
    with contextlib.suppress(ValueError):  # a negative number in an unsigned field
        getattr(message, field.name).append(value) if field.is_repeated else setattr(
            message, field.name, value
        )


def random_strings(rng: random.Random) -> tuple[str, ...]:
    """Return strings that protobuf accepts, without lone surrogates."""
    clean = random_text(rng).encode("utf-8", "replace").decode()
    return clean, "model=tiny&layer=99", f"kind={clean}", "../../etc/passwd", '{"a": [1]}'


def random_payload(rng: random.Random, known_ids: WidgetIds) -> bytes | str:
    """Return a message of any type, intact, truncated or with a changed byte, or other data."""
    case = rng.randrange(16)
    if case == 0:
        return rng.randbytes(rng.choice((1, 100, 10_000)))
    if case == 1:
        return random_text(rng).encode("utf-8", "replace").decode()
    if case == 2:
        return b"\0" * rng.choice((10**5, 10**6, 2 * 10**7 if rng.random() < 0.1 else 1))
    page = rng.choice([*known_ids])
    message = BackMsg()
    if case > 9:  # widgets of this page with values of random types
        message.rerun_script.page_name = page
        for _ in range(rng.randint(1, 6)):
            state = message.rerun_script.widget_states.widgets.add()
            field = rng.choice(state.DESCRIPTOR.oneofs_by_name["value"].fields)
            set_random_value(rng, state, field, known_ids[page])
            state.id = rng.choice(known_ids[page])
    else:
        field = rng.choice(BackMsg.DESCRIPTOR.fields)
        set_random_value(rng, message, field, known_ids[page])
    raw = bytearray(message.SerializeToString())
    if case == 3 and raw:
        raw[rng.randrange(len(raw))] = rng.randrange(256)
    return bytes(raw[: rng.randrange(len(raw) + 1)] if case == 4 else raw)
