"""A teacher's lesson plan: stations in order, each with its minutes, as a small file or a link.

A station is a lesson of the course, on a sentence of the teacher's own if wanted, a sentence on the
page Try, a question of the teacher's own, or a task that its text describes. docs/classroom.md
documents the file. This module checks it on the server, and `client/app/learn/plan-file.js` checks
it in a browser that opens a link; a test gives both the same files.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from transformer.classroom.codes import ClassroomError
from transformer.lessons.course import BY_NAME
from transformer.text.door import (
    MAX_BYTES,
    Refusal,
    Rule,
    accepts,
    quoted,
    read_fields,
    several,
    title,
    whole,
)
from transformer.text.visible import without_invisible

FORMAT, VERSION = "heads-up-plan", 1
MAX_STATIONS, MAX_MINUTES = 20, 120
MIN_OPTIONS, MAX_OPTIONS = 2, 8
MAX_TITLE_LENGTH, MAX_TEXT_LENGTH, MAX_SENTENCE_LENGTH, MAX_OPTION_LENGTH = 80, 500, 200, 200
"""In characters."""
MAX_CODE_LENGTH = 8000
"""Maximum characters of a plan in a link; a proxy refuses addresses that are much longer."""
CODE_FORM = rf"[A-Za-z0-9_-]{{0,{MAX_CODE_LENGTH}}}"
_HTML = re.compile(r"<(?!/?s>|pad>|unk>)[A-Za-z/!?]")
# The names of special tokens are no HTML.
NO_PLAN = (
    f'This is not a lesson plan, which is a JSON file with "format": "{FORMAT}"; '
    "the page Class writes one."
)
BROKEN_LINK = "The link of this lesson plan is incomplete or has been changed; copy it again."
TOO_LONG_FOR_LINK = "This plan is too long for a link; keep it as a file."


def plain(max_characters: int) -> Rule:
    """Accept one line of text that is not empty and contains no HTML."""
    any_title = title(max_characters)

    def read_plain(value: object) -> str:
        read_value: str = any_title.read(value)
        if not read_value.strip():
            raise ValueError("a text that is not empty")
        if _HTML.search(read_value):
            raise ValueError("plain text without HTML")
        return read_value

    return Rule(read_plain, "string")


@dataclass(frozen=True)
class MeasuredQuestion:
    """A teacher's question with its options. All texts are plain text.

    Attributes:
        options: in the order in which they are shown.
        correct: index of the right option.
        explanation: shown with the answers; "" for none.
    """

    text: str
    options: tuple[str, ...]
    correct: int
    explanation: str = ""


@dataclass(frozen=True)
class Station:
    """One step of a plan; it has a lesson, a sentence, both, a question, or none of them.

    Attributes:
        text: what the class does there; "" for none.
        lesson: name of a lesson of the course; "" for none.
        sentence: of the lesson, or to open on the page Try; "" for none.
    """

    title: str
    minutes: int
    text: str = ""
    lesson: str = ""
    sentence: str = ""
    question: MeasuredQuestion | None = None

    def place(self) -> tuple[str, dict[str, str]] | None:
        """Return the path of the page to open and the fields of its address; None for none."""
        if not self.lesson:
            return ("", {"text": self.sentence}) if self.sentence else None
        lesson = BY_NAME[self.lesson]
        own = {"lesson_text": self.sentence} if self.sentence else {}
        if not lesson.in_place:
            return "learn", {"lesson": self.lesson, **own}
        fields = {name: str(value) for name, value in lesson.fields.items()}
        text = self.sentence or lesson.sentences[0]
        return lesson.page, {"lesson": self.lesson, **own, "text": text, **fields}


@dataclass(frozen=True)
class Plan:
    """A lesson plan."""

    title: str
    stations: tuple[Station, ...]

    @property
    def minutes(self) -> int:
        return sum(station.minutes for station in self.stations)


_LESSON_NAME, _ANYTHING = title(20), Rule(lambda value: value, "object")


@dataclass(frozen=True, kw_only=True)
class _QuestionFields:
    text: str = accepts(plain(MAX_TEXT_LENGTH))
    options: tuple[str, ...] = accepts(several(plain(MAX_OPTION_LENGTH), MAX_OPTIONS))
    correct: int = accepts(whole(1, MAX_OPTIONS))
    explanation: str = accepts(plain(MAX_TEXT_LENGTH), "")


@dataclass(frozen=True, kw_only=True)
class _StationFields:
    title: str = accepts(plain(MAX_TITLE_LENGTH))
    minutes: int = accepts(whole(1, MAX_MINUTES))
    text: str = accepts(plain(MAX_TEXT_LENGTH), "")
    lesson: str = accepts(_LESSON_NAME, "")
    sentence: str = accepts(plain(MAX_SENTENCE_LENGTH), "")
    question: Any = accepts(_ANYTHING, None)  # noqa: RUF009 - frozen


@dataclass(frozen=True, kw_only=True)
class _PlanFields:
    format: str = accepts(title(40))
    version: int = accepts(whole(VERSION, VERSION))
    title: str = accepts(plain(MAX_TITLE_LENGTH))
    stations: tuple[Any, ...] = accepts(several(_ANYTHING, MAX_STATIONS))


def sentence_lessons() -> tuple[str, ...]:
    """Return the names of the lessons that can ask their question about any sentence."""
    return tuple(name for name, lesson in BY_NAME.items() if lesson.takes_sentence)


def read_question(values: object) -> MeasuredQuestion:
    """Return a question from its fields in a file.

    Raises:
        ClassroomError: if it does not follow the format; the message is one sentence.
    """
    fields = _checked(values, _QuestionFields)
    n_options = len(fields.options)
    if n_options < MIN_OPTIONS:
        raise ClassroomError(
            f"A question has {MIN_OPTIONS} to {MAX_OPTIONS} options; this one has {n_options}."
        )
    if len(set(fields.options)) < n_options:
        raise ClassroomError("Two options are the same; each must differ from the others.")
    if fields.correct > n_options:
        raise ClassroomError(
            f"The correct option must be a number from 1 to {n_options}, not {fields.correct}."
        )
    return MeasuredQuestion(fields.text, fields.options, fields.correct - 1, fields.explanation)


def read_station(values: object) -> Station:
    """Return a station from its fields in a file. Raises ClassroomError as `read_question`."""
    fields = _checked(values, _StationFields)
    question = None if fields.question is None else read_question(fields.question)
    if question is not None and (fields.lesson or fields.sentence):
        raise ClassroomError("A station with a question has no lesson and no sentence.")
    if fields.lesson and fields.lesson not in BY_NAME:
        raise ClassroomError(
            f"There is no lesson {quoted(fields.lesson)}; there is {', '.join(BY_NAME)}."
        )
    if fields.lesson and fields.sentence and fields.lesson not in sentence_lessons():
        raise ClassroomError(
            f"The lesson {fields.lesson} takes no sentence of your own; these do: "
            f"{', '.join(sentence_lessons())}."
        )
    return Station(
        fields.title, fields.minutes, fields.text, fields.lesson, fields.sentence, question
    )


def read_plan(content: bytes) -> Plan:
    """Return the plan of a file.

    Raises:
        ClassroomError: if it is no plan or does not follow the format; the message is one sentence.
    """
    if len(content) > MAX_BYTES:
        raise ClassroomError(
            f"A lesson plan has at most {MAX_BYTES:,} bytes; this file has {len(content):,}."
        )
    try:
        values = json.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        raise ClassroomError(NO_PLAN) from None
    if not isinstance(values, Mapping) or values.get("format") != FORMAT:
        raise ClassroomError(NO_PLAN)
    fields = _checked(values, _PlanFields)
    if not fields.stations:
        raise ClassroomError("A lesson plan has at least one station.")
    stations = []
    for number, station in enumerate(fields.stations, 1):
        try:
            stations.append(read_station(station))
        except ClassroomError as problem:
            raise ClassroomError(f"Station {number}: {problem}") from None
    return Plan(fields.title, tuple(stations))


def write_plan(plan: Plan, *, indent: int | None = 2) -> bytes:
    """Return the file of a plan, without fields that are empty."""
    stations = []
    for station in plan.stations:
        fields = {name: value for name, value in asdict(station).items() if value}
        if station.question is not None:
            question = {name: value for name, value in fields["question"].items() if value != ""}
            fields["question"] = {**question, "correct": station.question.correct + 1}
        stations.append(fields)
    content = {"format": FORMAT, "version": VERSION, "title": plan.title, "stations": stations}
    separators = (",", ":") if indent is None else None
    return json.dumps(content, ensure_ascii=False, indent=indent, separators=separators).encode()


def encode_plan(plan: Plan) -> str:
    """Return the plan for an address: raw DEFLATE (RFC 1951) in base64url (RFC 4648).

    Raises:
        ClassroomError: if it has more than `MAX_CODE_LENGTH` characters.
    """
    compressor = zlib.compressobj(9, wbits=-zlib.MAX_WBITS)
    packed = compressor.compress(write_plan(plan, indent=None)) + compressor.flush()
    code = base64.urlsafe_b64encode(packed).decode().rstrip("=")
    if len(code) > MAX_CODE_LENGTH:
        raise ClassroomError(TOO_LONG_FOR_LINK)
    return code


def decode_plan(code: str) -> Plan:
    """Return the plan of an address. Raises ClassroomError as `read_plan`."""
    if not re.fullmatch(CODE_FORM, code):
        raise ClassroomError(BROKEN_LINK)
    try:
        packed = base64.urlsafe_b64decode(code + "=" * (-len(code) % 4))
        unpacker = zlib.decompressobj(-zlib.MAX_WBITS)
        content = unpacker.decompress(packed, MAX_BYTES + 1)
    except (binascii.Error, ValueError, zlib.error):
        raise ClassroomError(BROKEN_LINK) from None
    if not unpacker.eof and len(content) <= MAX_BYTES:
        raise ClassroomError(BROKEN_LINK)
    return read_plan(content)


def one_line(text: str) -> str:
    """Return typed text with single spaces and without invisible characters."""
    visible = without_invisible(text[:20_000])
    return " ".join("".join(c if c.isprintable() else " " for c in visible).split())


def _checked(values: object, shape: type[Any]) -> Any:
    try:
        return read_fields(values, shape)
    except Refusal as problem:
        raise ClassroomError(str(problem)) from None
