"""Measurements that take seconds: behind a button, piece by piece, kept for all visitors."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import streamlit as st

ROOM = 2000
"""Pieces that are kept; the oldest make room."""
Work = tuple[Hashable, Callable[[], Any]]

_kept: OrderedDict[Hashable, Any] = OrderedDict()
_guard, _working = threading.Lock(), threading.Lock()


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
        if name not in _kept:
            with _working:
                _keep(name, work())
    place.empty()
    return _all(works)


def _all(works: Sequence[Work]) -> list[Any]:
    try:
        return [_kept[name] for name, _ in works]
    except KeyError:
        return []


def _keep(name: Hashable, result: Any) -> None:
    with _guard:
        _kept[name] = result
        while len(_kept) > ROOM:
            _kept.popitem(last=False)
