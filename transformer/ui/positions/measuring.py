"""Measurements that take seconds: behind a button, piece by piece, kept for all visitors."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import streamlit as st

from transformer.cancellation import cancelled_by
from transformer.ui.kept import Kept
from transformer.ui.readings import WhileWanted

ROOM = 16_000_000
"""Bytes of the pieces that are kept."""
Work = tuple[Hashable, Callable[[], Any]]

_kept: Kept[tuple[Any]] = Kept(ROOM)
_working = threading.Lock()


def measured(label: str, key: str, works: Sequence[Work]) -> list[Any]:
    """Every result once all are there, and nothing before: then there is a button.

    One piece is measured at a time on this server. A rerun that interrupts it, or a reload, loses
    at most the piece at hand.

    Args:
        works: what each piece is known by, and the call that measures it.
    """
    if found := _all(works):
        return found
    place = st.empty()
    if not place.button(label, key=f"measure-{key}", icon=":material/straighten:"):
        return []
    for at, (name, work) in enumerate(works):
        place.progress(at / len(works), text=f"Measuring {at + 1} of {len(works)} …")
        if _kept.get(name) is None:
            with _working, cancelled_by(WhileWanted()):  # each piece has a time of its own
                _kept.put(name, (work(),))
    place.empty()
    return _all(works)


def _all(works: Sequence[Work]) -> list[Any]:
    found = [_kept.get(name) for name, _ in works]
    return [] if None in found else [one[0] for one in found if one]
