"""Attribution of an output token to source and target tokens, by six methods.

    token_attribution(model, trace, 3)         # pandas, a row per token of source and target prefix
    token_attribution(model, trace, 3, against="▁fille")  # why this token, and not that one?
    shares(token_attribution(model, trace, 3))  # every method normalized to sum to 1
    source_share(model, trace)       # the source's share of each output token

Rollout and flow (Abnar and Zuidema 2020) use the weights only, ALTI+ (Ferrando et al. 2022) also
the values, value zeroing (Mohebbi et al. 2023) whole layers. These four explain the composition of
a vector, not the token it predicts. Gradient × embedding (Denil et al. 2014) and integrated
gradients (Sundararajan, Taly and Yan 2017) explain a token's log-probability through the whole
model; so only these two can explain why it was this token rather than another (Yin and Neubig
2022).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from jaxtyping import Float

from transformer.analysis.attribution import alti, flow, rollout, value_zeroing
from transformer.analysis.attribution.gradients import gradients, output_position, rival
from transformer.analysis.attribution.integrated import IntegratedGradients, integrated_gradients
from transformer.inference.trace import Trace
from transformer.model import Transformer

VECTOR_METHODS = ("rollout", "flow", "alti", "zeroing")
"""Methods that explain a vector; they do not depend on the predicted token."""
TOKEN_METHODS = ("gradient", "integrated")
"""Methods that explain the predicted token, and can compare it with a rival."""
METHODS = (*VECTOR_METHODS, *TOKEN_METHODS)


def token_attribution(
    model: Transformer,
    trace: Trace,
    position: int,
    methods: Sequence[str] | None = None,
    against: int | str | None = None,
) -> pd.DataFrame:
    """Return the scores of `methods` for `trace.predicted_tokens[position]`, unnormalized.

    One row for each source token, then one for each token of the target prefix, `<s>` first.
    Columns: side ("source" or "target"), position, token, and one for each method: rollout, alti
    and zeroing are 0 to 1 and sum to 1; each value of flow is 0 to 1; gradient × embedding and
    integrated gradients are in nats. `table.attrs["integrated"]` tells how far the integrated
    gradients are complete: the function's "value" for the sentence, its "baseline" for zero
    embeddings, the "gap" between their difference and the sum of the scores, and the number of
    "steps".

    Args:
        methods: some of `METHODS`; default: all, or with a rival all that support one.
        against: a rival of that token, as an id or a candidate's piece (`gradients.rival`); the
            explained function is then the difference of the two logits.

    Raises:
        ValueError: for a position, method or rival that does not exist, a rival with a method that
            does not support one, or a trace of another model.
        KeyError: for a trace without a site that ALTI+ or value zeroing needs; record all sites.
    """
    output_position(trace, position)
    if methods is None:
        methods = METHODS if against is None else TOKEN_METHODS
    if against is not None:
        against = rival(trace, position, against)
        for method in set(methods) & set(VECTOR_METHODS):
            raise ValueError(
                f"{method} does not depend on the predicted token, so it cannot compare it with a "
                f"rival; use {' or '.join(TOKEN_METHODS)}"
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
        if method == "integrated":
            integrated = integrated_gradients(model, trace, position, against)
            table.attrs[method] = _completeness(integrated)
            source, target = integrated.source, integrated.target
        else:
            source, target = _method_scores(model, trace, position, method, against)
        table[method] = np.concatenate([source, target[: position + 1]])
    return table


def _completeness(integrated: IntegratedGradients) -> dict[str, float]:
    return {name: getattr(integrated, name) for name in ("value", "baseline", "gap", "steps")}


def shares(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table with each method divided by the sum of its absolute values.

    Scores keep their sign; a negative one speaks against the token.
    """
    table = table.copy()
    for method in set(METHODS) & set(table):
        total = table[method].abs().sum()
        table[method] = table[method] / (total if total > 0 else 1.0)
    return table


def source_share(model: Transformer, trace: Trace) -> pd.DataFrame:
    """Return the source's share of each output token, 0 to 1; the rest is that of the target
    prefix.

    One row for each output token: position, token, alti, and rollout, which is the same in every
    row (see `rollout`). Raises the errors of `token_attribution`.
    """
    return pd.DataFrame(
        {
            "position": range(len(trace.predicted_tokens)),
            "token": np.array(trace.predicted_tokens, dtype=object),
            "alti": alti.joint(model, trace).source_share[-1],
            "rollout": rollout.joint(trace).source_share[-1],
        }
    )


def _method_scores(
    model: Transformer, trace: Trace, position: int, method: str, against: int | None
) -> tuple[Float[np.ndarray, " src"], Float[np.ndarray, " tgt"]]:
    """Return one method's scores over the source and over all tokens of the decoder's input."""
    if method in ("rollout", "alti", "zeroing"):
        module = value_zeroing if method == "zeroing" else alti
        scores = rollout.joint(trace) if method == "rollout" else module.joint(model, trace)
        return scores.source[-1, position], scores.target[-1, position]
    if method == "flow":
        flows = flow.joint(trace, [position])
        return flows.source[0], flows.target[0]
    if method == "gradient":
        scores_by_side = gradients(model, trace, position, against=against)
        return scores_by_side.source, scores_by_side.target
    raise ValueError(f"there is no method {method!r}; the methods are {', '.join(METHODS)}")
