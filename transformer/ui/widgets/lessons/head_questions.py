"""Questions about heads: patterns, attention sinks, the mask, reordering, ablation, learning."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float

from transformer.analysis.importance.fewest import fewest_heads
from transformer.analysis.interventions import switched_off
from transformer.analysis.roles.sentence_heads import MIN_SHARE, alignment, word_before
from transformer.inference import Trace
from transformer.measures.head_codes import parse_heads, write_heads
from transformer.measures.kinds import AttentionKind
from transformer.measures.naming import layer_name
from transformer.measures.words import merge, plain_words
from transformer.ui.services.models import Model
from transformer.ui.widgets.lessons.lesson import (
    LessonCase,
    LessonUnavailable,
    Option,
    Question,
    bold,
    escaped,
    rounded_percent,
)

STACKS: dict[AttentionKind, str] = {
    "encoder": "encoder",
    "decoder": "decoder",
    "cross": "cross-attention",
}
ALMOST = 0.35
"""Minimum share of a head that nearly attends to the previous word."""
MIN_SINK_SHARE = 0.4
"""Minimum mean weight of the head on its sink token."""
MIN_SINK_RATIO = 3.0
"""Minimum ratio of that weight to the weight under uniform attention."""


def previous_word(case: LessonCase) -> Question:
    """Ask for a head that attends to the previous word."""
    stacks: tuple[AttentionKind, ...] = ("encoder", "decoder")
    shares = {kind: _previous_word_shares(case.trace, kind) for kind in stacks}
    kind = max(shares, key=lambda name: float(shares[name].max(initial=0)))
    best = shares[kind]
    if best.max(initial=0) < MIN_SHARE:
        raise LessonUnavailable("none of its heads attends to the previous word on most words")
    layer, head = (int(n) for n in np.unravel_index(int(best.argmax()), best.shape))
    start_layer, start_head = (int(n) for n in np.unravel_index(int(best.argmin()), best.shape))
    count = sum(int((head_shares >= MIN_SHARE).sum()) for head_shares in shares.values())
    exact = case.exact

    def check(model: Model, view: Any) -> tuple[bool, str]:
        if view.kind not in shares:
            return False, (
                "The selected head belongs to cross-attention, where no word has a previous one. "
                "Choose the encoder above the picture."
            )
        share = float(shares[view.kind][view.layer, view.head])
        name = LessonCase(model, "", exact).head_name(view.layer, view.head)
        explanation = (
            f"The selected head ({STACKS[view.kind]}, {name}) gives the previous word "
            f"{rounded_percent(share)} of its attention on average"
        )
        if share >= MIN_SHARE:
            return True, f"{explanation}."
        if share >= ALMOST:
            return False, f"Almost. {explanation}. The clearest heads give it more than half."
        return False, f"{explanation}; look for more than half."

    return Question(
        answer=(
            f"{count} of the {sum(head_shares.size for head_shares in shares.values())} heads in "
            "encoder and decoder give the previous word more than half of their attention. The "
            f"clearest is {case.head_name(layer, head)} of the {STACKS[kind]}, with "
            f"{rounded_percent(float(best.max()))}. It was not programmed: training found it "
            "useful. With so few words some heads may match by chance; the page Research measures "
            "a whole corpus."
        ),
        start_fields={"view": "model", "kind": kind, "layer": start_layer, "head": start_head},
        answer_fields={"view": "heatmap", "kind": kind, "layer": layer, "head": head},
        check=check,
    )  # fmt: skip


def _previous_word_shares(trace: Trace, kind: AttentionKind) -> Float[np.ndarray, "layers heads"]:
    """Return every head's mean weight on the previous word; 0 if there are fewer than two words."""
    numbers, labels = plain_words(trace.src_tokens if kind == "encoder" else trace.tgt_tokens)
    rows = np.stack(
        [
            word_before(merge(trace.weights(kind, i).astype(np.float64), numbers, numbers), labels)
            for i in range(trace.n_layers)
        ]
    )
    return np.asarray(rows.mean(axis=-1) if rows.shape[-1] else np.zeros(rows.shape[:2]))


def sink(case: LessonCase) -> Question:
    """Ask for the sink of a head that attends to a token without a word in it."""
    trace, tokens = case.trace, case.trace.src_tokens
    word_tokens = [n for n, token in enumerate(tokens) if any(map(str.isalpha, _text(token)))]
    if len(word_tokens) < 3:
        raise LessonUnavailable("its sentence is shorter than three words")
    candidates: list[tuple[float, AttentionKind, int, int]] = []
    over_source: tuple[AttentionKind, ...] = ("encoder", "cross")
    for kind in over_source:
        mean = np.stack([trace.weights(kind, i).mean(axis=-2) for i in range(trace.n_layers)])
        for column in set(range(len(tokens))) - {*word_tokens}:
            number = int(mean[..., column].argmax())
            share = float(mean[..., column].max())
            candidates.append((share, kind, *divmod(number, mean.shape[1])))
    share, kind, layer, head = max(candidates, default=(0.0, "encoder", 0, 0))
    weights = trace.weights(kind, layer)[head].astype(np.float64)
    mean_row = weights.mean(axis=0)
    column, uniform = int(mean_row.argmax()), 1 / len(tokens)
    if column in word_tokens or share < max(MIN_SINK_SHARE, MIN_SINK_RATIO * uniform):
        raise LessonUnavailable("none of its heads gives most of its attention to one such token")
    longest = max(word_tokens, key=lambda n: len(tokens[n]))
    shown_columns = [
        column,
        longest,
        word_tokens[0],
        len(tokens) - 1,
        *np.argsort(-mean_row).tolist(),
    ]
    options = sorted([*dict.fromkeys(shown_columns)][:4])
    rows = "all tokens read" if kind == "encoder" else "all tokens written"
    return Question(
        exhibit=case.tokens(tokens),
        options=tuple(
            Option(
                case.token(tokens, n),
                f"{case.token(tokens, n)} gets {rounded_percent(float(mean_row[n]))}.",
            )
            for n in options
        ),
        correct=options.index(column),
        answer=(
            f"{case.token(tokens, column)}: {rounded_percent(share)} of this head's attention, "
            f"averaged over {rows}; uniform attention would give it {rounded_percent(uniform)}. "
            "The token says little about the sentence. A row has to sum to 1, so a head that finds "
            "nothing useful still has to give its weight to some token: an **attention sink**."
        ),
        answer_fields={
            "view": "heads", "kind": kind, "layer": layer, "head": head, "tokens": f"k{column}",
        },
    )  # fmt: skip


def _text(token: str) -> str:
    """Return the letters of a token; "" for a control token such as `</s>`."""
    return "" if token.startswith("<") and token.endswith(">") else token


def causal_mask(case: LessonCase) -> Question:
    """Ask how much attention a later word can get."""
    trace, words = case.trace, case.words
    if len(words.target) < 3:
        raise LessonUnavailable("its translation is shorter than three words")
    weights = np.stack([trace.weights("decoder", i) for i in range(trace.n_layers)])
    later = np.triu(np.ones(weights.shape[-2:], dtype=bool), k=1)
    largest = float(weights[..., later].max())
    if largest > 0:
        raise LessonUnavailable("its decoder attends to later tokens")
    row = words.first_row(2)
    return Question(
        exhibit=" ".join(
            bold(word) if n == 1 else escaped(word) for n, word in enumerate(words.target)
        ),
        options=(
            Option("None"),
            Option(
                "A little, and less the further away it is",
                "Then training would teach it to copy the word that it has to predict.",
            ),
            Option(
                "As much as earlier words",
                "In training the whole translation is there, but the mask hides later words.",
            ),
        ),
        correct=0,
        answer=(
            f"None: over all {weights.shape[0] * weights.shape[1]} decoder heads the largest "
            f"weight on a later token is {largest:.0f}. The causal mask sets those scores to −∞ "
            "before the softmax, and e to the power of −∞ is 0. The matrix is empty above its "
            "diagonal."
        ),
        answer_fields={"view": "heatmap", "kind": "decoder", "tokens": f"q{row}"},
    )  # fmt: skip


def reordering(case: LessonCase) -> Question:
    """Ask about two neighbouring target words whose source words are in the opposite order."""
    words = case.words
    flat = words.cross.reshape(-1, len(words.target), len(words.source))
    if min(flat.shape[1:]) < 3:
        raise LessonUnavailable("its sentence or its translation is shorter than three words")
    shares, pairs = alignment(flat)
    for number in np.argsort(-shares).tolist():
        weights = flat[number]
        best, largest = weights.argmax(axis=-1), weights.max(axis=-1)
        for position in range(1, len(words.target)):
            pair = [position - 1, position]
            clear = pairs[pair, best[pair]].all() and largest[pair].min() >= MIN_SHARE
            if clear and best[position] < best[position - 1]:
                layer, head = divmod(number, words.cross.shape[1])
                return _reordered(case, layer, head, position)
    raise LessonUnavailable("no head shows two neighbouring words in the opposite order")


def _reordered(case: LessonCase, layer: int, head: int, position: int) -> Question:
    words = case.words
    weights = words.cross[layer, head]
    row = weights[position]
    before, current = int(weights[position - 1].argmax()), int(row.argmax())
    nearby_words = (current, before, before + 1, before - 1, current - 1, current + 1, 0)
    options = sorted([*dict.fromkeys(n for n in nearby_words if 0 <= n < len(words.source))][:4])
    return Question(
        exhibit=(
            f"{escaped(case.text)}  →  "
            + " ".join(bold(w) if n == position else escaped(w) for n, w in enumerate(words.target))
        ),
        options=tuple(
            Option(
                escaped(words.source[n]),
                f"{bold(words.source[n])} gets {rounded_percent(float(row[n]))} there.",
            )
            for n in options
        ),
        correct=options.index(current),
        answer=(
            f"{bold(words.source[current])}, with {rounded_percent(float(row[current]))} of "
            f"{case.head_name(layer, head)}. For the word before, "
            f"{bold(words.target[position - 1])}, it was {bold(words.source[before])}. The two "
            "languages order these words differently, so the lines cross. The model had no "
            "dictionary and no grammar: it learned both from pairs of sentences."
        ),
        answer_fields={
            "view": "heads", "kind": "cross", "layer": layer, "head": head,
            "tokens": f"{words.rows(position - 1)},{words.rows(position)}",
        },
    )  # fmt: skip


def ablation(case: LessonCase) -> Question:
    """Ask for heads whose ablation changes the translation."""
    config, original = case.model.translator.model.config, case.trace.text
    fewest = fewest_heads(case.model.translator, case.text)
    if not fewest.changed:
        raise LessonUnavailable("its translation stays the same without any one layer")
    source, (kind, layer, head) = case.text, fewest.heads[0]
    off = write_heads(fewest.heads)

    def check(model: Model, view: Any) -> tuple[bool, str]:
        heads, _ = parse_heads(view.off, model.n_layers, model.n_heads)
        if not heads:
            return False, "No head is switched off yet. Click a head, or the name of a layer."
        translation = _translation_without(model, source, view.off)
        start = f"Without {len(heads)} head{'' if len(heads) == 1 else 's'} the translation"
        if translation == original:
            return False, f"{start} is still the same. Switch off more heads."
        return True, f"{start} is: {escaped(translation) or '(empty)'}"

    altered = fewest.translation
    result = bold(altered.rstrip(".")) if altered else "empty"
    total = 3 * config.n_layers * config.n_heads
    if len(fewest.heads) == 1:
        enough = f"One head is enough: without {case.head_name(layer, head)} of {STACKS[kind]}"
    else:
        whole_layer = len(fewest.heads) == config.n_heads
        heads = f"{layer_name(layer)} of {STACKS[kind]}" if whole_layer else STACKS[kind]
        enough = f"No single head that was tried is enough; without all heads of {heads}"
    return Question(
        exhibit=f"With all {total} heads: {escaped(original)}",
        answer=(
            f"{enough} the translation is {result}. A head with a clear pattern is not always a "
            "head that is needed: other heads may do the same work. To find out whether a head "
            "matters, remove it and compare the outputs."
        ),
        start_fields={"off": ""},
        answer_fields={"off": off},
        check=check,
    )


def _translation_without(model: Model, text: str, off: str) -> str:
    """Return the translation with the heads of the address field `off` set to zero."""
    heads, _ = parse_heads(off, model.n_layers, model.n_heads)
    hooks = switched_off(model.translator.model.config, heads)
    return model.translator.translate(text, hooks=hooks).text


def reverse(case: LessonCase) -> Question:
    """Ask where a model that reverses its input attends to while it writes the first symbol."""
    trace = case.trace
    symbols = case.text.split()
    if trace.text.split() != symbols[::-1]:
        raise LessonUnavailable("it has not learned to reverse this")
    weights = trace.weights("cross", trace.n_layers - 1).mean(axis=0)
    first, last = float(weights[0, 0]), float(weights[0, len(symbols) - 1])
    if last < MIN_SHARE:
        raise LessonUnavailable("its last layer does not attend to the last symbol first")
    return Question(
        exhibit=f"{escaped(' '.join(symbols))}  →  {escaped(trace.text)}",
        options=(
            Option(
                f"{bold(symbols[0])}, the first letter",
                f"It gets {rounded_percent(first)}: the output starts at the other end.",
            ),
            Option(
                "All letters equally",
                "That is how attention looks before training; the film shows it.",
            ),
            Option(f"{bold(symbols[-1])}, the last letter"),
        ),
        correct=2,
        answer=(
            f"{bold(symbols[-1])}: on average the heads of the last layer give it "
            f"{rounded_percent(last)}. The film on this page shows how this was learned: nearly "
            "uniform attention at first, a clear antidiagonal at the end."
        ),
        answer_fields={"run": case.model.name},
    )  # fmt: skip
