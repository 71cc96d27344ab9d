"""Questions about quantities: positions, scores, embeddings, losses, normalisation, cost."""

from __future__ import annotations

import math

import numpy as np

from transformer.analysis import positions
from transformer.analysis.table1 import score_scale
from transformer.lessons.lesson import (
    LessonCase,
    LessonUnavailable,
    Option,
    Question,
    bold,
    escaped,
    percent,
    table_picture,
)

SMALL_D_K, LARGE_D_K = 64, 256
"""The two values of d_k that are compared."""


def score_variance(case: LessonCase) -> Question:
    """Ask by which factor the variance of q·k grows with d_k."""
    widths = (SMALL_D_K, 2 * SMALL_D_K, LARGE_D_K)
    table = score_scale.measure(widths).query("score == 'dot'").set_index("d_k")
    variances = np.array([[float(table["variance"][d_k])] for d_k in widths])
    small, large = float(variances[0, 0]), float(variances[-1, 0])
    factors = (1, 2, 4, 16)
    correct = min(range(len(factors)), key=lambda n: abs(math.log(large / small / factors[n])))
    feedback = {
        1: "The sum has more terms, so it varies more.",
        2: "That is the factor for the standard deviation.",
        4: "The variance is proportional to the number of terms.",
        16: "That would hold if all terms were equal; they are independent.",
    }
    return Question(
        options=tuple(
            Option(f"{n} times" if n > 1 else "Not at all", feedback[n]) for n in factors
        ),
        correct=correct,
        answer=(
            f"From {small:.0f} to {large:.0f} for random queries and keys: {factors[correct]} "
            "times, like d_k. Each product of two independent numbers with variance 1 has variance "
            "1, and a score is the sum of d_k products (footnote 4 of the paper). Dividing by "
            "√d_k brings the variance back to 1 for every d_k, so the softmax does not saturate."
        ),
        picture=table_picture(
            "Variance of q·k for random queries and keys",
            [f"d_k = {d_k}" for d_k in widths],
            ["variance"],
            variances,
            variances > small,
            [(0, 0, f"{small:.0f}"), (len(widths) - 1, 0, f"{large:.0f}")],
        ),
    )


PARTS = ("tokens", "positions")
"""Hook points of what is added at the bottom of the encoder."""


def embedding_scale(case: LessonCase) -> Question:
    """Ask by which factor an embedding is scaled."""
    trace = case.trace
    d_model = int(trace.config["d_model"])
    lengths = np.stack(
        [np.linalg.norm(trace[f"encoder.embed.hook_{name}"], axis=-1) for name in PARTS], axis=1
    )
    lengths = np.c_[lengths[:, 0] / d_model**0.5, lengths]
    lengths = np.r_[lengths, lengths.mean(axis=0, keepdims=True)]
    texts = [
        f"{length:{digits}}"
        for length, digits in zip(lengths[-1], (".2f", ".1f", ".1f"), strict=True)
    ]
    return Question(
        options=(
            Option("Not at all", "Then the position would be much longer than the embedding."),
            Option(f"By √d_model = √{d_model} = {d_model**0.5:.3g}"),
            Option(
                f"By d_model = {d_model}",
                "Then the embedding would be much longer than the position.",
            ),
        ),
        correct=1,
        answer=(
            f"By √{d_model} = {d_model**0.5:.3g}: here from a length of {texts[0]} to {texts[1]}, "
            f"the mean of all tokens. The position's vector has length {texts[2]}. Without the "
            "factor it would dominate the sum."
        ),
        picture=table_picture(
            "Length of each token's embedding, before and after scaling, and of its position",
            [*case.names(trace.src_tokens), "mean"],
            ["unscaled", "scaled", "position"],
            lengths,
            [False, True, False],
            [(len(lengths) - 1, column, text) for column, text in enumerate(texts)],
        ),
    )


MAX_HARDEST = 0.8
"""Greatest ratio of the lowest probability to the second lowest that is clearly the lowest."""


def highest_loss(case: LessonCase) -> Question:
    """Ask at which position the training loss is highest."""
    target = case.reference
    if not target:
        raise LessonUnavailable("there is no reference translation into its target language")
    steps = case.translator.trace(case.text, target=target).translation.steps
    order = sorted(range(len(steps)), key=lambda n: steps[n].probability)
    if len(order) < 4:
        raise LessonUnavailable("the reference translation has fewer than four tokens")
    if steps[order[0]].probability > MAX_HARDEST * steps[order[1]].probability:
        raise LessonUnavailable("no position of its reference translation is clearly the hardest")
    options = sorted(order[i] for i in (0, 1, len(order) // 2, len(order) - 1))
    tokens, least = [step.chosen.token for step in steps], order[0]
    losses = np.array([-math.log(max(step.probability, 1e-12)) for step in steps])
    probabilities = np.exp(-losses)
    return Question(
        exhibit=case.tokens(tokens),
        options=tuple(
            Option(
                f"{case.token(tokens, n)}, position {n + 1}",
                f"The loss there is {losses[n]:.2f}.",
            )
            for n in options
        ),
        correct=options.index(least),
        answer=(
            f"Position {least + 1}: the model gives {case.token(tokens, least)} a "
            f"probability of {percent(float(probabilities[least]))}, so the loss is −ln of that, "
            f"{losses[least]:.2f}. Training minimises the sum over all positions."
        ),
        picture=table_picture(
            "Probability and loss at each position of the reference translation",
            ["probability", "loss"],
            case.names(tokens),
            np.stack([probabilities, losses / losses.max()]),
            [True],
            [
                (0, least, percent(float(probabilities[least]))),
                *((1, n, f"{losses[n]:.2f}") for n in options),
            ],
        ),
        answer_fields={"target": target},
    )


def layer_norm(case: LessonCase) -> Question:
    """Ask over which numbers LayerNorm computes mean and variance."""
    trace = case.trace
    sums = trace["encoder.layers.0.self_attn_norm.hook_sum"].astype(np.float64)
    total = sums[0]
    before = np.stack([np.abs(sums.mean(axis=-1)), sums.var(axis=-1)], axis=1)
    shades = np.c_[before / before.max(axis=0), np.zeros(len(sums)), np.ones(len(sums))]
    texts = [f"{total.mean():.3f}".replace("-", "−"), f"{total.var():.3f}", "0", "1"]
    return Question(
        options=(
            Option(
                "Over the words of the sentence",
                "LayerNorm never mixes positions.",
            ),
            Option("Over the numbers in the vector of each position"),
            Option(
                "Over all sentences in the batch",
                "That is batch normalisation. Here no sentence changes another one.",
            ),
        ),
        correct=1,
        answer=(
            f"Over the {len(total)} numbers of one vector. In the first encoder layer the vector "
            f"of {case.token(trace.src_tokens, 0)} has mean {texts[0]} and variance {texts[1]} "
            f"before the norm, and {texts[2]} and {texts[3]} after it. Then each dimension is "
            "multiplied by a learned gain γ, and a learned bias β is added."
        ),
        picture=table_picture(
            "Mean and variance of each token's vector before and after the norm, without γ and β",
            case.names(trace.src_tokens),
            ["mean", "variance", "new mean", "new variance"],
            shades,
            [False, False, True, True],
            [(0, column, text) for column, text in enumerate(texts)],
        ),
    )


COMPARED_LENGTHS = (22, 128, 511, 2048)


def attention_cost(case: LessonCase) -> Question:
    """Ask up to which length self-attention is cheaper than a recurrent layer."""
    d = 512
    lengths = np.arange(1, 4 * d)
    longest = int(lengths[lengths**2 * d < lengths * d**2].max())
    return Question(
        options=(
            Option("Up to 22 tokens, √512", "n² · d and n · d² are equal at n = d."),
            Option(f"Up to {longest} tokens"),
            Option("For every length", "Its cost grows with the square of the length."),
            Option("For no length", "Most sentences are much shorter than d."),
        ),
        correct=1,
        answer=(
            f"Self-attention takes $n^2 \\cdot d$ operations, a recurrent layer $n \\cdot d^2$. "
            f"The first is smaller while n is below d, here up to {longest} tokens; most sentences "
            "are much shorter. Self-attention also connects all positions in one step, while a "
            f"recurrent layer needs {bold('n')} steps one after another."
        ),
        picture=table_picture(
            "Operations relative to the more expensive layer, for d = 512",
            [f"n = {length}" for length in COMPARED_LENGTHS],
            ["attention", "recurrent"],
            np.array([[n / max(n, d), d / max(n, d)] for n in COMPARED_LENGTHS]),
            [[n > COMPARED_LENGTHS[0]] for n in COMPARED_LENGTHS],
            [(COMPARED_LENGTHS.index(longest), column, "") for column in (0, 1)],
        ),
    )


POSITIONS = "encoder.embed.hook_positions"
MAX_ROUNDING_ERROR = 1e-3
"""Largest difference of two vectors that counts as equal."""
MIN_ORDER_EFFECT = 1e-2
"""Smallest difference that shows that the encoder distinguishes word order."""


def word_order(case: LessonCase) -> Question:
    """Ask whether an encoder without positions can distinguish two orders of the same words."""
    translator = case.translator
    if translator.model.config.positions == "none":
        raise LessonUnavailable("it has no positions that could be removed")
    pair = positions.ORDER_PAIR
    try:
        result = positions.reordering_effect(translator, *pair)
    except ValueError as error:
        raise LessonUnavailable("it splits the two sentences into different tokens") from error
    if not (
        result.max_differences["without"] < MAX_ROUNDING_ERROR
        and result.max_differences["with"] > MIN_ORDER_EFFECT
    ):
        raise LessonUnavailable("its encoder does not distinguish the two sentences by order alone")
    largest = f"{result.max_differences['with']:.1f}"
    with_positions, without = result.translations["with"], result.translations["without"]
    consequence = (
        f"It translates both as {bold(without[0])}"
        if without[0] == without[1]
        else f"It translates them as {bold(without[0])} and {bold(without[1])}"
    )
    return Question(
        exhibit="  ·  ".join(
            f"{escaped(text)} → {escaped(translation)}"
            for text, translation in zip(pair, with_positions, strict=True)
        ),
        options=(
            Option(
                "The one that is read first",
                "Nothing is read first: the encoder processes all words at the same time.",
            ),
            Option("It cannot know: both sentences are the same to it"),
            Option(
                "The dog follows: in the training data dogs follow people",
                "It may prefer that translation, but it cannot see which sentence it was given.",
            ),
        ),
        correct=1,
        answer=(
            "Without positions the encoder computes the same vector for each word in both "
            f"sentences: the difference is 0. With positions it is up to {largest}. "
            f"{consequence} Attention alone treats a sentence as a bag of words."
        ),
        picture=table_picture(
            "Difference between a word's vectors in the two sentences, with and without positions",
            ["with", "without"],
            ["difference"],
            np.array([[result.max_differences[name]] for name in ("with", "without")]),
            [[False], [True]],
            [(0, 0, largest), (1, 0, "0")],
        ),
    )


def longest_wave(case: LessonCase) -> Question:
    """Ask how long the longest wave is; computed from the vector of position 1."""
    config = case.translator.model.config
    if config.positions != "sinusoidal" or config.d_model < 8:
        raise LessonUnavailable("its positions are not sinusoids")
    vector = case.trace[POSITIONS][1].astype(np.float64)
    pairs = [2 * round(share * (config.d_model / 2 - 1)) for share in (0, 0.25, 0.5, 0.75, 1)]
    waves = np.array([[2 * math.pi / math.atan2(*vector[at : at + 2])] for at in pairs])
    shortest, longest = float(waves[0, 0]), float(waves[-1, 0])
    return Question(
        options=(
            Option(
                f"About {shortest:.1f} positions",
                "That is the shortest wave: it turns by one radian per position.",
            ),
            Option(
                f"{config.d_model} positions, the dimension of the vectors",
                "The dimension sets how many waves there are, not how long they are.",
            ),
            Option(f"About {longest:,.0f} positions"),
        ),
        correct=2,
        answer=(
            f"The wavelengths go from {shortest:.1f} to {longest:,.0f} positions, computed from "
            f"the vector that this model adds at position 1 (d_model = {config.d_model}). In the "
            "paper the limit is 10000·2π ≈ 62,832; a wider model comes closer to it. Together the "
            "waves distinguish neighbouring positions as well as distant ones."
        ),
        picture=table_picture(
            "Length in positions of five of the waves, the longer the darker",
            [f"dim. {at}" for at in pairs],
            ["length"],
            np.log(waves),
            [[at > 0] for at in pairs],
            [(0, 0, f"{shortest:.1f}"), (len(pairs) - 1, 0, f"{longest:,.0f}")],
        ),
        answer_fields={"waves": f"0,{pairs[-1]}"},
    )
