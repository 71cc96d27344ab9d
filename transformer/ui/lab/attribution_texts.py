"""What each measure is, in a sentence, where it comes from, and where it fails."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from transformer.ui import frame
from transformer.ui.kit import exact


@dataclass(frozen=True)
class Explanation:
    """`label` stands in a line with its number, `title` above its picture, `unit` below it."""

    title: str
    what: str
    source: str
    but: str
    label: str = ""
    unit: str = ""
    signed: bool = False


CELLS = {
    "weight": Explanation(
        "Weight α",
        "How much of the key's vector the query takes. A row sums to 1.",
        "Vaswani et al. 2017, section 3.2.1",
        "it does not know how long the vector is that it takes, nor whether anyone above needs it.",
        "weight",
        "share of the row",
    ),
    "norm": Explanation(
        "Norm ‖α·f(x)‖",
        "The length of the vector that really arrives: the weight times the key's value, sent "
        "through this head's part of $W^O$.",
        "Kobayashi et al. 2020, section 3",
        "long vectors may cancel one another, and it sees this layer only, not what is made of it.",
        "norm",
        "length of the vector",
    ),
    "gradient": Explanation(
        "Gradient ∂ log p / ∂α",
        "How the log-probability of the whole translation begins to change if this one weight "
        "grows, everything above it following. In nats: 0.7 more of them doubles a probability.",
        "Compared with attention weights by Serrano & Smith 2019",
        "it holds for tiny changes, and a weight near 0 may have a steep slope that nobody uses.",
        "gradient",
        "nats for each 1 of weight",
        signed=True,
    ),
    "product": Explanation(
        "Gradient × weight",
        "A guess at what the weight is worth: how much log-probability would go if it went to 0.",
        "Compared with attention weights by Serrano & Smith 2019",
        "a straight line laid along a curve. Blanking the cell may do something else.",
        "gradient × weight",
        "nats",
        signed=True,
    ),
}

TOKENS = {
    "rollout": Explanation(
        "Rollout",
        "The weights of all layers multiplied, half of each position kept by the residual "
        "connection every time, heads averaged.",
        "Abnar & Zuidema 2020, “Attention rollout and attention flow”",
        "as the kept half is the same everywhere, the source gets {level:.1%} of every token "
        "($1-0.5^{{{layers}}}$), whatever the weights. It says which tokens, not how much source.",
    ),
    "flow": Explanation(
        "Flow",
        "Every weight is a pipe of that width: the most that can run from a token to this output.",
        "Abnar & Zuidema 2020, “Attention rollout and attention flow”",
        "{layers} layers leave so many ways around that nearly everything gets through: the "
        "pictures of all output tokens look alike.",
    ),
    "alti": Explanation(
        "ALTI+",
        "How much nearer each token's vector brings a layer's output, values, residual connection "
        "and LayerNorm included, multiplied through the layers.",
        "Ferrando et al. 2022 (ALTI; for translation ALTI+), section 3 of both",
        "the feed-forward networks are left out, and near is not the same as needed: it never "
        "asks what the model says in the end.",
    ),
    "zeroing": Explanation(
        "Value zeroing",
        "How far each layer's output turns when one token has nothing to say there, feed-forward "
        "network included, multiplied through the layers; the residual connection is weighed so "
        "too.",
        "Mohebbi et al. 2023; the residual connection's part is added here",
        "where either of two tokens would do, both seem of little use; and it never asks what the "
        "model says in the end.",
    ),
    "gradient": Explanation(
        "Gradient",
        "How the log-probability of this token hangs on each token's embedding: gradient × "
        "embedding. The other colour speaks against it.",
        "Simonyan et al. 2014, Denil et al. 2014",
        "it holds for small changes, jumps from token to token, and is faint where the model is "
        "sure: near probability 1 nothing much can change.",
    ),
    "integrated": Explanation(
        "Integrated gradients",
        "The same gradients, gathered along the way from no words at all (every word embedding 0, "
        "positions kept) to this sentence. All tokens together sum to what the words brought.",
        "Sundararajan, Taly & Yan 2017",
        "no sentence along that way was ever seen in training, and another beginning than zero "
        "would give other numbers.",
    ),
}


def piece(token: str) -> str:
    return frame.plain(exact.token(token))


def explain(measure: Explanation, **numbers: float) -> None:
    """Below its picture."""
    but = measure.but.format(**numbers)
    st.markdown(f"**{measure.title}.** {measure.what}")
    st.caption(f"{measure.source}.  \n**But** {but}")
