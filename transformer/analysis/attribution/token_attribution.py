"""What was this output token made of? Four answers over the same tokens, side by side.

    token_attribution(model, trace, 3)         # pandas, a line a token of source and target prefix
    shares(token_attribution(model, trace, 3))  # every answer made to sum to 1
    source_share(model, trace)       # how much of each output token came from the source

Rollout and flow (Abnar and Zuidema 2020) know the weights alone, ALTI+ (Ferrando et al. 2022) also
what they move, gradient × embedding (Denil et al. 2014) the whole model, to first order.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from jaxtyping import Float

from transformer.analysis.attribution import alti, flow, rollout
from transformer.analysis.attribution.gradients import gradients
from transformer.inference.trace import Trace
from transformer.model import Transformer

METHODS = ("rollout", "flow", "alti", "gradient")


def token_attribution(
    model: Transformer, trace: Trace, position: int, methods: Sequence[str] = METHODS
) -> pd.DataFrame:
    """The answers of `methods` for `trace.predicted_tokens[position]`, as they are.

    A line for each source token, then one for each token that the decoder had read by then, `<s>`
    first. Columns: side ("source" or "target"), position, token, and a column a method: rollout
    and alti from 0 to 1, together 1; flow from 0 to 1 each; gradient × embedding in nats.

    Raises:
        ValueError: for a position or method that is not there, or a trace of another model.
        KeyError: for a trace without a site that ALTI+ needs; take one with all sites.
    """
    n_tgt = len(trace.tgt_tokens)
    if not 0 <= position < n_tgt:
        raise ValueError(f"there is no position {position}; the positions are 0 to {n_tgt - 1}")
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
        source, target = _answer(model, trace, position, method)
        table[method] = np.concatenate([source, target[: position + 1]])
    return table


def shares(table: pd.DataFrame) -> pd.DataFrame:
    """The table with each answer divided by the sum of its sizes, so that they compare; what spoke
    against the token stays negative."""
    table = table.copy()
    for method in set(METHODS) & set(table):
        total = table[method].abs().sum()
        table[method] = table[method] / (total if total > 0 else 1.0)
    return table


def source_share(model: Transformer, trace: Trace) -> pd.DataFrame:
    """How much of each output token came from the source, 0 to 1; the rest is of its prefix.

    A line an output token: position, token, alti, and rollout, which is the same in every line
    (see `rollout`). Errors as of `token_attribution`.
    """
    return pd.DataFrame(
        {
            "position": range(len(trace.predicted_tokens)),
            "token": np.array(trace.predicted_tokens, dtype=object),
            "alti": alti.joint(model, trace).source_share[-1],
            "rollout": rollout.joint(trace).source_share[-1],
        }
    )


def _answer(
    model: Transformer, trace: Trace, position: int, method: str
) -> tuple[Float[np.ndarray, " src"], Float[np.ndarray, " tgt"]]:
    """One method's numbers over the source and over all that the decoder read."""
    if method in ("rollout", "alti"):
        mixed = rollout.joint(trace) if method == "rollout" else alti.joint(model, trace)
        return mixed.source[-1, position], mixed.target[-1, position]
    if method == "flow":
        flows = flow.joint(trace, [position])
        return flows.source[0], flows.target[0]
    if method == "gradient":
        slopes = gradients(model, trace, position)
        return slopes.source, slopes.target
    raise ValueError(f"there is no method {method!r}; there is {', '.join(METHODS)}")
