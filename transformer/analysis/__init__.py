"""Measurements of a model: roles, alignment, attribution, importance, findings, Table 1.

A subpackage may import those before it in this list: `evidence`, `corpora`, `attribution`,
`alignment`, `interventions`, `importance`, `roles`, `findings`. The others (`inside`, `positions`,
`table1`) may import all of these, but not each other. `reports` lists everything that can be
measured over a corpus, for the command line and for the pages. Nothing here draws, waits in a queue
or depends on a page.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_SUBPACKAGES = (
    "evidence", "corpora", "attribution", "alignment", "interventions", "importance", "roles",
    "findings", "inside", "positions", "table1", "reports",
)  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import a subpackage when it is first used: all of them take a second."""
    if name not in _SUBPACKAGES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"{__name__}.{name}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_SUBPACKAGES})
