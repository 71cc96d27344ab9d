"""Text to token ids: vocabulary, corpora, token stores, batches, built-in tasks.

Import layer 0: it imports nothing else of the package except the types in `transformer.config`.
This module needs no torch; `batching` does.
"""

from transformer.text.corpus import CorpusError, parse_pairs, read_pairs, read_references
from transformer.text.examples import Examples, Pairs, batch_plan
from transformer.text.store import TokenStore
from transformer.text.tasks import TASKS, Example, Task, split
from transformer.text.vocabulary import Vocabulary

__all__ = [
    "TASKS",
    "CorpusError",
    "Example",
    "Examples",
    "Pairs",
    "Task",
    "TokenStore",
    "Vocabulary",
    "batch_plan",
    "parse_pairs",
    "read_pairs",
    "read_references",
    "split",
]
