"""Tasks with a rule to work out: dates to ISO form, addition, brackets to close."""

from __future__ import annotations

from datetime import date, timedelta
from functools import cache, partial

from transformer.text.tasks.task import Example, OptionRange, Options, Stratum, Task

_DIGITS = tuple("0123456789")
# By hand and not by strftime, which speaks the language of the machine.
MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_FIRST_DAY = date(2000, 1, 1)
_OPENING, _CLOSING = "([{", ")]}"


def _date_example(style: int, number: int) -> Example:
    day = _FIRST_DAY + timedelta(days=number)
    digits, year = list(str(day.day)), list(f"{day.year:04}")
    month = MONTHS[day.month - 1]
    if style == 1:
        src = [month, *digits, ",", *year]
    else:
        src = [*([WEEKDAYS[day.weekday()], ","] if style == 2 else []), *digits, month, *year]
    start = src.index(month)
    first = start + 1 if style == 1 else start - len(digits)
    links = [(len(src) - 4 + k, k) for k in range(4)] + [(start, 5), (start, 6)]
    links += [(first + k, 10 - len(digits) + k) for k in range(len(digits))]
    return Example(" ".join(src), " ".join(day.isoformat()), tuple(sorted(links)))


def _dates(options: Options) -> list[Stratum]:
    days = (date(2000 + options["years"], 1, 1) - _FIRST_DAY).days
    return [Stratum(days, 1, partial(_date_example, style)) for style in range(options["styles"])]


def _count_numbers(digits: int) -> int:
    """How many numbers have this many digits; 0 has one."""
    return 10 if digits == 1 else 9 * 10 ** (digits - 1)


def _addition_example(first: int, second: int, least_first: int, number: int) -> Example:
    """The sum number `number` of those whose parts have `first` and `second` digits."""
    parts = divmod(number, _count_numbers(second))
    a, b = (
        n + (0 if d == 1 else 10 ** (d - 1)) for n, d in zip(parts, (first, second), strict=True)
    )
    total = str(a + b)[:: -1 if least_first else 1]
    return Example(" ".join(f"{a}+{b}"), " ".join(total), None)


def _sums(options: Options) -> list[Stratum]:
    lengths = range(1, options["digits"] + 1)
    return [
        Stratum(
            _count_numbers(a) * _count_numbers(b),
            1,
            partial(_addition_example, a, b, options["least_first"]),
        )
        for a in lengths
        for b in lengths
    ]


@cache
def _count_paths(steps: int, height: int, end: int) -> int:
    """How many walks of `steps` up or down lead from `height` to `end` and never below 0."""
    if height < 0 or abs(end - height) > steps:
        return 0
    if steps == 0:
        return 1
    return _count_paths(steps - 1, height + 1, end) + _count_paths(steps - 1, height - 1, end)


def _bracket_example(kinds: int, length: int, end: int, number: int) -> Example:
    """Brackets number `number` of those of `length` that leave `end` open, of `kinds` kinds."""
    path, number = number % _count_paths(length, 0, end), number // _count_paths(length, 0, end)
    src: list[str] = []
    unclosed: list[tuple[int, int]] = []  # place and kind of what is open
    for position in range(length):
        paths_up = _count_paths(length - position - 1, len(unclosed) + 1, end)
        if path < paths_up:
            number, kind = divmod(number, kinds)
            unclosed.append((position, kind))
            src.append(_OPENING[kind])
        else:
            path -= paths_up
            src.append(_CLOSING[unclosed.pop()[1]])
    links = sorted((position, j) for j, (position, _) in enumerate(reversed(unclosed)))
    tgt = [_CLOSING[kind] for _, kind in reversed(unclosed)]
    return Example(" ".join(src), " ".join(tgt), tuple(links))


def _brackets(options: Options) -> list[Stratum]:
    kinds = options["kinds"]
    strata = []
    for length in range(1, options["longest"] + 1):
        ends = range(2 - length % 2, length + 1, 2)  # at least one is left open
        for end in ends:
            size = _count_paths(length, 0, end) * kinds ** ((length + end) // 2)
            strata.append(
                Stratum(size, 1 / len(ends), partial(_bracket_example, kinds, length, end))
            )
    return strata


DATES = Task(
    name="dates",
    title="Dates to ISO form",
    group="reckoning",
    explanation=(
        'A date as people write it, "3 march 2 0 2 4", becomes year, month and day in figures, '
        '"2 0 2 4 - 0 3 - 0 3". The year moves to the front and the month becomes a number. '
        "There are up to three ways of writing, and one names a weekday that is of no use."
    ),
    look_for=(
        "The cross attention jumps: to the year at the source's end, then to the month, then to "
        "the day. Both figures of the month come from one word, and the weekday gets no weight."
    ),
    symbols=(*_DIGITS, ",", "-", *MONTHS, *WEEKDAYS),
    options={"styles": OptionRange(1, 3, 3), "years": OptionRange(1, 100, 100)},
    training={"steps": 1000, "batch_tokens": 1024},
    strata=_dates,
    meanings={"styles": "ways of writing", "years": "years from 2000 on"},
)

ADDITION = Task(
    name="addition",
    title="Add two numbers",
    group="reckoning",
    explanation=(
        "Two numbers, figure by figure, and their sum. A figure of the sum depends on the column "
        "above it and on the carry from its right, which may come from far away."
    ),
    look_for=(
        "Two spots of cross attention a step, one in each number, that move together along the "
        "columns. With the least figure first the carry has just been worked out, and the task "
        "is learned sooner."
    ),
    symbols=("+", *_DIGITS),
    options={"digits": OptionRange(1, 8, 3), "least_first": OptionRange(0, 1, 0)},
    training={"steps": 3000, "batch_tokens": 1024},
    strata=_sums,
    meanings={
        "digits": "most figures of a number",
        "least_first": "1: the sum begins with its last figure",
    },
)

BRACKETS = Task(
    name="brackets",
    title="Close the brackets",
    group="reckoning",
    explanation=(
        "The source opens brackets and closes some of them; the target closes the others, the "
        "one opened last first. What is still open cannot be told from one symbol: each opening "
        "bracket must be matched with its partner, at any depth."
    ),
    look_for=(
        "In the encoder, a closing bracket attends to the one that it closes. The cross attention "
        "walks back over those still open and leaps over every pair."
    ),
    symbols=tuple(_OPENING + _CLOSING),
    options={"longest": OptionRange(1, 20, 10), "kinds": OptionRange(1, 3, 3)},
    training={"steps": 1500, "batch_tokens": 1024},
    strata=_brackets,
    meanings={"longest": "most brackets in a source", "kinds": "kinds of brackets"},
)

TASKS = (DATES, ADDITION, BRACKETS)
