"""What was this output token made of? Six answers over the same tokens, side by side.

    token_attribution(model, trace, 3)         # pandas, a line a token of source and target prefix
    token_attribution(model, trace, 3, against="▁fille")  # why this token, and not that one?
    shares(token_attribution(model, trace, 3))  # every answer made to sum to 1
    source_share(model, trace)       # how much of each output token came from the source

Rollout and flow (Abnar and Zuidema 2020) know the weights alone, ALTI+ (Ferrando et al. 2022) also
what they move, value zeroing (Mohebbi et al. 2023) whole layers. These four ask what a vector was
made of, not what it says. Gradient × embedding (Denil et al. 2014) and integrated gradients
(Sundararajan, Taly and Yan 2017) ask for a token's log-probability, through the whole model; so
only these two can say why it was this token and not a rival (Yin and Neubig 2022).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from jaxtyping import Float

from transformer.analysis.attribution import alti, flow, rollout, value_zeroing
from transformer.analysis.attribution.gradients import gradients, output_position, rival
from transformer.analysis.attribution.integrated import Integrated, integrated_gradients
from transformer.inference.trace import Trace
from transformer.model import Transformer

OF_VECTORS = ("rollout", "flow", "alti", "zeroing")
"""Methods that do not know which token was written."""
OF_TOKENS = ("gradient", "integrated")
"""Methods that do, and can hold it against a rival."""
METHODS = (*OF_VECTORS, *OF_TOKENS)


def token_attribution(
    model: Transformer,
    trace: Trace,
    position: int,
    methods: Sequence[str] | None = None,
    against: int | str | None = None,
) -> pd.DataFrame:
    """The answers of `methods` for `trace.predicted_tokens[position]`, as they are.

    A line for each source token, then one for each token that the decoder had read by then, `<s>`
    first. Columns: side ("source" or "target"), position, token, and a column a method: rollout,
    alti and zeroing from 0 to 1, together 1; flow from 0 to 1 each; gradient × embedding and
    integrated gradients in nats. How well these last add up is in `table.attrs["integrated"]`: f of
    the sentence, "value", and of no words, "baseline", the "gap" to their difference, and "steps".

    Args:
        methods: some of `METHODS`; left out, all, or with a rival all that know of one.
        against: a rival of that token, an id or a candidate's piece (`rival`): then f is the
            difference of the two logits.

    Raises:
        ValueError: for a position, method or rival that is not there, a rival and a method that
            knows of none, or a trace of another model.
        KeyError: for a trace without a site that ALTI+ or value zeroing needs; take one with all.
    """
    output_position(trace, position)
    if methods is None:
        methods = METHODS if against is None else OF_TOKENS
    if against is not None:
        against = rival(trace, position, against)
        for method in set(methods) & set(OF_VECTORS):
            raise ValueError(
                f"{method} does not know which token was written, so it cannot say why no other; "
                f"with a rival there is {' and '.join(OF_TOKENS)}"
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
            found = integrated_gradients(model, trace, position, against)
            table.attrs[method] = _sums(found)
            source, target = found.source, found.target
        else:
            source, target = _answer(model, trace, position, method, against)
        table[method] = np.concatenate([source, target[: position + 1]])
    return table


def _sums(found: Integrated) -> dict[str, float]:
    return {name: getattr(found, name) for name in ("value", "baseline", "gap", "steps")}


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
    model: Transformer, trace: Trace, position: int, method: str, against: int | None
) -> tuple[Float[np.ndarray, " src"], Float[np.ndarray, " tgt"]]:
    """One method's numbers over the source and over all that the decoder read."""
    if method in ("rollout", "alti", "zeroing"):
        module = value_zeroing if method == "zeroing" else alti
        mixed = rollout.joint(trace) if method == "rollout" else module.joint(model, trace)
        return mixed.source[-1, position], mixed.target[-1, position]
    if method == "flow":
        flows = flow.joint(trace, [position])
        return flows.source[0], flows.target[0]
    if method == "gradient":
        slopes = gradients(model, trace, position, against=against)
        return slopes.source, slopes.target
    raise ValueError(f"there is no method {method!r}; there is {', '.join(METHODS)}")
