"""The door, and the descriptions of the same requests in Python and in TypeScript."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.hostile import JSON_VALUES, TEXTS, check_message, corrupt_bytes, corrupt_json
from transformer.api import requests
from transformer.api.kinds import KINDS
from transformer.figures.modules import CLIENT
from transformer.text import door
from transformer.text.door import Refusal, accepts, title, whole

EXAMPLE = {
    "model": "en-fr",
    "text": "I am a student.",
    "prefix": [3, 4],
    "method": "beam",
    "beam_size": 4,
    "length_penalty": 0.5,
    "target": "Je suis là.",
    "temperature": 1.5,
    "top_k": 3,
    "top_p": 0.5,
    "seed": 2,
    "other_model": "en-de",
    "off": "e3.2,c5",
    "ablation": "mean",
    "edited_row": "c5.1.3:0x70,4x30",
    "masked_tokens": "0,3",
    "patch": "encoder.hook_memory:1:1",
    "other": "You are a student.",
    "with_alternatives": True,
    "force": "2:12",
    "start": {"view": "heads", "layer": 2},
    "visit": 1,
    "step": 2,
    "number": 2,
    "name": "0.query.cross.5.2",
    "head": {"kind": "cross", "layer": 5, "head": 1},
    "row": 1,
    "names": ["*.hook_weights"],
    "format": "json",
    "lesson": "norm",
    "exact": True,
}
SHAPES = sorted({kind.shape for kind in KINDS.values()}, key=lambda shape: shape.__name__)


@pytest.mark.parametrize("shape", SHAPES)
@given(data=st.data())
def test_hostile_messages_are_read_or_refused_with_a_sentence(
    shape: type, data: st.DataObject
) -> None:
    """What is read can be encoded, and is of the declared shape."""
    valid = {name: EXAMPLE[name] for name in door.rules(shape)}
    message = data.draw(
        corrupt_json(valid).map(lambda text: text.encode("utf-8", "surrogatepass"))
        | corrupt_bytes(json.dumps(valid).encode())
    )
    try:
        read = door.read(message, shape)
    except Refusal as error:
        refusal = error
    else:
        assert isinstance(read, shape)
        repr(read).encode()
        return
    check_message(refusal)
    assert 400 <= refusal.status < 500
    assert len(str(refusal).encode()) < 2000


@given(st.dictionaries(TEXTS, JSON_VALUES, max_size=4))
def test_unknown_fields_are_refused(values: dict[str, object]) -> None:
    with pytest.raises(Refusal) as refusal:
        door.read_fields(values | {"nothing": 1}, requests.SentenceRequest)
    check_message(refusal.value)


@dataclass(frozen=True, kw_only=True)
class Greeting:
    name: str = accepts(title(5))
    times: int = accepts(whole(1, 3), 1)


@pytest.mark.parametrize(
    "name", ["\u202eAnn", "A\nn", "A\tn", "A\0n", "A\u200bn", "\ud800", "toolong", 3, None]
)
def test_a_title_is_one_visible_line(name: object) -> None:
    with pytest.raises(Refusal, match=r"^name must be"):
        door.read_fields({"name": name}, Greeting)
    assert door.read_fields({"name": "Añn"}, Greeting) == Greeting(name="Añn")


@pytest.mark.parametrize("times", [0, 4, True, 1.0, "1", 10**400, float("nan"), None, [1]])
def test_a_number_is_whole_and_in_its_bounds(times: object) -> None:
    with pytest.raises(Refusal, match=r"^times must be a whole number from 1 to 3, not"):
        door.read_fields({"name": "Ann", "times": times}, Greeting)


@pytest.mark.parametrize(
    ("message", "status"),
    [
        (b"", 400),
        (b"[]", 400),
        (b"\xff", 400),
        (b"[" * 50_000, 400),
        (b'{"text": NaN}', 400),
        (b'{"beam_size": ' + b"9" * 5000 + b"}", 400),
        (b"a" * 64_001, 413),
        (b'{"model": "x"}', 422),
    ],
)
def test_the_status_says_what_is_wrong(message: bytes, status: int) -> None:
    with pytest.raises(Refusal) as refusal:
        door.read(message, requests.SentenceRequest)
    check_message(refusal.value)
    assert refusal.value.status == status


def _interfaces() -> dict[str, tuple[str, dict[str, tuple[str, bool]]]]:
    """Return base and fields of each interface of requests.d.ts: type, and whether required."""
    text = (CLIENT / "engine" / "requests.d.ts").read_text(encoding="utf-8")
    found = {}
    for name, base, body in re.findall(
        r"interface (\w+)(?: extends (\w+))? \{\n(.*?)\n\}", text, re.S
    ):
        fields = re.findall(r"^  (\w+)(\??): (.*?);", body, re.M)
        found[name] = base, {field: (kind, not mark) for field, mark, kind in fields}
    return found


@pytest.mark.parametrize("shape", SHAPES)
def test_python_and_typescript_describe_the_same_requests(shape: type) -> None:
    interfaces = _interfaces()
    if shape is requests.TraceRequest:
        return  # not a request of the client
    name, described = shape.__name__, {}
    while name:
        base, fields = interfaces[name]
        described = {**fields, **described}
        name = base
    assert described == {
        field: (rule.type, required) for field, (rule, required) in door.rules(shape).items()
    }
