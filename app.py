"""What `streamlit run` starts: the server, and its first page.

Try: a sentence and its translation, in four depths of detail.
"""

from __future__ import annotations

from transformer.ui.base.streamlit_fixes import install

install()  # first of all: with another release of Streamlit the imports below could fail

import streamlit as st  # noqa: E402

from transformer.ui.base.registry import HOME  # noqa: E402
from transformer.ui.pages.home import client  # noqa: E402
from transformer.ui.server import asgi  # noqa: E402
from transformer.ui.services import models  # noqa: E402
from transformer.ui.widgets import page  # noqa: E402


def home() -> None:
    with page.page_without_model(HOME):
        if models.checkpoints():
            client.show()
        else:
            page.no_model()


if __name__ == "__main__":  # the page's script, run for every visit and click
    home()
else:  # imported once: `streamlit run` finds the server here (it looks for a call of `st.App`)
    app = st.App(
        __file__,
        lifespan=asgi.lifespan,
        routes=asgi.routes(),
        middleware=asgi.middleware(),
    )
