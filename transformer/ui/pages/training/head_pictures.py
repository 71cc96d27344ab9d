"""A small picture of one head of a trained run, for the cards of the Train page."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from html import escape
from pathlib import Path

import numpy as np
import numpy.typing as npt

from transformer.jobs.folder import JobFolder
from transformer.measures.role_rules import Links, aligned_share
from transformer.measures.shape import clearest_head
from transformer.ui.pages.training.probes import probe_links

MAX_LABEL = 1
"""Greatest number of characters of a token that has room next to its row or column."""


@lru_cache(maxsize=8)
def last_picture(path: Path) -> str:
    """Return the picture of a shipped run's best cross-attention head at the last step: the one
    that follows the alignment most closely, else the clearest one; "" without a recording.

    Of the recorded sentences it shows the one of middle length, if possible one whose words change
    their order.
    """
    folder = JobFolder(path)
    steps, labels = folder.snapshots(), folder.labels()
    if not steps or not labels:
        return ""
    all_links = dict(enumerate(probe_links(folder, labels)))
    by_length = sorted(range(len(labels)), key=lambda index: len(labels[index]["src"]))
    reordered = [index for index in by_length if _changes_order(all_links.get(index, ()))]
    candidates = reordered or by_length
    probe = candidates[len(candidates) // 2]
    weights = folder.snapshot(steps[-1]).get(f"{probe}.cross")
    if weights is None or not weights.size:
        return ""
    shares = np.stack([aligned_share(layer, all_links.get(probe, ())) for layer in weights])
    layer, head = (
        np.unravel_index(shares.argmax(), shares.shape) if shares.any() else clearest_head(weights)
    )
    source, output = (
        [token.removeprefix("▁") for token in labels[probe][side][:-1]]
        for side in ("src", "predicted")
    )
    return head_picture(weights[layer, head, : len(output), : len(source)], output, source)


def _changes_order(links: Links) -> bool:
    """Return whether two aligned words have another order in the target."""
    targets = [target for _, target in sorted(links)]
    return targets != sorted(targets)


def head_picture(
    weights: npt.NDArray[np.floating], rows: Sequence[str], columns: Sequence[str]
) -> str:
    """Return the weights as an HTML grid, the opacity of a cell being the square root of its weight
    as in the film. Tokens are written next to it if all of them are short.

    Args:
        weights: (rows, columns), from 0 to 1.
    """
    has_labels = all(len(token) <= MAX_LABEL for token in (*rows, *columns))
    cells = [f"<b>{escape(token)}</b>" for token in ("", *columns)] if has_labels else []
    for token, row in zip(rows, weights, strict=True):
        cells += [f"<b>{escape(token)}</b>"] if has_labels else []
        cells += [f'<i style="opacity:{np.sqrt(min(float(weight), 1)):.2f}"></i>' for weight in row]
    description = (
        f"Attention of a trained head: one row for each word of “{' '.join(rows)}”, one column for "
        f"each word of “{' '.join(columns)}”"
    )
    template = f"grid-template-columns:repeat({len(columns) + has_labels},1fr)"
    return (
        f'<div class="hu-head" role="img" aria-label="{escape(description)}" style="{template}">'
        f"{''.join(cells)}</div>"
    )
