"""What each measure is, in a sentence, where it comes from, and where it fails."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from transformer.ui.widgets import exact, frame


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
        "The share of its attention that the query gives to the key. A row sums to 1.",
        "Vaswani et al. 2017, section 3.2.1",
        "it ignores how long the value vector is, and whether later layers use it.",
        "weight",
        "share of the row",
    ),
    "norm": Explanation(
        "Norm ‖α·f(x)‖",
        "The length of the vector that is added: the weight times the key's value, multiplied "
        "by this head's part of $W^O$.",
        "Kobayashi et al. 2020, section 3",
        "long vectors may cancel each other, and it covers this layer only.",
        "norm",
        "length of the vector",
    ),
    "gradient": Explanation(
        "Gradient ∂ log p / ∂α",
        "How the log-probability of the whole translation changes with this weight, in nats: "
        "0.7 nats more doubles a probability.",
        "Compared with attention weights by Serrano & Smith 2019",
        "it holds for small changes only, and a weight near 0 may have a large gradient.",
        "gradient",
        "nats for each 1 of weight",
        signed=True,
    ),
    "product": Explanation(
        "Gradient × weight",
        "An estimate of how much log-probability would be lost if the weight were set to 0.",
        "Compared with attention weights by Serrano & Smith 2019",
        "it is a linear approximation. Blanking the cell can have another effect.",
        "gradient × weight",
        "nats",
        signed=True,
    ),
}

TOKENS = {
    "rollout": Explanation(
        "Rollout",
        "The weights of all layers multiplied, with heads averaged and half of each position "
        "kept in every layer for the residual connection.",
        "Abnar & Zuidema 2020, “Attention rollout and attention flow”",
        "because the kept half is constant, the source always gets {level:.1%} of every token "
        "($1-0.5^{{{layers}}}$). It shows which tokens matter, not how much the source does.",
    ),
    "flow": Explanation(
        "Flow",
        "The maximum flow from a token to this output, with every weight as a capacity.",
        "Abnar & Zuidema 2020, “Attention rollout and attention flow”",
        "{layers} layers offer so many paths that nearly everything gets through: the figures "
        "of all output tokens look alike.",
    ),
    "alti": Explanation(
        "ALTI+",
        "How much closer each token's vector brings the output of a layer, including values, "
        "residual connection and LayerNorm, multiplied over the layers.",
        "Ferrando et al. 2022 (ALTI; for translation ALTI+), section 3 of both",
        "it ignores the feed-forward networks, and it measures similarity, not the effect on "
        "the prediction.",
    ),
    "zeroing": Explanation(
        "Value zeroing",
        "How far the output of each layer changes when the value of one token is set to 0, "
        "including the feed-forward network and the residual connection, multiplied over the "
        "layers.",
        "Mohebbi et al. 2023; the residual connection's part is added here",
        "if either of two tokens is enough, both seem unimportant; and it does not measure the "
        "effect on the prediction.",
    ),
    "gradient": Explanation(
        "Gradient",
        "How the log-probability of this token depends on each token's embedding: gradient × "
        "embedding. The other colour lowers it.",
        "Simonyan et al. 2014, Denil et al. 2014",
        "it holds for small changes only, is noisy, and is small where the model is confident, "
        "because a probability near 1 can hardly change.",
    ),
    "integrated": Explanation(
        "Integrated gradients",
        "The same gradients, integrated along a straight path from a baseline (all word "
        "embeddings 0, positions kept) to this sentence. They sum to the total change.",
        "Sundararajan, Taly & Yan 2017",
        "inputs along this path never occur in training, and another baseline would give other "
        "numbers.",
    ),
}


def piece(token: str) -> str:
    return frame.plain(exact.token(token))


def explain(measure: Explanation, **numbers: float) -> None:
    """Below its picture."""
    but = measure.but.format(**numbers)
    st.markdown(f"**{measure.title}.** {measure.what}")
    st.caption(f"{measure.source}.  \n**Limitation:** {but}")
