"""From text to ids: vocabulary, corpora, token store, plans of batches, tasks of our own.

Floor 0: imports nothing of the rest of the package but the types of `transformer.config`. Here is
what needs no torch; the batches themselves are in `batching`.
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
