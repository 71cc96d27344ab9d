"""The small English→French grammar as a task: sentences, symbols, gold word alignments."""

from __future__ import annotations

from functools import cache, partial

from transformer.text.grammar.clauses import dependencies
from transformer.text.grammar.phrases import links
from transformer.text.grammar.sentences import LEVELS, Kind, kinds, symbols
from transformer.text.tasks.task import Example, OptionRange, Options, Stratum, Task


def _example(kind: Kind, number: int) -> Example:
    english, french = kind.sentence(number)
    src, tgt = (" ".join(word.text for word in words) for words in (english, french))
    return Example(src, tgt, links(english, french), dependencies(english))


@cache
def _level(level: int) -> list[Stratum]:
    return [
        Stratum(kind.size, kind.weight, partial(_example, kind), kind.draw) for kind in kinds(level)
    ]


def _strata(options: Options) -> list[Stratum]:
    return _level(options["level"])


FRENCH = Task(
    name="french",
    title="English to French, a small grammar",
    group="language",
    explanation=(
        "Sentences made by a grammar of ours: a few hundred words with articles, gender and "
        'number, adjectives before or after their noun, "ne … pas", questions, contractions such '
        'as "au" and "du". Every sentence has one translation here ("you" is "tu", "you all" is '
        '"vous"), and which word comes from which is known.'
    ),
    look_for=(
        'Where the cross attention leaves the diagonal: the noun before its adjective ("black '
        'cat", "chat noir"), "not" for both "ne" and "pas", an article that looks at its noun for '
        "the gender, a pronoun that moves before its verb."
    ),
    symbols=symbols(),
    options={"level": OptionRange(LEVELS[0], LEVELS[-1], LEVELS[-1])},
    training={"steps": 2000, "batch_tokens": 1024},
    strata=_strata,
    meanings={"level": "1: statements; 2: adjectives, owners, not; 3: questions and everything"},
)

TASKS = (FRENCH,)
