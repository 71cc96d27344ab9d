"""The effect of an intervention: original and altered translation, compared by token and by
head."""

from __future__ import annotations

from collections.abc import Sequence
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
from transformer.measures.kinds import AttentionKind


@dataclass(frozen=True, eq=False)
class Comparison:
    """One sentence with and without an intervention.

    Attributes:
        original: the sentence as the model translates it.
        forced: the altered model, teacher-forced on the *original's* translation, so that row i
            belongs to the same token in both; its probabilities and attention are compared.
        translation: the altered model's own translation.
    """

    original: Trace
    forced: Trace
    translation: Translation

    @property
    def changed(self) -> bool:
        """Whether the altered model's translation differs."""
        return self.translation.ids != self.original.predicted_ids

    @cached_property
    def probabilities(self) -> pd.DataFrame:
        """A row for each token of the original's translation.

        Columns: position, token, before and after (its probability given the original's previous
        tokens), log_change (natural logarithm of after / before: negative is less probable).
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
    def changed_predictions(self) -> tuple[int, ...]:
        """Positions where another token is now the most probable."""
        top_candidates = self.candidates[self.candidates["rank"] == 0]
        return tuple(
            top_candidates.loc[
                top_candidates.token_before != top_candidates.token_after, "position"
            ]
        )

    def attention_rows(self, kind: AttentionKind) -> Float[np.ndarray, "layers heads query"]:
        """Return the change of each attention row: total variation distance, ½ Σ_j |a_ij − b_ij|, 0
        to 1.

        It is the share of a row's weight that is now on other keys. Raises ValueError for another
        kind, or weights that were not recorded.
        """
        layers = range(self.original.n_layers)
        before, after = (
            np.stack([trace.weights(kind, layer) for layer in layers])
            for trace in (self.original, self.forced)
        )
        return np.asarray(np.abs(after - before).sum(axis=-1) / 2)

    def attention(self, kind: AttentionKind) -> Float[np.ndarray, "layers heads"]:
        """Return the mean of `attention_rows` over the queries."""
        return np.asarray(self.attention_rows(kind).mean(axis=-1))


def compare(
    translator: Translator,
    text: str,
    hooks: Hooks | None = None,
    *,
    original: Trace | None = None,
    prefix: Sequence[int] = (),
    **options: Unpack[DecodingOptions],
) -> Comparison:
    """Translate normally and with `hooks`, and compare.

    Args:
        hooks: of `switching` and `patches`, joined by `combined`, or your own.
        original: the sentence's trace without hooks, if it exists already.
        prefix: ids with which both outputs begin.
        options: of decoding, for both.

    Raises:
        ValueError: as `Translator.trace`; for an original of another text; and if the original's
            translation is empty, because there is nothing to compare.
    """
    if original is None:
        original = translator.trace(text, prefix=prefix, names=_weight_sites(translator), **options)
    if original.source != text:
        raise ValueError(f"the original is of {original.source!r}, not of {text!r}")
    if original.predicted_ids == (translator.model.config.eos_id,):
        raise ValueError(f"the translation of {text!r} is empty, so there is no token to compare")
    forced_options: DecodingOptions = {}
    if "candidates" in options:
        forced_options["candidates"] = options["candidates"]
    forced = translator.trace(
        text,
        original.predicted_ids,
        hooks=hooks,
        names=_weight_sites(translator),
        **forced_options,
    )
    greedy = options.keys() <= {"method", "candidates"} and original.translation.method == "greedy"
    free_prefix = [*prefix]
    if greedy and not prefix and (hooks is None or hooks.causal):
        free_prefix = _free_prefix(forced.translation)
        if free_prefix == [*forced.translation.ids] and forced.translation.finished:
            return Comparison(original, forced, replace(forced.translation, method="greedy"))
    free = translator.translate(text, prefix=free_prefix, hooks=hooks, **options)
    return Comparison(original, forced, free)


def _free_prefix(forced: Translation) -> list[int]:
    """Return the beginning of the model's own output, as far as it is known from the forced pass.

    It ends with the first token that differs.
    """
    prefix: list[int] = []
    for step in forced.steps:
        prefix.append(step.candidates[0].id)
        if step.chosen.id != prefix[-1]:
            break
    return prefix


def _weight_sites(translator: Translator) -> list[str]:
    layers = range(translator.model.config.n_layers)
    return [name.format(layer) for name in WEIGHTS.values() for layer in layers]
