"""Subtraction modulo p: the training pairs are memorised early, the rule is found much later.

Power et al. 2022 ("Grokking", arXiv 2201.02177) train on a part of the table of an operation modulo
a prime and watch the held-out part: its accuracy stays low long after the training pairs are known,
and then rises. Weight decay brings that moment forward. The operation here is a - b and not a + b,
because a + b = b + a: a model that has memorised one order would know most of the held-out pairs.
"""

from __future__ import annotations

from functools import partial

from transformer.text.tasks.task import Example, OptionRange, Options, Stratum, Task

_MAX_MODULUS = 59


def _symbol(number: int) -> str:
    return f"n{number}"


def _difference(modulus: int, number: int) -> Example:
    a, b = divmod(number, modulus)
    return Example(f"{_symbol(a)} - {_symbol(b)}", _symbol((a - b) % modulus), None)


def _strata(options: Options) -> list[Stratum]:
    modulus = options["modulus"]
    return [Stratum(modulus**2, 1, partial(_difference, modulus))]


MODULAR = Task(
    name="modular",
    title="Subtract modulo p (grokking)",
    group="arithmetic",
    explanation=(
        "Two numbers below p and the remainder of their difference after division by p. Each "
        "number is one symbol, so nothing says that n7 follows n6. The model sees 70% of the "
        "table, and the other 30% is held out: it can memorise what it sees, or find the rule."
    ),
    look_for=(
        "After about 300 steps the training loss is near 0: the pairs are memorised, and nearly "
        "every held-out pair is still wrong. Most of them become right between steps 600 and "
        "1,200: the rule is found late, which is called grokking. With weight decay 0 they stay "
        "wrong for all 3,000 steps."
    ),
    symbols=("-", *(_symbol(number) for number in range(_MAX_MODULUS))),
    options={"modulus": OptionRange(5, _MAX_MODULUS, 23)},
    training={
        "steps": 3000,
        "batch_tokens": 4096,  # all training pairs in every step
        "n_layers": 1,
        "learning_rate": 0.004,
        "warmup": 1000,
        "cooldown": 0.0,
        "weight_decay": 2.0,
    },
    strata=_strata,
    meanings={"modulus": "the modulus p"},
    valid_share=0.3,
)

TASKS = (MODULAR,)
