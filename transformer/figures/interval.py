"""An interval on a line, with the floor that it is judged by, as HTML."""

from __future__ import annotations

from html import escape

MARGIN = 0.08
"""Share of the line, left free at both ends."""


def interval(
    name: str, unit: str, bounds: tuple[float, float, float], floor: float, *, below: bool = False
) -> str:
    """One effect: its name and numbers in words, and a line that shows the same.

    The line runs over 0, the floor and the interval; the side on which the claim holds is shaded.

    Args:
        bounds: the interval's lower end, the value, its upper end.
        below: whether the claim holds below the floor.
    """
    low, value, high = bounds
    first, last = min(low, floor, 0.0), max(high, floor, 0.0)
    room = (last - first or 1.0) * MARGIN
    first, last = first - room, last + room

    def at(number: float) -> str:
        return f"{100 * (number - first) / (last - first):.2f}%"

    start, end = (first, floor) if below else (floor, last)
    side, needed = ("below", "<") if below else ("above", ">")
    numbers = f"{text(value)}{_unit(unit)} (95%: {text(low)} to {text(high)})"
    zero = f'<i class="zero" style="left:{at(0)}"></i>' if floor else ""
    return (
        f'<div class="hu-effect"><p>{escape(name[0].upper() + name[1:])}: <b>{numbers}</b></p>'
        f'<div class="line" role="img" aria-label="{escape(numbers)}, the claim needs {side} '
        f'{text(floor)}">'
        f'<i class="side" style="left:{at(start)};right:calc(100% - {at(end)})"></i>{zero}'
        f'<i class="floor" style="left:{at(floor)}"></i>'
        f'<i class="bar" style="left:{at(low)};right:calc(100% - {at(high)})"></i>'
        f'<i class="dot" style="left:{at(value)}"></i></div>'
        f"<p>The claim needs {escape(needed)} {text(floor)}{_unit(unit)}: the shaded side.</p>"
        "</div>"
    )


def text(number: float) -> str:
    """Three digits that count, with a minus as people write it."""
    return f"{number:.3g}".replace("-", "−")


def _unit(unit: str) -> str:
    return escape(unit if unit.startswith("%") else f" {unit}")
