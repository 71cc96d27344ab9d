"""What `streamlit run` starts: the server, and its first page.

Home: a sentence that is translated while it is typed, and the ways on.
"""

from __future__ import annotations

import streamlit as st

from transformer.ui import frame, lessons
from transformer.ui.home import early, glance, rooms
from transformer.ui.pages import CLASS, HOME
from transformer.ui.server import serving


def home() -> None:
    with frame.page(HOME) as model:
        frame.lead(glance.LEAD)
        glance.show(model)
        lessons.go(lessons.LESSONS[0].name, "What is it doing? Begin here →", "begin", primary=True)
        st.subheader("Where to go from here")
        rooms.show()
        frame.link(CLASS, "In a classroom? Join its class, or open one →")


if __name__ == "__main__":  # the page's script, run anew for every visit and click
    home()
else:  # imported once: `streamlit run` looks for a server here, and starts this one
    app = st.App(
        __file__,
        lifespan=serving.lifespan(early.prepare),
        middleware=serving.layers(early.EarlyPicture),
    )
