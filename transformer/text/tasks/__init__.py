"""Built-in training tasks: toy problems generated from a seed, and sentences of a French grammar.

A new task is a module in this package with `TASKS = (Task(…),)`; it is discovered automatically.
The Train page, the command line, the training recipe and the page Research read `TASKS`.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType

from transformer.text.tasks.task import GROUPS, Example, OptionRange, Task, split


def _discover_tasks() -> dict[str, Task]:
    """Return the tasks of all modules here, sorted by group, module name and order in the
    module."""
    names = sorted(info.name for info in pkgutil.iter_modules(__path__))
    modules = [import_module(f"{__name__}.{name}") for name in names]
    tasks = [task for module in modules for task in getattr(module, "TASKS", ())]
    return {task.name: task for task in sorted(tasks, key=lambda task: GROUPS.index(task.group))}


TASKS: Mapping[str, Task] = MappingProxyType(_discover_tasks())
"""All tasks by name."""

__all__ = ["TASKS", "Example", "OptionRange", "Task", "split"]
