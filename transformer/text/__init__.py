"""From text to ids and batches: vocabulary, corpora, token store, batching, tasks of our own.

Floor 0: imports nothing of the rest of the package but the types of `transformer.config`.
"""

from transformer.text.batching import Batch, batch_plan, make_batch
from transformer.text.corpus import CorpusError, parse_pairs, read_pairs, read_references
from transformer.text.examples import Examples, Pairs
from transformer.text.store import TokenStore
from transformer.text.tasks import TASKS, Example, OptionRange, Task, split
from transformer.text.vocabulary import Vocabulary

__all__ = [
    "TASKS",
    "Batch",
    "CorpusError",
    "Example",
    "Examples",
    "OptionRange",
    "Pairs",
    "Task",
    "TokenStore",
    "Vocabulary",
    "batch_plan",
    "make_batch",
    "parse_pairs",
    "read_pairs",
    "read_references",
    "split",
]
