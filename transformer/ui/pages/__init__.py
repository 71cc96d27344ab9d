"""The pages: one folder each. No page imports another.

The `__init__` of a folder holds `PAGE` and the fields of its address.
"""

from __future__ import annotations

from importlib import import_module

from transformer.ui.base import registry

FOLDERS = ("home", "learn", "inside", "training", "classroom", "research", "glossary")
"""In the order of the navigation bar."""

for _folder in FOLDERS:
    registry.register(import_module(f"{__name__}.{_folder}").PAGE)
