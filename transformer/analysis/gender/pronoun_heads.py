"""Heads that look at the pronoun when the article of an occupation is written.

The two sentences of a minimal pair are translated with the same forced beginning: one translation
up to the article. In the row that writes the article a cross-attention head can look at the
pronoun; in the encoder the rows of the occupation can. The baseline of each weight is the mean of
the two words next to the pronoun, which are as far from the occupation.

The effect of the pronoun is the change of log p(feminine article) - log p(masculine article) from
the "he" to the "she" sentence, in nats; above 0 the pronoun pulls in its own direction. Heads are
chosen on every other pair and measured on the rest, as in `roles.syntax`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from transformer.analysis.corpora.gold import words_of
from transformer.analysis.corpora.passes import (
    NumberedBatch,
    Pair,
    Progress,
    batches,
    no_progress,
    scaled_progress,
)
from transformer.analysis.evidence.bootstrap import (
    Interval,
    percentile_interval,
    resampled_counts,
)
from transformer.analysis.gender.nouns import counterpart
from transformer.analysis.gender.occupation_gender import AlignedTranslation
from transformer.analysis.gender.sentences import OccupationSentence, pronoun_positions
from transformer.analysis.interventions.switching import Head, all_heads, switched_off
from transformer.hooks import Hooks
from transformer.inference import Translator
from transformer.inference.acceleration import fast_products
from transformer.inference.trace import WEIGHTS
from transformer.model.attention import padding_mask

KINDS = ("encoder", "cross")
N_HEADS = 4
"""Number of heads that are chosen."""
N_RANDOM = 10
"""Number of draws of as many random heads of the same kinds."""
MIN_PAIRS = 20
"""Minimum number of pairs that heads are measured on."""


@dataclass(frozen=True)
class ArticleStep:
    """A sentence with a forced beginning of its translation, up to an article.

    Attributes:
        pair: source ids, and the ids of the beginning and the article.
        masculine, feminine: token ids of the two forms of the article.
        occupation, pronoun: source positions of their tokens.
        neighbours: source positions of the tokens of each word next to the pronoun.
    """

    pair: Pair
    masculine: int
    feminine: int
    occupation: tuple[int, ...]
    pronoun: tuple[int, ...]
    neighbours: tuple[tuple[int, ...], ...]


def article_step(
    translator: Translator,
    language: str,
    sentence: OccupationSentence,
    translation: AlignedTranslation,
    ids: Sequence[int],
    article: int,
) -> ArticleStep | None:
    """Return the step that writes an article, for a sentence.

    Return None if the article or its other form is not a single token, or if the sentence's tokens
    do not match its words.

    Args:
        translation, ids: the translation whose beginning is forced, perhaps of the other sentence
            of the pair, and its token ids.
        article: position of the article in its words; -1 if it has no article.
    """
    if article < 0:
        return None
    forms = counterpart(language, translation.words[article], article == 0)
    tokens = [n for n, owner in enumerate(translation.word_of_token) if owner == article]
    if forms is None or len(tokens) != 1:
        return None
    form_ids = [_single_token(translator, form) for form in forms]
    vocabulary = translator.vocabulary
    src = vocabulary.encode(sentence.text)
    word_of_token = words_of(vocabulary.tokens(src[:-1]), sentence.words)
    if None in form_ids or ids[tokens[0]] not in form_ids or word_of_token is None:
        return None
    masculine, feminine = (int(form or 0) for form in form_ids)

    def positions(word: int) -> tuple[int, ...]:
        return tuple(n for n, owner in enumerate(word_of_token) if owner == word)

    pronoun = pronoun_positions(sentence.words)[0]
    neighbours = [
        word
        for word in (pronoun - 1, pronoun + 1)
        if not sentence.first <= word <= sentence.last and positions(word)
    ]
    occupation = [positions(word) for word in range(sentence.first, sentence.last + 1)]
    return ArticleStep(
        Pair(src, [*ids[: tokens[0]], ids[tokens[0]]]),
        masculine,
        feminine,
        tuple(position for word in occupation for position in word),
        positions(pronoun),
        tuple(positions(word) for word in neighbours),
    )


def _single_token(translator: Translator, form: str) -> int | None:
    ids = translator.vocabulary.encode(form, target=True)[:-1]
    return ids[0] if len(ids) == 1 else None


@dataclass(frozen=True)
class PronounHead:
    """How much one head looks at the pronoun; means over the pairs it was not chosen on.

    Attributes:
        kind: "encoder" (rows of the occupation) or "cross" (the row that writes the article).
        layer, head: from 0.
        weight: on the pronoun.
        low, high: 95% interval of weight - neighbours, over pairs.
        neighbours: mean weight on a word next to the pronoun.
        she_minus_he: weight in the "she" sentences minus that in the "he" sentences.
        she_low, she_high: its 95% interval.
    """

    kind: str
    layer: int
    head: int
    weight: float
    neighbours: float
    low: float
    high: float
    she_minus_he: float
    she_low: float
    she_high: float


@dataclass(frozen=True)
class PronounEffect:
    """The effect of the pronoun on the article, with all heads and without some.

    Attributes:
        pairs: how many pairs were measured; as many others chose the heads.
        heads: the heads that look at the pronoun most, the first one most.
        intact, off, random: mean effect of the pronoun in nats, with its interval; `random` with
            as many random heads off, and the range of its draws instead of an interval.
        right, right_off, right_random: share of pairs whose more probable article is masculine
            with "he" and feminine with "she".
        flipped, flipped_random: share of sentences whose more probable article changes when the
            heads are switched off.
    """

    pairs: int
    heads: tuple[PronounHead, ...]
    intact: Interval
    off: Interval
    random: Interval
    right: float
    right_off: float
    right_random: float
    flipped: float
    flipped_random: float


def pronoun_effect(
    translator: Translator,
    pairs: Sequence[tuple[ArticleStep, ArticleStep]],
    progress: Progress = no_progress,
    seed: int = 1,
) -> PronounEffect | None:
    """Return which heads look at the pronoun, and what the article is without them.

    Args:
        pairs: the "he" and the "she" sentence, with the same beginning of the translation.

    Returns:
        None for fewer than `MIN_PAIRS` pairs on each side.
    """
    steps = [step for pair in pairs for step in pair]
    if len(pairs) < 2 * MIN_PAIRS:
        return None
    weights, intact = pronoun_weights(translator, steps, scaled_progress(progress, 0, 0.2))
    by_pair = weights.reshape(*weights.shape[:-1], -1, 2)  # kind, layer, head, what, pair, he/she
    excess = (by_pair[..., 0, ::2, :] - by_pair[..., 1, ::2, :]).mean((-1, -2))
    selected_heads = _heads_with_largest(excess, N_HEADS)
    measured_steps = every_other_pair(steps, 1)
    config = translator.model.config
    intact_margins = intact.reshape(-1, 2)[1::2]
    margins_off = _margins(translator, measured_steps, switched_off(config, selected_heads))
    draws = []
    for number, heads in enumerate(_random_heads(translator, selected_heads, seed)):
        progress(0.3 + 0.7 * number / N_RANDOM, "switching off random heads")
        draws.append(_margins(translator, measured_steps, switched_off(config, heads)))
    effects = np.array([(margins[:, 1] - margins[:, 0]).mean() for margins in draws])
    return PronounEffect(
        len(intact_margins),
        tuple(_pronoun_head(head, by_pair) for head in selected_heads),
        _mean_interval(intact_margins[:, 1] - intact_margins[:, 0]),
        _mean_interval(margins_off[:, 1] - margins_off[:, 0]),
        Interval(float(effects.mean()), float(effects.min()), float(effects.max())),
        _correct_share(intact_margins),
        _correct_share(margins_off),
        float(np.mean([_correct_share(margins) for margins in draws])),
        _flipped_share(intact_margins, margins_off),
        float(np.mean([_flipped_share(intact_margins, margins) for margins in draws])),
    )


def every_other_pair(steps: Sequence[ArticleStep], remainder: int) -> list[ArticleStep]:
    """Return both sentences of every other pair, beginning with pair `remainder`."""
    return [step for number, step in enumerate(steps) if number // 2 % 2 == remainder]


def pronoun_weights(
    translator: Translator, steps: Sequence[ArticleStep], progress: Progress = no_progress
) -> tuple[Float[np.ndarray, "kind layer head what sentence"], Float[np.ndarray, "sentence"]]:
    """Return the weights on the pronoun and on a word next to it, by head, and the margins.

    `what` is 0 for the pronoun and 1 for its neighbours; a margin is log p(feminine article) -
    log p(masculine article), in nats.
    """
    config = translator.model.config
    weights = np.zeros((len(KINDS), config.n_layers, config.n_heads, 2, len(steps)))

    def record(kind: int, layer: int, batch: NumberedBatch) -> Callable[[Tensor, str], None]:
        def record_weights(values: Tensor, name: str) -> None:
            for row, number in enumerate(batch.numbers):
                step = steps[number]
                rows = list(step.occupation) if kind == 0 else [len(step.pair.out) - 1]
                mean_weights = values[row, :, rows].float().mean(1).cpu().numpy()  # (heads, source)
                neighbour_weights = [
                    mean_weights[:, list(word)].sum(-1) for word in step.neighbours
                ]
                weights[kind, layer, :, 0, number] = mean_weights[:, list(step.pronoun)].sum(-1)
                weights[kind, layer, :, 1, number] = (
                    np.mean(neighbour_weights, axis=0) if neighbour_weights else 0
                )

        return record_weights

    def hooks(batch: NumberedBatch) -> Hooks:
        return Hooks(
            {
                WEIGHTS[kind].format(layer): record(number, layer, batch)
                for number, kind in enumerate(KINDS)
                for layer in range(config.n_layers)
            }
        )

    return weights, article_margins(translator, steps, hooks, progress)


@torch.inference_mode()
def article_margins(
    translator: Translator,
    steps: Sequence[ArticleStep],
    hooks: Callable[[NumberedBatch], Hooks] | None = None,
    progress: Progress = no_progress,
) -> Float[np.ndarray, "sentence"]:
    """Return log p(feminine article) - log p(masculine article) of each sentence, in nats."""
    model, margins, done = translator.model, np.zeros(len(steps)), 0
    for batch in batches(translator, [step.pair for step in steps]):
        progress(done / len(steps), "reading the article's step")
        batch_hooks = hooks(batch) if hooks else None
        mask = padding_mask(batch.src, model.config.pad_id)
        with fast_products():
            memory = model.encode(batch.src, mask, batch_hooks)
            states = model.decode(batch.tgt_in, memory, mask, hooks=batch_hooks)
            last_states = states[torch.arange(len(states)), batch.n_tgt - 1]
            logits = model.project(last_states[:, None], batch_hooks)[:, 0].float()
        for row, number in enumerate(batch.numbers):
            step = steps[number]
            margins[number] = float(logits[row, step.feminine] - logits[row, step.masculine])
        done += len(batch.numbers)
    return margins


def _margins(
    translator: Translator, steps: Sequence[ArticleStep], hooks: Hooks
) -> Float[np.ndarray, "pair 2"]:
    return article_margins(translator, steps, lambda batch: hooks).reshape(-1, 2)


def _heads_with_largest(values: Float[np.ndarray, "kind layer head"], count: int) -> list[Head]:
    order = np.argsort(-values, axis=None, kind="stable")[:count]
    return [
        (KINDS[kind], int(layer), int(head))
        for kind, layer, head in zip(*np.unravel_index(order, values.shape), strict=True)
    ]


def _random_heads(
    translator: Translator, selected_heads: Sequence[Head], seed: int
) -> list[list[Head]]:
    """Draw as many other heads of each kind as were chosen."""
    rng = np.random.default_rng(seed)
    draws = []
    for _ in range(N_RANDOM):
        heads: list[Head] = []
        for kind in KINDS:
            candidates = [
                head
                for head in all_heads(translator.model.config, [kind])
                if head not in selected_heads
            ]
            count = min(sum(head[0] == kind for head in selected_heads), len(candidates))
            heads += [candidates[n] for n in rng.choice(len(candidates), count, replace=False)]
        draws.append(heads)
    return draws


def _pronoun_head(
    head: Head, by_pair: Float[np.ndarray, "kind layer head what pair 2"]
) -> PronounHead:
    kind, layer, number = head
    weight, neighbours = by_pair[KINDS.index(kind), layer, number, :, 1::2]
    excess = _mean_interval((weight - neighbours).mean(-1))
    contrast = _mean_interval(weight[:, 1] - weight[:, 0])
    return PronounHead(
        kind,
        layer,
        number,
        float(weight.mean()),
        float(neighbours.mean()),
        excess.low,
        excess.high,
        contrast.value,
        contrast.low,
        contrast.high,
    )


def _mean_interval(values: Float[np.ndarray, "pair"]) -> Interval:
    counts = resampled_counts(len(values))
    return percentile_interval(float(values.mean()), counts @ values / len(values))


def _correct_share(margins: Float[np.ndarray, "pair 2"]) -> float:
    return float(((margins[:, 0] < 0) & (margins[:, 1] > 0)).mean())


def _flipped_share(
    before: Float[np.ndarray, "pair 2"], after: Float[np.ndarray, "pair 2"]
) -> float:
    return float((np.sign(before) != np.sign(after)).mean())
