"""A small model for the doors that need one: English to French, seeded, not trained."""

from __future__ import annotations

import itertools
from pathlib import Path

from tests.checkpoint.models import tiny
from transformer.checkpoint import save_checkpoint
from transformer.languages import front_matter
from transformer.text import Vocabulary
from transformer.text.tasks import TASKS


def small_checkpoint(folder: Path) -> Path:
    """`tiny` in `folder`, which is a folder of checkpoints as the app wants it; its path."""
    pairs = [(pair.src, pair.tgt) for pair in TASKS["french"].pairs(200, seed=1)]
    vocabulary = Vocabulary.train(itertools.chain.from_iterable(pairs), 320)
    made = folder / "tiny"
    card = f"{front_matter(('en', 'fr'))}# A tiny model\n"
    save_checkpoint(made, tiny(len(vocabulary)).eval(), vocabulary, card)
    return made
