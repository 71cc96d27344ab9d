"""Tasks that need a computation: dates to ISO form, addition, closing brackets."""

from __future__ import annotations

from datetime import date, timedelta
from functools import cache, partial

from transformer.text.tasks.task import Example, OptionRange, Options, Stratum, Task

_DIGITS = tuple("0123456789")
# Not from strftime, which depends on the locale.
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
    month_position = src.index(month)
    day_position = month_position + 1 if style == 1 else month_position - len(digits)
    links = [(len(src) - 4 + k, k) for k in range(4)] + [(month_position, 5), (month_position, 6)]
    links += [(day_position + k, 10 - len(digits) + k) for k in range(len(digits))]
    return Example(" ".join(src), " ".join(day.isoformat()), tuple(sorted(links)))


def _dates(options: Options) -> list[Stratum]:
    days = (date(2000 + options["years"], 1, 1) - _FIRST_DAY).days
    return [Stratum(days, 1, partial(_date_example, style)) for style in range(options["styles"])]


def _count_numbers(digits: int) -> int:
    """Return how many numbers have this many digits (0 has one)."""
    return 10 if digits == 1 else 9 * 10 ** (digits - 1)


def _addition_example(
    n_first_digits: int, n_second_digits: int, least_first: int, number: int
) -> Example:
    """Return example `number` of the sums whose addends have these numbers of digits."""
    parts = divmod(number, _count_numbers(n_second_digits))
    a, b = (
        n + (0 if d == 1 else 10 ** (d - 1))
        for n, d in zip(parts, (n_first_digits, n_second_digits), strict=True)
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
    """Return how many paths of `steps` steps up or down go from `height` to `end`, never below
    0."""
    if height < 0 or abs(end - height) > steps:
        return 0
    if steps == 0:
        return 1
    return _count_paths(steps - 1, height + 1, end) + _count_paths(steps - 1, height - 1, end)


def _bracket_example(kinds: int, length: int, end: int, number: int) -> Example:
    """Return example `number` of the `length` brackets of `kinds` kinds with `end` left open."""
    path, number = number % _count_paths(length, 0, end), number // _count_paths(length, 0, end)
    src: list[str] = []
    unclosed: list[tuple[int, int]] = []  # position and kind
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
    group="arithmetic",
    explanation=(
        'A date as people write it, "3 march 2 0 2 4", becomes year, month and day in digits, '
        '"2 0 2 4 - 0 3 - 0 3". The year moves to the front and the month becomes a number. '
        "There are up to three formats; one of them has a weekday, which is not needed."
    ),
    look_for=(
        "Cross-attention jumps to the year at the end of the source, then to the month, then to "
        "the day. Both digits of the month come from one word, and the weekday gets no weight."
    ),
    symbols=(*_DIGITS, ",", "-", *MONTHS, *WEEKDAYS),
    options={"styles": OptionRange(1, 3, 3), "years": OptionRange(1, 100, 100)},
    training={"steps": 1000, "batch_tokens": 1024},
    strata=_dates,
    meanings={"styles": "date formats", "years": "years from 2000 on"},
)

ADDITION = Task(
    name="addition",
    title="Add two numbers",
    group="arithmetic",
    explanation=(
        "Two numbers, digit by digit, and their sum. A digit of the sum depends on its column and "
        "on the carry from the right, which may come from far away."
    ),
    look_for=(
        "Two peaks of cross-attention at each step, one in each number, that move together along "
        "the columns. With the last digit first, the carry has just been computed, and the task "
        "is learned sooner."
    ),
    symbols=("+", *_DIGITS),
    options={"digits": OptionRange(1, 8, 3), "least_first": OptionRange(0, 1, 0)},
    training={"steps": 3000, "batch_tokens": 1024},
    strata=_sums,
    meanings={
        "digits": "maximum digits of a number",
        "least_first": "1: the sum begins with its last digit",
    },
)

BRACKETS = Task(
    name="brackets",
    title="Close the brackets",
    group="arithmetic",
    explanation=(
        "The source opens brackets and closes some of them; the target closes the others, the "
        "last opened first. No single symbol shows which brackets are open: each opening bracket "
        "must be matched with its partner, at any depth."
    ),
    look_for=(
        "In the encoder, a closing bracket attends to the one that it closes. Cross-attention "
        "moves back over the open brackets and skips every closed pair."
    ),
    symbols=tuple(_OPENING + _CLOSING),
    options={"longest": OptionRange(1, 20, 10), "kinds": OptionRange(1, 3, 3)},
    training={"steps": 1500, "batch_tokens": 1024},
    strata=_brackets,
    meanings={"longest": "maximum brackets in a source", "kinds": "kinds of brackets"},
)

TASKS = (DATES, ADDITION, BRACKETS)
