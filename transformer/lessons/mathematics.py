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
    scaled, position = map(float, lengths.mean(axis=0))
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
            f"By √{d_model} = {d_model**0.5:.3g}: here from {scaled / d_model**0.5:.2f} "
            f"to {scaled:.1f} on average. The position's vector has length {position:.1f}. Without "
            "the factor it would dominate the sum."
        ),
        picture=table_picture(
            "Length of each token's scaled embedding, and of its position",
            case.names(trace.src_tokens),
            ["embedding", "position"],
            lengths,
            [True, False],
        ),
    )


def highest_loss(case: LessonCase) -> Question:
    """Ask at which position the training loss is highest."""
    target = case.reference
    if not target:
        raise LessonUnavailable("there is no reference translation into its target language")
    steps = case.translator.trace(case.text, target=target).translation.steps
    order = sorted(range(len(steps)), key=lambda n: steps[n].probability)
    if len(order) < 4:
        raise LessonUnavailable("the reference translation has fewer than four tokens")
    options = sorted(order[i] for i in (0, 1, len(order) // 2, len(order) - 1))
    tokens, least_probable = [step.chosen.token for step in steps], steps[order[0]]
    return Question(
        exhibit=case.tokens(tokens),
        options=tuple(
            Option(
                f"{case.token(tokens, n)}, position {n + 1}",
                f"The loss there is {_nats(steps[n].probability)}.",
            )
            for n in options
        ),
        correct=options.index(order[0]),
        answer=(
            f"Position {order[0] + 1}: the model gives {case.token(tokens, order[0])} a "
            f"probability of {100 * least_probable.probability:.1f}%, so the loss is −ln of that, "
            f"{_nats(least_probable.probability)}. Training minimises the sum over all positions."
        ),
        picture=table_picture(
            "Loss at each position of the reference translation",
            ["loss"],
            case.names(tokens),
            np.log([[max(step.probability, 1e-12) for step in steps]]),
            [True],
        ),
        answer_fields={"target": target},
    )


def _nats(probability: float) -> str:
    return f"{-math.log(max(probability, 1e-12)):.2f} nats"


def layer_norm(case: LessonCase) -> Question:
    """Ask over which numbers LayerNorm computes mean and variance."""
    trace = case.trace
    sums = trace["encoder.layers.0.self_attn_norm.hook_sum"].astype(np.float64)
    total = sums[0]
    variances = np.stack([sums.var(axis=-1), np.ones(len(sums))], axis=1)
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
            f"of {case.token(trace.src_tokens, 0)} has mean {total.mean():.3f} and variance "
            f"{total.var():.3f} before the norm, and 0 and 1 after it. Then each dimension is "
            "multiplied by a learned gain γ, and a learned bias β is added."
        ),
        picture=table_picture(
            "Variance of each token's vector before the norm, and after it without γ and β",
            case.names(trace.src_tokens),
            ["before", "after"],
            variances,
            [False, True],
        ),
    )


COMPARED_LENGTHS = (22, 128, 512, 2048)


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
            f"sentences, up to a rounding error of {result.max_differences['without']:.0e}. "
            f"With positions the vectors differ by up to {result.max_differences['with']:.1f}. "
            f"{consequence} Attention alone treats a sentence as a bag of words."
        ),
        picture=table_picture(
            "Difference between a word's vectors in the two sentences, with and without positions",
            ["with", "without"],
            ["difference"],
            np.array([[result.max_differences[name]] for name in ("with", "without")]),
            [[False], [True]],
        ),
    )


def longest_wave(case: LessonCase) -> Question:
    """Ask how long the longest wave is; computed from the vector of position 1."""
    config = case.translator.model.config
    if config.positions != "sinusoidal" or config.d_model < 8:
        raise LessonUnavailable("its positions are not sinusoids")
    vectors = case.trace[POSITIONS].astype(np.float64)
    vector, sines = vectors[1], vectors[:, :: config.d_model // 4]
    first, last = (math.atan2(*vector[at : at + 2]) for at in (0, config.d_model - 2))
    shortest, longest = 2 * math.pi / first, 2 * math.pi / last
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
            "Size of four sine waves at the first positions, from the shortest to a long one",
            [f"position {position}" for position in range(len(sines))],
            ["shortest", "…", "…", "long"],
            sines,
            [False, False, False, True],
        ),
    )
