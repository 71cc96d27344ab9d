"""Tasks of our own to train on, made from a seed: toy problems and a small French grammar."""

from collections.abc import Mapping
from types import MappingProxyType

from transformer.text.tasks.french import FRENCH
from transformer.text.tasks.reckoning import ADDITION, BRACKETS, DATES
from transformer.text.tasks.sequences import CIPHER, COPY, REVERSE, SORT
from transformer.text.tasks.task import Example, OptionRange, Task, split

_ALL = (COPY, REVERSE, SORT, CIPHER, DATES, ADDITION, BRACKETS, FRENCH)
TASKS: Mapping[str, Task] = MappingProxyType({task.name: task for task in _ALL})

__all__ = ["TASKS", "Example", "OptionRange", "Task", "split"]
