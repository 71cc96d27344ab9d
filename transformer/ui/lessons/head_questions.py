"""Questions about heads: what they do, what they may not, and what happens without them."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float

from transformer.analysis.interventions import switched_off
from transformer.analysis.roles.sentence_heads import CLEAR, alignment, word_before
from transformer.figures.lesson_sheet import Picture
from transformer.figures.naming import head_name
from transformer.figures.switchboard import heads_of
from transformer.figures.words import merge, plain_words
from transformer.inference import Trace
from transformer.ui.lessons.lesson import (
    Lacks,
    Looked,
    Option,
    Question,
    about,
    escaped,
    pieces,
    word,
)
from transformer.ui.models import Model

SIDES = {"encoder": "the encoder", "decoder": "the decoder", "cross": "the encoder–decoder"}
LEAD = 1.05
"""How many times the next the token must get where heads rest most."""


def back(looked: Looked) -> Question:
    """Find a head that looks one word back."""
    shares = {kind: _back(looked.trace, kind) for kind in ("encoder", "decoder")}
    kind = max(shares, key=lambda one: float(shares[one].max(initial=0)))
    found = shares[kind]
    if found.max(initial=0) < CLEAR:
        raise Lacks("no head of it looks one word back on most words of this sentence")
    layer, head = (int(n) for n in np.unravel_index(int(found.argmax()), found.shape))
    start = (int(n) for n in np.unravel_index(int(found.argmin()), found.shape))
    count = sum(int((each >= CLEAR).sum()) for each in shares.values())

    def check(model: Model, view: Any) -> tuple[bool, str]:
        one = view.kind
        if one not in shares:
            return False, (
                "The head that is chosen joins the two languages, in which no word is one back. "
                "Choose the encoder above the picture."
            )
        here = float(shares[one][view.layer, view.head])
        says = (
            f"The one that is chosen ({SIDES[one]}, {head_name(view.layer, view.head)}) gives "
            f"the word before {about(here)} of its attention, averaged over the words"
        )
        return here >= CLEAR, f"{says}{'.' if here >= CLEAR else '; look for more than half.'}"

    numbers, labels = plain_words(
        looked.trace.src_tokens if kind == "encoder" else looked.trace.tgt_tokens
    )
    spoken = [n for n, label in enumerate(labels) if label]
    merged = merge(looked.trace.weights(kind, layer).astype(np.float64), numbers, numbers)[head]
    return Question(
        answer=(
            f"{count} of the {sum(one.size for one in shares.values())} heads of encoder and "
            "decoder look one word back with more than half of their attention. The clearest is "
            f"in {SIDES[kind]}, {head_name(layer, head)}, with {about(float(found.max()))}. "
            "Nobody told it to: it was of use. On so few words some may seem to do it by chance; "
            "the heads lab asks a whole corpus."
        ),
        opened={"view": "model", "kind": kind, **dict(zip(("layer", "head"), start, strict=True))},
        seen={"view": "heatmap", "kind": kind, "layer": layer, "head": head},
        picture=Picture(
            merged[spoken][:, spoken], [labels[n] for n in spoken], [labels[n] for n in spoken],
            "One head: where each word (row) looks (column)",
        ),
        found=check,
    )  # fmt: skip


def _back(trace: Trace, kind: str) -> Float[np.ndarray, "layers heads"]:
    """The mean weight on the word before, of every head; nothing of a single word."""
    numbers, labels = plain_words(trace.src_tokens if kind == "encoder" else trace.tgt_tokens)
    each = [
        word_before(merge(trace.weights(kind, i).astype(np.float64), numbers, numbers), labels)
        for i in range(trace.n_layers)
    ]
    found = np.stack(each)
    return np.asarray(found.mean(axis=-1) if found.shape[-1] else np.zeros(found.shape[:2]))


def rest(looked: Looked) -> Question:
    """Which token gets the most attention of all heads of the encoder?"""
    trace = looked.trace
    tokens = trace.src_tokens
    weights = np.stack([trace.weights("encoder", i) for i in range(trace.n_layers)])
    mass = weights.astype(np.float64).mean(axis=(0, 1, 2))
    spoken = [n for n, token in enumerate(tokens) if token[1:].isalpha()]
    if len(spoken) < 2 or tokens[-1] != "</s>":
        raise Lacks("its sentence is too short, or has no sign at its end")
    longest = max(spoken, key=lambda n: len(tokens[n]))
    offered = sorted({spoken[0], longest, len(tokens) - 2, len(tokens) - 1})
    order = sorted(offered, key=lambda n: -mass[n])
    if mass[order[0]] < LEAD * mass[order[1]]:
        raise Lacks("no token is clearly where its heads look most")
    column = order[0]
    clear = weights[..., column].mean(axis=-1)
    layer, head = (int(n) for n in np.unravel_index(int(clear.argmax()), clear.shape))
    end = (
        "That sign says nothing about the sentence. A row has to give its attention away, and a "
        "head that finds nothing of its own rests there."
        if column == len(tokens) - 1
        else "In this model heads do not rest at the end."
    )
    return Question(
        exhibit=pieces(tokens),
        options=tuple(
            Option(pieces([tokens[n]]), f"{pieces([tokens[n]])} gets {about(mass[n])}.")
            for n in offered
        ),
        right=offered.index(column),
        answer=(
            f"{pieces([tokens[column]])}: {about(mass[column])} of all attention in the encoder, "
            f"where each of the {len(tokens)} pieces would get {about(1 / len(tokens))} if all "
            f"were looked at alike. {end} The head that does it most gives "
            f"{about(float(clear.max()))}."
        ),
        seen={
            "view": "heads", "kind": "encoder", "layer": layer, "head": head,
            "tokens": f"k{column}",
        },
        picture=Picture(
            weights.mean(axis=(0, 1)), tokens, tokens,
            "All heads of the encoder together: where each piece (row) looks (column)",
        ),
    )  # fmt: skip


def ahead(looked: Looked) -> Question:
    """How much of a later word can be looked at?"""
    trace, said = looked.trace, looked.said
    if len(said.target) < 3:
        raise Lacks("its translation is shorter than three words")
    weights = np.stack([trace.weights("decoder", i) for i in range(trace.n_layers)])
    later = np.triu(np.ones(weights.shape[-2:], dtype=bool), k=1)
    most = float(weights[..., later].max())
    if most > 0:
        raise Lacks("its decoder looks ahead")
    asked = said.written_at(2)
    return Question(
        exhibit=" ".join(
            word(one) if n == 1 else escaped(one) for n, one in enumerate(said.target)
        ),
        options=(
            Option("nothing at all"),
            Option(
                "a little, and less the farther away it is",
                "Then it would learn to copy the word that it is to guess.",
            ),
            Option(
                "as much as at the words before",
                "It could, for in training the whole translation is there; the mask forbids it.",
            ),
        ),
        right=0,
        answer=(
            f"Nothing: over all {weights.shape[0] * weights.shape[1]} heads the greatest weight "
            f"on a later word is {most:.0f}. The mask sets those scores to −∞ before the softmax, "
            "and e to the power of −∞ is 0. The table is empty above its diagonal."
        ),
        seen={"view": "heatmap", "kind": "decoder", "tokens": f"q{asked}"},
        picture=Picture(
            weights.mean(axis=(0, 1)), trace.tgt_tokens, trace.tgt_tokens,
            "All heads of the decoder together: where each piece (row) looks (column)", asked,
        ),
    )  # fmt: skip


def crossing(looked: Looked) -> Question:
    """Two words written one after the other, whose originals stand the other way round."""
    said = looked.said
    flat = said.cross.reshape(-1, len(said.target), len(said.source))
    if min(flat.shape[1:]) < 3:
        raise Lacks("its sentence or its translation is shorter than three words")
    shares, pairs = alignment(flat)
    for number in np.argsort(-shares).tolist():
        weights = flat[number]
        best, most = weights.argmax(axis=-1), weights.max(axis=-1)
        for asked in range(1, len(said.target)):
            both = [asked - 1, asked]
            right = pairs[both, best[both]].all() and most[both].min() >= CLEAR
            if right and best[asked] < best[asked - 1]:
                return _crossed(looked, divmod(number, said.cross.shape[1]), asked)
    raise Lacks("no head sees two neighbours that stand the other way round in the other language")


def _crossed(looked: Looked, at: tuple[int, int], asked: int) -> Question:
    said, (layer, head) = looked.said, at
    weights = said.cross[layer, head]
    was, now = int(weights[asked - 1].argmax()), int(weights[asked].argmax())
    near = (now, was, was + 1, was - 1, now - 1, now + 1, 0)
    others = [n for n in near if 0 <= n < len(said.source)]
    offered = sorted([*dict.fromkeys(others)][:4])
    return Question(
        exhibit=(
            f"{escaped(looked.text)}  →  "
            + " ".join(word(w) if n == asked else escaped(w) for n, w in enumerate(said.target))
        ),
        options=tuple(
            Option(
                escaped(said.source[n]),
                f"There it gives {word(said.source[n])} {about(float(weights[asked, n]))}.",
            )
            for n in offered
        ),
        right=offered.index(now),
        answer=(
            f"At {word(said.source[now])}, with {about(float(weights[asked, now]))}, though it "
            f"has just looked at {word(said.source[was])} for {word(said.target[asked - 1])}. The "
            "two languages order their words differently, and the lines cross. Nobody gave the "
            "model a dictionary or an order: it learned both from pairs of sentences."
        ),
        seen={
            "view": "heads", "kind": "cross", "layer": layer, "head": head,
            "tokens": f"{said.rows(asked - 1)},{said.rows(asked)}",
        },
        picture=Picture(
            weights, said.target, said.source,
            "One head: where it looks (columns) as each word is written (rows)", asked,
        ),
    )  # fmt: skip


def off(looked: Looked) -> Question:
    """Switch heads off until the translation is another."""
    config, before = looked.model.translator.model.config, looked.trace.text
    # Between the languages alone: those break a translation soonest, and each is one to make.
    layers = [f"c{n}" for n in reversed(range(config.n_layers))]
    changed = ((one, _without(looked.model, looked.text, one)) for one in layers)
    enough, after = next(((one, text) for one, text in changed if text != before), ("", ""))
    if not enough:
        raise Lacks("it writes the same whichever layer between the languages is switched off")
    source = looked.text

    def check(model: Model, view: Any) -> tuple[bool, str]:
        heads, _ = heads_of(view.off, model.n_layers, model.n_heads)
        if not heads:
            return False, "No head is switched off yet; click one, or a whole layer."
        now, silent = _without(model, source, view.off), f"Without {len(heads)} of them"
        if now == before:
            return False, f"{silent} it still writes the same words. Switch more of them off."
        return True, f"{silent} it writes: {escaped(now) or '(nothing)'}"

    total = 3 * config.n_layers * config.n_heads
    return Question(
        exhibit=f"With all {total} heads: {escaped(before)}",
        answer=(
            f"The whole of one layer is enough: without its {config.n_heads} heads it writes "
            f"{word(after.rstrip('.')) if after else 'nothing'}. A head that is looked at and a "
            "head that is needed are two things: many can go alone, for others do the same; some "
            "cannot. That "
            "is asked by switching off, not by looking."
        ),
        opened={"off": ""},
        seen={"off": enough},
        found=check,
    )


def _without(model: Model, text: str, written: str) -> str:
    """The translation while these heads write nothing."""
    heads, _ = heads_of(written, model.n_layers, model.n_heads)
    hooks = switched_off(model.translator.model.config, heads)
    return model.translator.translate(text, hooks=hooks).text


def reverse(looked: Looked) -> Question:
    """Where does a model that reverses look for its first symbol?"""
    trace = looked.trace
    symbols = looked.text.split()
    if trace.text.split() != symbols[::-1]:
        raise Lacks("it has not learned to reverse this")
    weights = trace.weights("cross", trace.n_layers - 1).mean(axis=0)
    first, last = float(weights[0, 0]), float(weights[0, len(symbols) - 1])
    if last < CLEAR:
        raise Lacks("its last layer does not look at the last symbol first")
    tokens = [token.removeprefix("▁") for token in trace.src_tokens]
    wrote = [token.removeprefix("▁") for token in trace.predicted_tokens]
    return Question(
        exhibit=f"{escaped(' '.join(symbols))}  →  {escaped(trace.text)}",
        options=(
            Option(
                f"at {word(symbols[0])}, the first",
                f"That gets {about(first)}: reading begins there, but writing does not.",
            ),
            Option(
                "at all of them alike",
                "So it is before it has learned anything; watch it in the film.",
            ),
            Option(f"at {word(symbols[-1])}, the last"),
        ),
        right=2,
        answer=(
            f"At {word(symbols[-1])}: the heads of its last layer give it {about(last)} on "
            "average. The film on this page shows how that came: grey at the beginning, a "
            "diagonal that falls the other way at the end."
        ),
        seen={"run": looked.model.name},
        picture=Picture(
            weights, wrote, tokens,
            "The last layer: where it looks (columns) as each symbol is written (rows)", 0,
        ),
    )  # fmt: skip
