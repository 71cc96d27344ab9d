"""What an intervention changes: the original beside the altered, word by word and head by head."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Unpack

import numpy as np
import pandas as pd
from jaxtyping import Float

from transformer.hooks import Hooks
from transformer.inference import Translator
from transformer.inference.options import DecodingOptions
from transformer.inference.results import Translation
from transformer.inference.trace import WEIGHTS, Trace


@dataclass(frozen=True, eq=False)
class Comparison:
    """One sentence with and without an intervention.

    Attributes:
        original: the sentence as the model translates it.
        forced: the altered model made to write the *original's* translation, so that row i means
            the same in both: its probabilities and attention are those compared here.
        translation: what the altered model writes freely.
    """

    original: Trace
    forced: Trace
    translation: Translation

    @property
    def changed(self) -> bool:
        """Whether the altered model writes something else."""
        return self.translation.ids != self.original.predicted_ids

    @cached_property
    def probabilities(self) -> pd.DataFrame:
        """A line for each token of the original's translation.

        Columns: position, token, before and after (its probability given the original's tokens
        before it), log_change (natural logarithm of after / before: negative is less probable).
        """
        steps = zip(self.original.translation.steps, self.forced.translation.steps, strict=True)
        rows = [(a.position, a.chosen.token, a.probability, b.probability) for a, b in steps]
        table = pd.DataFrame(rows, columns=["position", "token", "before", "after"])
        tiny = np.finfo(np.float64).tiny
        after, before = (table[c].clip(lower=tiny) for c in ("after", "before"))
        table["log_change"] = np.log(after) - np.log(before)
        return table

    @cached_property
    def candidates(self) -> pd.DataFrame:
        """The most probable tokens of every step, before and after.

        Columns: position, token (the original's), rank (0 is best), token_before,
        probability_before, token_after, probability_after.
        """
        rows = [
            (a.position, a.chosen.token, rank, x.token, x.probability, y.token, y.probability)
            for a, b in zip(
                self.original.translation.steps, self.forced.translation.steps, strict=True
            )
            for rank, (x, y) in enumerate(zip(a.candidates, b.candidates, strict=False))
        ]
        names = "position token rank token_before probability_before token_after probability_after"
        return pd.DataFrame(rows, columns=names.split())

    @cached_property
    def overturned(self) -> tuple[int, ...]:
        """Positions where another token is now the most probable."""
        best = self.candidates[self.candidates["rank"] == 0]
        return tuple(best.loc[best.token_before != best.token_after, "position"])

    def attention_rows(self, kind: str) -> Float[np.ndarray, "layers heads query"]:
        """How far each row of attention moved: total variation, ½ Σ_j |a_ij − b_ij|, 0 to 1.

        It is the share of a row's weight that now lies on other keys. Raises ValueError for another
        kind, weights that were not recorded, or attention to a source whose tokens are no longer
        the same.
        """
        if kind != "decoder" and self.original.src_ids != self.forced.src_ids:
            raise ValueError(
                f"{kind} attention is over {len(self.original.src_ids)} source tokens before and "
                f"{len(self.forced.src_ids)} others after; the decoder's own can be compared"
            )
        layers = range(self.original.n_layers)
        before, after = (
            np.stack([trace.weights(kind, layer) for layer in layers])
            for trace in (self.original, self.forced)
        )
        return np.asarray(np.abs(after - before).sum(axis=-1) / 2)

    def attention(self, kind: str) -> Float[np.ndarray, "layers heads"]:
        """The mean of `attention_rows` over the queries: how far each head moved."""
        return np.asarray(self.attention_rows(kind).mean(axis=-1))


def compare(
    translator: Translator,
    text: str,
    hooks: Hooks | None = None,
    *,
    altered: str | None = None,
    original: Trace | None = None,
    **options: Unpack[DecodingOptions],
) -> Comparison:
    """Translate as it is and altered, by `hooks` or another text or both, and see what changes.

    Args:
        hooks: of `switching` and `patches`, `together` if there are several, or any of your own.
        altered: the text to translate instead, as one `without_pieces`; left out: the same.
        original: the sentence's trace without hooks, if there is one already.
        options: of decoding, for both.

    Raises:
        ValueError: as `Translator.trace`; for an original of another text; and if the original's
            translation is empty, for then there is nothing to compare.
    """
    if original is None:
        original = translator.trace(text, names=_weights(translator), **options)
    if original.source != text:
        raise ValueError(f"the original is of {original.source!r}, not of {text!r}")
    if original.predicted_ids == (translator.model.config.eos_id,):
        raise ValueError(f"the model translates {text!r} with nothing: there is no word to compare")
    shown: DecodingOptions = {}
    if "candidates" in options:
        shown["candidates"] = options["candidates"]
    after = text if altered is None else altered
    forced = translator.trace(
        after, original.predicted_ids, hooks=hooks, names=_weights(translator), **shown
    )
    greedy = options.keys() <= {"method", "candidates"} and original.translation.method == "greedy"
    begun: list[int] = []
    if greedy and (hooks is None or hooks.causal):
        begun = _begun(forced.translation)
        if begun == [*forced.translation.ids] and forced.translation.finished:
            return Comparison(original, forced, replace(forced.translation, method="greedy"))
    prefix = begun if altered is None else []  # a shorter text may have a shorter limit
    free = translator.translate(after, prefix=prefix, hooks=hooks, **options)
    return Comparison(original, forced, free)


def _begun(forced: Translation) -> list[int]:
    """What the model would write by itself, as far as what it was made to write tells: up to the
    first piece that is another, and that one."""
    begun: list[int] = []
    for step in forced.steps:
        begun.append(step.candidates[0].id)
        if step.chosen.id != begun[-1]:
            break
    return begun


def _weights(translator: Translator) -> list[str]:
    layers = range(translator.model.config.n_layers)
    return [name.format(layer) for name in WEIGHTS.values() for layer in layers]
