"""A small SVG picture for each page of the app and each experiment.

Lines use `currentColor`; the one accent is the theme's primary colour."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

WIDTH, HEIGHT = 160, 56
ACCENT = "var(--st-primary-color, #0072b2)"
"""For shapes; thin lines use `currentColor` instead, as the accent is too faint on a dark page."""
STYLE = (
    ".hu-page-icon { display: block; width: 100%; height: 4.4rem; color: var(--st-text-color); }"
)


def picture(name: str) -> str:
    """Return a picture, one of `PICTURES`. Screen readers skip it, as the card around it has text.

    Raises:
        KeyError: for a page or an experiment without a picture.
    """
    return _svg(PICTURES[name]())


def _svg(shapes: Iterable[str]) -> str:
    return (
        f'<svg class="hu-page-icon" viewBox="0 0 {WIDTH} {HEIGHT}" aria-hidden="true" '
        'focusable="false" fill="none" stroke="currentColor" stroke-width="1.5" '
        'stroke-linecap="round">'
        f"{''.join(shapes)}</svg>"
    )


def _lessons() -> Iterable[str]:
    """Draw a path with stations, the first of them reached."""
    points = [(12 + 34 * i, 40 - 12 * (i % 2) - 3 * i) for i in range(5)]
    yield _line(points, "opacity='0.5' stroke-dasharray='3 4'")
    for i, (x, y) in enumerate(points):
        yield _dot(x, y, 7 if i == 0 else 5, solid=i == 0)


def _importance() -> Iterable[str]:
    """Draw switches, two of them off."""
    for i in range(12):
        x, y, off = 16 + 22 * (i % 6), 12 + 24 * (i // 6), i in (3, 7)
        yield _box(x, y, 18, 10, not off, 0.3, 5)
        yield f'<circle cx="{x + (5 if off else 13)}" cy="{y + 5}" r="3" {_KNOB}/>'


def _inside() -> Iterable[str]:
    """Draw the two towers of the paper's Figure 1."""
    for x, boxes in ((42, 2), (96, 3)):
        for i in range(boxes):
            yield _box(x, 38 - 14 * i, 30, 9, i == boxes - 1, 0.3)
        yield _line([(x + 15, 54), (x + 15, 47)], "")
    yield _line([(57, 22), (57, 15), (84, 15), (84, 29), (95, 29)], "opacity='0.7'")
    yield _line([(111, 9), (111, 3)], "")


def _train() -> Iterable[str]:
    """Draw a loss that falls, and a head that takes shape."""
    fall = [(8 + x, 50 - 40 * math.exp(-x / 22) + 2 * math.sin(x * 1.7)) for x in range(0, 81, 2)]
    yield _line(fall, 'stroke-width="2"')
    for i in range(25):
        row, column = divmod(i, 5)
        yield _box(104 + 10 * column, 4 + 10 * row, 8, 8, row + column == 4, 0.22, 1)


def _findings() -> Iterable[str]:
    """Draw a list with verdicts."""
    for row, (mark, length) in enumerate(
        [("M0 4l4 4l8-9", 96), ("M0 0l9 9m0-9l-9 9", 70), ("", 84)]
    ):
        y = 10 + 16 * row
        accent = f'stroke="{ACCENT}" stroke-width="3"' if row == 0 else 'stroke-width="2"'
        yield f'<path transform="translate(20 {y - 3})" d="{mark or "M0 4h11"}" {accent}/>'
        yield _box(44, y - 3, length, 7, False, 0.3)


def _alignment() -> Iterable[str]:
    """Draw the words of a sentence linked to those of its translation."""
    for source, target in ((0, 0), (1, 2), (2, 1), (3, 3), (4, 4)):
        colour = f'stroke="{ACCENT}" stroke-width="3"' if source == 1 else "opacity='0.5'"
        yield _line([(20 + 30 * source, 16), (20 + 30 * target, 40)], colour)
    for i in range(5):
        yield _box(9 + 30 * i, 4, 22, 10, False, 0.35)
        yield _box(9 + 30 * i, 42, 22, 10, False, 0.35)


def _attribution() -> Iterable[str]:
    """Draw bars for the tokens of a sentence, all leading to one output token."""
    for i, share in enumerate((0.25, 0.9, 0.15, 0.5, 0.1)):
        x = 10 + 20 * i
        yield _box(x, 42 - 34 * share, 13, 34 * share, i == 1, 0.3)
        yield _line([(x, 44), (x + 13, 44)], "opacity='0.5'")
        colour = f'stroke="{ACCENT}"' if i == 1 else 'opacity="0.3"'
        path = f"M{x + 6} 47C{x + 6} 55 132 56 132 32"
        yield f'<path d="{path}" stroke-width="{5 * share:g}" {colour}/>'
    yield _box(118, 20, 28, 12, True, 0.3)


def _roles() -> Iterable[str]:
    """Draw many heads as cells of a grid, coloured by what they do."""
    strengths = (0.15, 0.5, 0.2, 0.8, 0.3, 0.15, 0.6, 0.25, 0.4, 0.15, 0.7, 0.2)
    for i in range(36):
        row, column = divmod(i, 12)
        yield _box(9 + 12 * column, 6 + 16 * row, 10, 13, i in (5, 19, 26), strengths[(7 * i) % 12])


PICTURES: dict[str, Callable[[], Iterable[str]]] = {
    "learn": _lessons,
    "inside": _inside,
    "train": _train,
    "research": _attribution,
    "importance": _importance,
    "attribution": _attribution,
    "alignment": _alignment,
    "roles": _roles,
    "findings": _findings,
}
"""Pictures of pages and of experiments of Research, by their names in the address."""

_KNOB = 'fill="var(--st-background-color, #fff)" stroke="none"'


def _line(coordinates: Iterable[tuple[float, float]], attributes: str) -> str:
    points = " ".join(f"{x:g},{y:.1f}" for x, y in coordinates)
    return f'<polyline points="{points}" {attributes}/>'


def _dot(x: float, y: float, size: float, *, solid: bool) -> str:
    colour = f'fill="{ACCENT}" stroke="none"' if solid else 'fill="currentColor" fill-opacity="0.2"'
    return f'<circle cx="{x}" cy="{y}" r="{size}" {colour}/>'


def _box(
    x: float,
    y: float,
    width: float,
    height: float,
    chosen: bool,
    strength: float,
    radius: float = 2,
) -> str:
    colour = f'fill="{ACCENT}"' if chosen else f'fill="currentColor" fill-opacity="{strength}"'
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="{radius}" '
        f'stroke="none" {colour}/>'
    )
