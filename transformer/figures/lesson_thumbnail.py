"""The small picture of a lesson in a list."""

from __future__ import annotations

import base64

MAX_LEVEL = 9
"""Level of weight 1."""


def lesson_thumbnail(levels: str) -> str:
    """Return a picture of attention as an HTML image, whose blue suits a light and a dark page.

    Args:
        levels: rows separated by spaces, with a digit for every weight.
    """
    rows = levels.split()
    cells = "".join(
        f'<rect x="{x}" y="{y}" width="1" height="1" fill-opacity="{int(level) / MAX_LEVEL:.2f}"/>'
        for y, row in enumerate(rows)
        for x, level in enumerate(row)
    )
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {len(rows[0])} {len(rows)}" '
        f'shape-rendering="crispEdges" fill="#2f81bd">{cells}</svg>'
    )
    data = base64.b64encode(svg.encode()).decode()
    return (
        '<img class="lesson-thumbnail" width="42" height="42" alt="" '
        f'src="data:image/svg+xml;base64,{data}">'
    )
