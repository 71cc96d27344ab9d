"""Questions about the sizes of things: scores, vectors, losses, sums, costs."""

from __future__ import annotations

import math

import numpy as np

from transformer.analysis.table1 import score_scale
from transformer.ui.lessons.lesson import Lacks, Looked, Option, Question, pieces, word

SMALL, LARGE = 64, 256
"""The widths of a query that are held against each other."""


def scale(looked: Looked) -> Question:
    """By how much does the variance of q·k grow with d_k?"""
    table = score_scale.measure((SMALL, LARGE)).query("score == 'dot'").set_index("d_k")
    small, large = (float(table["variance"][width]) for width in (SMALL, LARGE))
    times = (1, 2, 4, 16)
    right = min(range(len(times)), key=lambda n: abs(math.log(large / small / times[n])))
    wrong = {
        1: "More terms are added up, so the sum spreads more.",
        2: "That is how its root, the standard deviation, grows.",
        4: "It is the number of terms that counts.",
        16: "That would be if the terms were all the same; they are independent.",
    }
    return Question(
        options=tuple(Option(f"{n} times" if n > 1 else "not at all", wrong[n]) for n in times),
        right=right,
        answer=(
            f"From {small:.0f} to {large:.0f} with queries and keys drawn just now: "
            f"{times[right]} times, as d_k does. Of independent numbers with variance 1 each "
            "product has variance 1, and d_k of them are added up (footnote 4). Dividing by √d_k "
            "makes it 1 again, for every d_k, so that the softmax stays where it can learn."
        ),
    )


def lengths(looked: Looked) -> Question:
    """How much longer is an embedding after it is multiplied?"""
    trace = looked.trace
    d_model = int(trace.config["d_model"])
    long = float(np.linalg.norm(trace["encoder.embed.hook_tokens"], axis=-1).mean())
    place = float(np.linalg.norm(trace["encoder.embed.hook_positions"], axis=-1).mean())
    return Question(
        options=(
            Option("not at all", "Then what is added for the place would drown the word."),
            Option(f"√{d_model} = {d_model**0.5:.3g} times"),
            Option(
                f"{d_model} times, as often as it has numbers",
                "That would be its square; the word would drown the place.",
            ),
        ),
        right=1,
        answer=(
            f"√{d_model} = {d_model**0.5:.3g} times: here from {long / d_model**0.5:.2f} to "
            f"{long:.1f} on average. What tells the place has length {place:.1f}; without the "
            "factor it would drown the word it is added to."
        ),
    )


def shifted(looked: Looked) -> Question:
    """At which place would training cost the model most?"""
    target = looked.model.about.translation(looked.text)
    if not target:
        raise Lacks("there is no right translation at hand into the language that it writes")
    table = looked.model.translator.trace(looked.text, target=target).translation.steps
    places = sorted(range(len(table)), key=lambda n: table[n].probability)
    if len(places) < 4:
        raise Lacks("the right translation has fewer than four pieces")
    offered = sorted(places[i] for i in (0, 1, len(places) // 2, len(places) - 1))
    worst = table[places[0]]
    return Question(
        exhibit=pieces([step.chosen.token for step in table]),
        options=tuple(
            Option(
                f"at {pieces([table[n].chosen.token])}, place {n + 1}",
                f"That costs {_nats(table[n].probability)}.",
            )
            for n in offered
        ),
        right=offered.index(places[0]),
        answer=(
            f"At place {places[0] + 1}, where {pieces([worst.chosen.token])} is right: it had "
            f"{100 * worst.probability:.1f} % and costs −ln of that, {_nats(worst.probability)}. "
            "Training makes the sum over all places small."
        ),
        seen={"target": target},
    )


def _nats(probability: float) -> str:
    return f"{-math.log(max(probability, 1e-12)):.2f} nats"


def norm(looked: Looked) -> Question:
    """What becomes of a place's vector in the norm?"""
    trace = looked.trace
    name = "encoder.layers.0.self_attn_norm.hook_sum"
    total = trace[name][0].astype(np.float64)
    return Question(
        options=(
            Option(
                "over the words of the sentence",
                "That would be another norm: this one knows of no other place.",
            ),
            Option("over the numbers of each place’s own vector"),
            Option(
                "over all sentences that are learned from at once",
                "That is batch normalisation; here a sentence is never changed by another.",
            ),
        ),
        right=1,
        answer=(
            f"Over a vector's own {len(total)} numbers. In the first layer that of "
            f"{pieces(trace.src_tokens[:1])} has mean {total.mean():.3f} and variance "
            f"{total.var():.3f} before the norm. Afterwards they are 0 and 1, until γ and β "
            "stretch and move each of the numbers."
        ),
    )


def cost(looked: Looked) -> Question:
    """Up to which length is self-attention cheaper than a recurrent layer?"""
    d = 512
    lengths_ = np.arange(1, 4 * d)
    cheaper = lengths_[lengths_**2 * d < lengths_ * d**2]
    most = int(cheaper.max())
    return Question(
        options=(
            Option("up to 22 words, √512", "n² · d and n · d² are equal where n is d itself."),
            Option(f"up to {most} words"),
            Option("always", "Its price grows with the square of the length."),
            Option("never", "Most sentences are far shorter than a vector is wide."),
        ),
        right=1,
        answer=(
            f"$n^2 \\cdot d$ against $n \\cdot d^2$: as long as n is below d, here up to {most} "
            "places. Most sentences are far shorter, and all places are joined in one step: a "
            f"recurrent layer takes one after the other, {word('n')} of them."
        ),
    )
