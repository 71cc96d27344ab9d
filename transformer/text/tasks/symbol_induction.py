"""Continue a repeated random sequence: what an induction head does (Olsson et al. 2022).

The source shows random letters, a bar and one of the letters again; the target continues from
there. Letters and their order are random, so the only way is to find the earlier occurrence of the
last letter and to write what followed it ("In-context learning and induction heads",
arXiv 2209.11895).
"""

from __future__ import annotations

from functools import partial
from math import perm
from string import ascii_lowercase

from transformer.text.tasks.sequences import distinct_letters
from transformer.text.tasks.task import Example, OptionRange, Options, Stratum, Task

BAR = "|"


def _continued(length: int, number: int) -> Example:
    """The example whose sequence has `length` letters, by its number."""
    number, start = divmod(number, length - 1)
    letters = distinct_letters(number, length)
    links = tuple((i, i - start - 1) for i in range(start + 1, length))
    src = [*letters, BAR, letters[start]]
    return Example(" ".join(src), " ".join(letters[start + 1 :]), links)


def _strata(options: Options) -> list[Stratum]:
    lengths = range(2, options["max_letters"] + 1)
    return [Stratum(perm(26, n) * (n - 1), 1, partial(_continued, n)) for n in lengths]


INDUCTION = Task(
    name="induction",
    title="Continue a sequence (induction)",
    group="letters",
    explanation=(
        "The source is a random sequence of different letters, a bar, and one of these letters "
        "again; the target is the rest of the sequence after that letter. No letter has a usual "
        "successor, so the model has to find its earlier occurrence and write what followed."
    ),
    look_for=(
        "Induction takes two steps: find in the source the letter that was just written, then "
        "attend to the letter after it. Choose “Matching score” and “Alignment (induction) score” "
        "in the charts: cross-attention heads of the first layer learn the first step, heads of "
        "the second layer the second one. In decoder-only language models, induction also needs a "
        "previous-token head; compare its score."
    ),
    symbols=(*ascii_lowercase, BAR),
    options={"max_letters": OptionRange(2, 20, 6)},
    training={"steps": 2000, "batch_tokens": 1024},
    strata=_strata,
    meanings={"max_letters": "most letters in a sequence"},
)

TASKS = (INDUCTION,)
