"""What `streamlit run` starts: the server, and its first page.

Home: what this is, one sentence already translated, and the ways on.
"""

from __future__ import annotations

import streamlit as st

from transformer.ui import frame, readings
from transformer.ui.address import EXAMPLE, View
from transformer.ui.kit import views
from transformer.ui.lessons.course import LESSONS
from transformer.ui.pages import HOME, PAGES
from transformer.ui.server import serving


def home() -> None:
    with frame.page(HOME) as model:
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
        ways = [(file, one) for file, one in PAGES.items() if file != HOME]
        for start in range(0, len(ways), 3):
            for column, (file, one) in zip(st.columns(3), ways[start:], strict=False):
                with column.container(border=True, gap="xsmall"):
                    frame.link(file, one.way)
                    st.caption(one.what.format(lessons=len(LESSONS)))


if __name__ == "__main__":  # the page's script, run anew for every visit and click
    home()
else:  # imported once: `streamlit run` looks for a server here, and starts this one
    app = st.App(__file__, lifespan=serving.lifespan, middleware=serving.LAYERS)
