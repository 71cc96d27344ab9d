"""What `streamlit run` starts: the server, and its first page.

Home: what this is, one sentence already translated, and the ways on.
"""

from __future__ import annotations

import streamlit as st

from transformer.ui import frame, readings, serving, views
from transformer.ui.address import EXAMPLE, View
from transformer.ui.lessons.course import LESSONS

WAYS = (
    (
        "pages/lessons.py",
        "**Lessons**: a way through the paper, step by step →",
        f"{len(LESSONS)} prepared views, each with a question that it answers. New here? Begin "
        "with these.",
    ),
    (
        "pages/translate.py",
        "**Translate** a sentence of your own →",
        "Every step of the decoder: what it had read, what it considered, what it took.",
    ),
    (
        "pages/attention.py",
        "**Attention** of every layer and head →",
        "As lines or pictures, number by number, step by step, or beside another's.",
    ),
    (
        "pages/lab.py",
        "**Heads lab**: is attention an explanation? →",
        "Switch heads off, see what a weight moves, and which heads the model needs.",
    ),
    (
        "pages/inside.py",
        "**Inside**: the paper's Figure 1, box by box →",
        "Every tensor on a sentence's way through the model, and the code that makes it.",
    ),
    (
        "pages/positions.py",
        "**Positions**: how it knows the order →",
        "Waves added to words; which heads look at the place and which at the word.",
    ),
    (
        "pages/why.py",
        "**Why self-attention** →",
        "Four kinds of layer counted, timed on this machine, and raced.",
    ),
    (
        "pages/train.py",
        "**Train** one, and watch attention form →",
        "A small model learns to reverse, to sort or to speak some French, here, in seconds.",
    ),
    (
        "pages/findings.py",
        "**Findings** of papers, repeated →",
        "What was published about heads: does it hold for the model you look at?",
    ),
)


def home() -> None:
    with frame.page("app.py") as model:
        st.title("See attention")
        frame.lead(
            "A Transformer translates a sentence piece by piece, and before each piece it looks at "
            "what it has read and written: that looking is called *attention*. The one in this app "
            "was trained by the code you are running, and hides nothing: you can look into every "
            "head of every layer. Type a sentence, see how each piece was chosen, and where the "
            "model looked."
        )
        first = View(text=next(iter(model.about.examples), EXAMPLE))
        reading = readings.read(model, first)
        layer, head = reading.side.clearest("cross")
        left, right = st.columns([5, 6], gap="large")
        with left:
            st.subheader(frame.plain(model.about.heading.format(first.text)))
            views.translation(reading)
        with right:
            st.subheader("Where it looked")
            views.head(reading, "cross")
            st.caption(
                f"One of {model.n_layers * model.n_heads} heads of this kind: layer {layer}, head "
                f"{head}. Each row is a moment: the piece just read → the piece about to be "
                "written. The stronger the colour, the more the model took from that piece of your "
                "sentence."
            )
        st.subheader("Where to go from here")
        for start in range(0, len(WAYS), 3):
            for column, (file, way, what) in zip(st.columns(3), WAYS[start:], strict=False):
                with column.container(border=True, gap="xsmall"):
                    frame.link(file, way)
                    st.caption(what)


if __name__ == "__main__":  # the page's script, run anew for every visit and click
    home()
else:  # imported once: `streamlit run` looks for a server here, and starts this one
    app = st.App(__file__, lifespan=serving.lifespan, middleware=serving.LAYERS)
