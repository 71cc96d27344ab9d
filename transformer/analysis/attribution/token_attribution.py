"""Attribution of an output token to source and target tokens, by three methods.

    token_attribution(model, trace, 3)         # pandas, a row per token of source and target prefix
    token_attribution(model, trace, 3, against="▁fille")  # why this token, and not that one?
    shares(token_attribution(model, trace, 3))  # every method normalized to sum to 1

Rollout (Abnar and Zuidema 2020) uses the weights only, value zeroing (Mohebbi et al. 2023) whole
layers. Both explain the composition of a vector, not the token it predicts. Gradient × embedding
(Denil et al. 2014) explains a token's log-probability through the whole model; so only this method
can explain why it was this token rather than another (Yin and Neubig 2022).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from jaxtyping import Float

from transformer.analysis.attribution import rollout, value_zeroing
from transformer.analysis.attribution.gradients import gradients, output_position, rival
from transformer.inference.trace import Trace
from transformer.model import Transformer

METHODS = ("rollout", "zeroing", "gradient")
CONTRAST_METHODS = ("gradient",)
"""Methods that explain the predicted token, and can compare it with a rival."""


def token_attribution(
    model: Transformer,
    trace: Trace,
    position: int,
    methods: Sequence[str] | None = None,
    against: int | str | None = None,
) -> pd.DataFrame:
    """Return the scores of `methods` for `trace.predicted_tokens[position]`, unnormalized.

    One row for each source token, then one for each token of the target prefix, `<s>` first.
    Columns: side ("source" or "target"), position, token, and one for each method: rollout and
    zeroing are 0 to 1 and sum to 1; gradient × embedding is in nats.

    Args:
        methods: some of `METHODS`; default: all, or with a rival all that support one.
        against: a rival of that token, as an id or a candidate's piece (`gradients.rival`); the
            explained function is then the difference of the two logits.

    Raises:
        ValueError: for a position, method or rival that does not exist, a rival with a method that
            does not support one, or a trace of another model.
        KeyError: for a trace without a site that value zeroing needs; record all sites.
    """
    output_position(trace, position)
    if methods is None:
        methods = METHODS if against is None else CONTRAST_METHODS
    if against is not None:
        against = rival(trace, position, against)
        for method in {*methods} & {*METHODS} - {*CONTRAST_METHODS}:
            raise ValueError(
                f"{method} does not depend on the predicted token, so it cannot compare it with a "
                f"rival; use {' or '.join(CONTRAST_METHODS)}"
            )
    prefix = trace.tgt_tokens[: position + 1]
    n_src = len(trace.src_tokens)
    table = pd.DataFrame(
        {
            "side": ["source"] * n_src + ["target"] * len(prefix),
            "position": [*range(n_src), *range(len(prefix))],
            "token": np.array([*trace.src_tokens, *prefix], dtype=object),
        }
    )
    for method in methods:
        source, target = _method_scores(model, trace, position, method, against)
        table[method] = np.concatenate([source, target[: position + 1]])
    return table


def shares(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table with each method divided by the sum of its absolute values.

    Scores keep their sign; a negative one speaks against the token.
    """
    table = table.copy()
    for method in set(METHODS) & set(table):
        total = table[method].abs().sum()
        table[method] = table[method] / (total if total > 0 else 1.0)
    return table


def _method_scores(
    model: Transformer, trace: Trace, position: int, method: str, against: int | None
) -> tuple[Float[np.ndarray, " src"], Float[np.ndarray, " tgt"]]:
    """Return one method's scores over the source and over all tokens of the decoder's input."""
    if method in ("rollout", "zeroing"):
        joint = rollout.joint(trace) if method == "rollout" else value_zeroing.joint(model, trace)
        return joint.source[-1, position], joint.target[-1, position]
    if method == "gradient":
        scores_by_side = gradients(model, trace, position, against=against)
        return scores_by_side.source, scores_by_side.target
    raise ValueError(f"there is no method {method!r}; the methods are {', '.join(METHODS)}")
