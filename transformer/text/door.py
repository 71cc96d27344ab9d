"""The door: the one check of everything that a browser or another program sends.

What has passed it is decoded, of the declared shape, within its bounds, and can be encoded again.
A shape is a dataclass whose fields `accepts` declares:

    @dataclass(frozen=True, kw_only=True)
    class Greeting:
        name: str = accepts(title(80))
        times: int = accepts(whole(1, 10), default=1)

    read(b'{"name": "Ann"}', Greeting)  # Greeting(name="Ann", times=1)

Every refusal is a `Refusal`, one sentence with a status of HTTP.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn, TypeVar

from transformer.config import did_you_mean
from transformer.text.visible import escape_controls, without_invisible

Shape = TypeVar("Shape")
MAX_BYTES = 64_000
"""Maximum bytes of a message."""
MAX_QUOTED = 60
"""Maximum characters of a value that an error message quotes."""
_REQUIRED: Any = dataclasses.MISSING


class Refusal(ValueError):
    """Something sent was refused; the message is one sentence, `status` the status of HTTP."""

    def __init__(self, problem: str, status: int = 422) -> None:
        super().__init__(problem)
        self.status = status


@dataclass(frozen=True)
class Rule:
    """What a field may contain.

    Attributes:
        read: returns the value as the program uses it; raises ValueError with the end of the
            sentence "… must be", such as "a string".
        type: the field's type in TypeScript, as in `client/engine/requests.d.ts`.
    """

    read: Callable[[object], Any]
    type: str


def text(max_characters: int = MAX_BYTES) -> Rule:
    """Accept any text that can be encoded, as someone types it."""

    def read_text(value: object) -> str:
        if not isinstance(value, str) or not _is_encodable(value):
            raise ValueError("a string of whole characters")
        if len(value) > max_characters:
            raise ValueError(f"at most {max_characters:,} characters long")
        return value

    return Rule(read_text, "string")


def title(max_characters: int) -> Rule:
    """Accept a name or title that others read: one line without invisible characters."""
    any_text = text(max_characters)

    def read_title(value: object) -> str:
        read_value: str = any_text.read(value)
        if escape_controls(without_invisible(read_value)) != read_value or "\u200b" in read_value:
            raise ValueError("one line without control characters")
        if "\n" in read_value or "\t" in read_value:
            raise ValueError("one line")
        return read_value

    return Rule(read_title, "string")


def form(pattern: str, description: str, max_characters: int = 2000) -> Rule:
    """Accept text that matches a regular expression completely."""
    any_text = text(max_characters)

    def read_form(value: object) -> str:
        read_value: str = any_text.read(value)
        if not re.fullmatch(pattern, read_value, re.ASCII):
            raise ValueError(description)
        return read_value

    return Rule(read_form, "string")


def choice(names: Collection[str]) -> Rule:
    """Accept one of these names."""

    def read_choice(value: object) -> str:
        if not isinstance(value, str) or value not in names:
            raise ValueError(f"one of {', '.join(names)}")
        return value

    return Rule(read_choice, " | ".join(f'"{name}"' for name in names))


def whole(low: int, high: int) -> Rule:
    """Accept a whole number in these bounds."""

    def read_whole(value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise ValueError(f"a whole number from {low} to {high}")
        return value

    return Rule(read_whole, "number")


def number(low: float, high: float) -> Rule:
    """Accept a number in these bounds, so neither NaN nor an infinite one."""

    def read_number(value: object) -> float:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not low <= value <= high:  # type: ignore[operator]
            raise ValueError(f"a number from {low:g} to {high:g}")
        return float(value)  # type: ignore[arg-type]

    return Rule(read_number, "number")


def flag() -> Rule:
    """Accept true or false."""

    def read_flag(value: object) -> bool:
        if not isinstance(value, bool):
            raise ValueError("true or false")
        return value

    return Rule(read_flag, "boolean")


def nothing() -> Rule:
    """Accept null."""

    def read_nothing(value: object) -> None:
        if value is not None:
            raise ValueError("null")

    return Rule(read_nothing, "null")


def several(rule: Rule, max_items: int) -> Rule:
    """Accept a list."""

    def read_list(value: object) -> tuple[Any, ...]:
        if not isinstance(value, list):
            raise ValueError("a list")
        if len(value) > max_items:
            raise ValueError(f"a list of at most {max_items}")
        try:
            return tuple(rule.read(item) for item in value)
        except Refusal:
            raise
        except ValueError as error:
            raise ValueError(f"a list, each {error}") from None

    return Rule(read_list, f"{rule.type}[]")


def pair(first: Rule, second: Rule) -> Rule:
    """Accept a list of two values."""

    def read_pair(value: object) -> tuple[Any, Any]:
        if not isinstance(value, list | tuple) or len(value) != 2:
            raise ValueError("a list of two values")
        return first.read(value[0]), second.read(value[1])

    return Rule(read_pair, f"[{first.type}, {second.type}]")


def table(rule: Rule, max_items: int) -> Rule:
    """Accept an object with any names whose values all follow the rule."""
    name_rule = title(80)

    def read_table(value: object) -> dict[str, Any]:
        if not isinstance(value, Mapping):
            raise ValueError("an object")
        if len(value) > max_items:
            raise ValueError(f"an object of at most {max_items} values")
        try:
            return {name_rule.read(name): rule.read(item) for name, item in value.items()}
        except ValueError as error:
            raise ValueError(f"an object with names and values, each {error}") from None

    return Rule(read_table, f"Record<string, {rule.type}>")


def either(*alternatives: Rule) -> Rule:
    """Accept what one of these rules accepts."""

    def read_either(value: object) -> Any:
        problems = []
        for rule in alternatives:
            try:
                return rule.read(value)
            except ValueError as error:
                problems.append(str(error))
        raise ValueError(" or ".join(problems))

    return Rule(read_either, " | ".join(rule.type for rule in alternatives))


def record(shape: type[Any]) -> Rule:
    """Accept an object of another shape."""

    def read_record(value: object) -> Any:
        if not isinstance(value, Mapping):
            raise ValueError("an object")
        return read_fields(value, shape)

    return Rule(read_record, "object")


def accepts(rule: Rule, default: Any = _REQUIRED) -> Any:
    """Declare a field of a shape; without a default it is required."""
    return dataclasses.field(default=default, metadata={"rule": rule})


def rules(shape: type[Any]) -> dict[str, tuple[Rule, bool]]:
    """Return the rule of each field of a shape, and whether the field is required."""
    return {
        field.name: (field.metadata["rule"], field.default is _REQUIRED)
        for field in dataclasses.fields(shape)
    }


def read(message: bytes, shape: type[Shape]) -> Shape:
    """Return a message, a JSON object, in this shape.

    Raises:
        Refusal: if it is too long, no JSON object or not of this shape.
    """
    if len(message) > MAX_BYTES:
        refuse_size()
    try:
        values = json.loads(message.decode("utf-8"), parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise Refusal("The body must be a JSON object in UTF-8.", 400) from None
    if not isinstance(values, dict):
        raise Refusal("The body must be a JSON object, like {}.", 400)
    return read_fields(values, shape)


def read_fields(values: object, shape: type[Shape]) -> Shape:
    """Return decoded values in this shape. Raises Refusal if they are not of this shape."""
    if not isinstance(values, Mapping):
        raise Refusal(f"An object is needed here, not {quoted(values)}.")
    fields = rules(shape)
    for name in values:
        if name not in fields:
            hint = did_you_mean(str(name), fields) or "."
            raise Refusal(
                f"There is no field {quoted(name)} here; there is {', '.join(fields)}{hint}"
            )
    read_values = {}
    for name, (rule, is_required) in fields.items():
        if name in values:
            try:
                read_values[name] = rule.read(values[name])
            except Refusal:
                raise
            except ValueError as error:
                sentence = f"{name} must be {error}, not {quoted(values[name])}."
                raise Refusal(sentence) from None
        elif is_required:
            raise Refusal(f"The field {name} is missing.")
    return shape(**read_values)


def refuse_size() -> NoReturn:
    raise Refusal(f"The body has more than {MAX_BYTES:,} bytes, the limit.", 413)


def quoted(value: object) -> str:
    """Return the beginning of a value as JSON in ASCII, for a message."""
    try:
        written = json.dumps(value, default=lambda _: "…", skipkeys=True)
    except (ValueError, RecursionError):  # a number of thousands of digits, or nested too deeply
        return "…"
    return written if len(written) <= MAX_QUOTED else f"{written[:MAX_QUOTED]}…"


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"JSON has no {name}")


def is_shown_title(value: object) -> bool:
    """Whether a title of a file can be shown: one line of whole characters, none of which controls
    a terminal or the direction of the text."""
    return (
        isinstance(value, str)
        and _is_encodable(value)
        and escape_controls(value) == value
        and not {"\n", "\t"} & {*value}
    )


def _is_encodable(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
