"""What `streamlit run` starts: the server, and its first page.

Home: a sentence that is translated while it is typed, and the ways on.
"""

from __future__ import annotations

from transformer.ui.streamlit_fixes import install

install()  # first of all: with another release of Streamlit the imports below could fail

import streamlit as st  # noqa: E402

from transformer.ui.pages.home import glance  # noqa: E402
from transformer.ui.shell import asgi, page  # noqa: E402
from transformer.ui.shell.registry import CLASS, HOME  # noqa: E402
from transformer.ui.widgets import frame, lessons  # noqa: E402


def home() -> None:
    with page.page(HOME) as model:
        frame.lead_text(glance.LEAD)
        glance.show(model)
        lessons.lesson_button(
            lessons.LESSONS[0].name,
            "What does the model do? Begin with the first lesson →",
            "lesson-start",
            primary=True,
        )
        st.header("Where to go from here")
        glance.page_cards()
        frame.page_link(CLASS, "In a classroom? Join its class, or open one →")


if __name__ == "__main__":  # the page's script, run for every visit and click
    home()
else:  # imported once: `streamlit run` finds the server here (it looks for a call of `st.App`)
    app = st.App(
        __file__,
        lifespan=asgi.lifespan,
        routes=asgi.routes(),
        middleware=asgi.middleware(),
    )
