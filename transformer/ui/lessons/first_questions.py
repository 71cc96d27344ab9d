"""The first questions: whose umbrella, what a row is, how a translation ends, what a score does."""

from __future__ import annotations

import math

import numpy as np
import torch

from transformer.analysis.roles.sentence_heads import strongest_pairs
from transformer.figures.lesson_sheet import Picture
from transformer.inference import Trace
from transformer.ui.lessons.lesson import (
    Lacks,
    Looked,
    Option,
    Question,
    Said,
    about,
    escaped,
    pieces,
    word,
)

THING = "umbrella"
OWNERS = {"her": "his", "his": "her"}
CLEAR = 1.3
"""How many times the second the first must be, to be called what is looked at most."""


def umbrella(looked: Looked) -> Question:
    """When it writes the word before the umbrella, which word do all heads look at most?"""
    said = looked.said
    if THING not in said.source or len(said.source) > 6:
        raise Lacks("the umbrella is no word of its sentence")
    mean = said.cross.mean(axis=(0, 1))
    thing = said.source.index(THING)
    written = np.flatnonzero(strongest_pairs(mean)[:, thing])
    if not len(written) or written[0] == 0:
        raise Lacks("no word of its translation belongs to the umbrella")
    asked = int(written[0]) - 1
    owner = next((n for n, one in enumerate(said.source) if one in OWNERS), -1)
    order = np.argsort(-mean[asked])
    first, second = (int(one) for one in order[:2])
    if first not in (thing, owner) or mean[asked, first] < CLEAR * mean[asked, second]:
        raise Lacks("no single word is looked at most as it writes whose umbrella it is")
    shown = sorted(int(one) for one in order[:4])
    layer, head = _clearest(said, asked, first)
    because = (
        "It has to fit the thing that is owned, and that word comes only next."
        if first == thing
        else "It has to say who owns it, and that word says so."
    )
    whose = said.source[owner] if owner >= 0 else ""
    return Question(
        exhibit=f"{escaped(looked.text)}  →  {_with_bold(said, asked)}",
        options=tuple(
            Option(
                escaped(said.source[n]),
                f"All heads together give {word(said.source[n])} {about(mean[asked, n])} there.",
            )
            for n in shown
        ),
        right=shown.index(first),
        answer=(
            f"Writing {word(said.target[asked])}, all heads together look at "
            f"{word(said.source[first])} most: {about(mean[asked, first])} of their attention, "
            f"against {about(mean[asked, second])} for {word(said.source[second])}. {because} "
            f"The head that is marked gives it {about(said.cross[layer, head, asked, first])}. "
            f"{_exchanged(looked, whose)}"
        ),
        seen=_pinned(said, asked, layer, head),
        picture=Picture(
            mean, said.target, said.source,
            "Where all heads together look (columns) as each word is written (rows)", asked,
        ),
    )  # fmt: skip


def _exchanged(looked: Looked, whose: str) -> str:
    """What becomes of the translation if another owns the umbrella."""
    if whose not in OWNERS:
        return ""
    other = looked.text.replace(f" {whose} ", f" {OWNERS[whose]} ")
    again = looked.model.translator.translate(other).text
    swap = f"With {word(OWNERS[whose])} for {word(whose)} it writes"
    if again == looked.trace.text:
        return f"{swap} the very same sentence: its language does not say whose it is."
    return f"{swap}: {escaped(again)}"


def row(looked: Looked) -> Question:
    """What do the weights of a row add up to?"""
    said, trace = looked.said, looked.trace
    if len(said.target) < 2:
        raise Lacks("its translation is shorter than two words")
    # One that gives about half to its favourite: what it gives the others is there to be added up.
    marks = np.abs(said.cross.max(axis=-1) - 0.5)
    layer, head, asked = (int(n) for n in np.unravel_index(int(marks.argmin()), marks.shape))
    sums = np.concatenate(
        [
            trace.weights(kind, i).sum(axis=-1).ravel()
            for kind in ("encoder", "decoder", "cross")
            for i in range(trace.n_layers)
        ]
    )
    off = float(np.abs(sums - 1).max())
    if off > 1e-3:
        raise Lacks("the weights of its rows do not add up to 1")
    weights = trace.weights("cross", layer)[head, said.written_at(asked)]
    best = int(weights.argmax())
    listed = " · ".join(
        f"{pieces([token])} {'?' if n == best else f'{100 * weight:.1f} %'}"
        for n, (token, weight) in enumerate(zip(trace.src_tokens, weights, strict=True))
    )
    return Question(
        exhibit=f"As one head writes {word(said.target[asked])}, it looks at: {listed}",
        options=(
            Option(
                "as many as there are words",
                "A longer sentence would bring in more; attention is divided, not multiplied.",
            ),
            Option(
                "more for words that matter, less for others",
                "Every row has the same to give; what differs is where it goes.",
            ),
            Option("100 %, in every row of every head"),
        ),
        right=2,
        answer=(
            f"Each of the {len(sums):,} rows in this model's heads adds up to 1, to {off:.0e}, "
            f"which is rounding. So the missing number is {100 * weights[best]:.1f} %: what one "
            "word gets, the others do not."
        ),
        seen=_pinned(said, asked, layer, head) | {"view": "heatmap", "pin": ""},
        picture=Picture(
            said.cross[layer, head], said.target, said.source,
            "One head: where it looks (columns) as each word is written (rows)", asked,
        ),
    )  # fmt: skip


def steps(looked: Looked) -> Question:
    """How often is the decoder asked?"""
    *wrote, last = looked.trace.translation.steps
    if len(wrote) < 2:
        raise Lacks("its translation is shorter than two pieces")
    n = len(wrote)
    chosen = [step.chosen.token for step in wrote]
    return Question(
        exhibit=f"{escaped(looked.text)}  →  {pieces(chosen)}",
        options=(
            Option("once: all of it comes out together", "Each piece waits for those before it."),
            Option(
                f"{n} times, once for each piece",
                "Then nobody would have said that it is done: that is a choice of its own.",
            ),
            Option(f"{n + 1} times, once more than there are pieces"),
        ),
        right=2,
        answer=(
            f"{n + 1} times: {pieces(chosen)}, and then {pieces(['</s>'])}, the piece that means "
            "the end. It takes it as any other, when it is the most probable one: here with "
            f"{about(last.probability)}."
        ),
    )


def meeting(looked: Looked) -> Question:
    """What does a softmax make of a few scores?"""
    said, trace = looked.said, looked.trace
    layer, head, asked = _undecided(trace, said)
    site = f"decoder.layers.{layer}.cross_attn.hook_"
    at = said.written_at(asked)
    scores = trace[f"{site}scores"][head, at].astype(np.float64)
    weights = torch.from_numpy(scores).softmax(-1).numpy()
    apart = float(np.abs(weights - trace[f"{site}weights"][head, at]).max())
    if apart > 1e-4:
        raise Lacks("its weights are no softmax of its scores")
    best, n = int(scores.argmax()), len(scores)
    second = int(np.argsort(-scores)[1])
    listed = " · ".join(
        f"{pieces([token])} {score:.1f}"
        for token, score in zip(trace.src_tokens, scores, strict=True)
    )
    top = pieces([trace.src_tokens[best]])
    return Question(
        exhibit=f"The query of {word(said.target[asked])} meets the keys. Scores: {listed}",
        options=(
            Option(
                f"{about(1 / n)}: each of the {n} gets a part alike",
                "Then the scores would not matter at all.",
            ),
            Option(about(float(weights[best]))),
            Option(
                "all of it: the best key takes everything",
                "The softmax never gives 0: every key keeps a little, however low its score.",
            ),
        ),
        right=1,
        answer=(
            f"{top} gets {about(float(weights[best]))}. The softmax takes e to the power of each "
            "score and divides by the sum: "
            f"{pieces([trace.src_tokens[second]])} is {scores[best] - scores[second]:.1f} behind, "
            f"so it gets e^{scores[best] - scores[second]:.1f} ≈ "
            f"{math.exp(scores[best] - scores[second]):.0f} times less. In the picture stands "
            "every number on the way: query times key, divided by √d_k, and so on."
        ),
        seen={
            "view": "query-key", "kind": "cross", "layer": layer, "head": head, "row": at,
            "column": best,
        },
        picture=Picture(
            said.cross[layer, head], said.target, said.source,
            "The same head: where it looks (columns) as each word is written (rows)", asked,
        ),
    )  # fmt: skip


def _undecided(trace: Trace, said: Said) -> tuple[int, int, int]:
    """A head and a row whose best key is a word and gets about three quarters, not all."""
    found: list[tuple[float, int, int, int]] = []
    for layer in range(trace.n_layers):
        weights = trace.weights("cross", layer)
        for asked in range(len(said.target)):
            rows = weights[:, said.written_at(asked)]
            for head, best in enumerate(rows.argmax(axis=-1)):
                if trace.src_tokens[best].strip("▁").isalpha():
                    found.append((abs(float(rows[head, best]) - 0.75), layer, head, asked))
    if not found or min(found)[0] > 0.2:
        raise Lacks("no key of a head gets between half and nearly all of a row's attention")
    return min(found)[1:]


def _clearest(said: Said, asked: int, at: int) -> tuple[int, int]:
    """The head that looks most at word `at` of the source as word `asked` is written."""
    marks = said.cross[:, :, asked, at]
    layer, head = np.unravel_index(int(marks.argmax()), marks.shape)
    return int(layer), int(head)


def _pinned(said: Said, asked: int, layer: int, head: int) -> dict[str, str | int]:
    """The Attention page with this head, and the word that it is asked of lit up. In the row of a
    cross-attention stands the token before; the word itself is one further on."""
    return {
        "view": "heads", "kind": "cross", "layer": layer, "head": head,
        "pin": f"t{said.written_at(asked) + 1}", "way": "from", "tokens": said.rows(asked),
    }  # fmt: skip


def _with_bold(said: Said, asked: int) -> str:
    """The translation with one of its words bold."""
    return " ".join(word(one) if n == asked else escaped(one) for n, one in enumerate(said.target))
