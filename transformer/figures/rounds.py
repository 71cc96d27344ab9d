"""The votes of a class in one or two rounds as an HTML table with bars, and their difference."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

MINUS = "−"


def rounds_table(
    options: Sequence[str], rounds: Sequence[tuple[str, Sequence[int]]], correct: int
) -> str:
    """Return a table with a row for each option and a column of bars for each round.

    Args:
        rounds: the name of each round and its number of votes for each option.
        correct: index of the option to mark as right.
    """
    heads = "".join(
        f'<th scope="col">{escape(name)} <span>{_answers(sum(votes))}</span></th>'
        for name, votes in rounds
    )
    rows = ""
    for index, option in enumerate(options):
        right = index == correct
        cells = "".join(
            _bar(name, votes[index], sum(votes), number)
            for number, (name, votes) in enumerate(rounds)
        )
        rows += (
            f'<tr class="{"right" if right else "wrong"}"><th scope="row">{escape(option)}'
            f"{' <em>correct</em>' if right else ''}</th>{cells}</tr>"
        )
    return (
        '<table class="hu-rounds"><thead><tr><th scope="col">Option</th>'
        f"{heads}</tr></thead><tbody>{rows}</tbody></table>"
    )


def difference_line(bounds: tuple[float, float, float]) -> str:
    """Return the interval of a difference of two shares on a line from −100 to 100 points.

    Args:
        bounds: lower end, value and upper end, as shares from −1 to 1.
    """
    low, value, high = (f"{50 + 50 * bound:.2f}%" for bound in bounds)
    return (
        '<div class="hu-effect hu-difference">'
        f'<div class="line" role="img" aria-label="{difference_text(bounds)}">'
        '<i class="floor" style="left:50%"></i>'
        f'<i class="bar" style="left:{low};right:calc(100% - {high})"></i>'
        f'<i class="dot" style="left:{value}"></i></div>'
        f"<p><span>{MINUS}100 points</span><span>0</span><span>+100 points</span></p></div>"
    )


def difference_text(bounds: tuple[float, float, float]) -> str:
    """Return the difference in percentage points with its interval, in words."""
    low, value, high = (points(bound) for bound in bounds)
    return f"{value} percentage points (95% interval {low} to {high})"


def points(share: float) -> str:
    """Return a difference of shares in percentage points, with its sign."""
    rounded = round(100 * share)
    return f"{'+' if rounded > 0 else MINUS if rounded < 0 else ''}{abs(rounded)}"


def percent(votes: int, total: int) -> str:
    return f"{100 * votes / total:.0f}%" if total else "–"


def _bar(name: str, votes: int, total: int, number: int) -> str:
    width = 100 * votes / total if total else 0
    return (
        f'<td data-round="{escape(name)} ({total})"><span class="round-{number}">'
        f'<i style="width:{width:.1f}%"></i></span> {votes} · {percent(votes, total)}</td>'
    )


def _answers(count: int) -> str:
    return f"{count} answer{'' if count == 1 else 's'}"
