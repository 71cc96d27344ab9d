"""What is the same on every page: its title, the way around, the model, messages, the address."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import streamlit as st

from transformer.ui import models, state
from transformer.ui.models import Model

PAGES = {
    "app.py": "Heads Up",
    "pages/translate.py": "Translate",
    "pages/attention.py": "Attention",
}
_STYLE = Path(__file__).with_name("frame.css")


@contextmanager
def page(file: str) -> Iterator[Model]:
    """The frame around one page of `PAGES`; gives the model that the session looks at.

    Without a model the page ends with what to do about it. A ValueError from within is shown as
    the message it is.
    """
    name = PAGES[file]
    home = file == "app.py"
    problems = state.open_address(file)
    st.set_page_config(
        page_title=name if home else f"{name} · Heads Up", page_icon="👀", layout="wide"
    )
    st.html(_STYLE)
    folders = models.checkpoints()
    with st.container(horizontal=True, vertical_alignment="center", key="way-around"):
        for other, label in PAGES.items():
            link(other, label)
        if len(folders) > 1:
            _choose_model(list(folders))
    model = _model(folders, problems)
    for problem in problems:
        st.warning(plain(problem))
    try:
        yield model
    except ValueError as error:
        st.warning(plain(str(error)))
    if not home:
        state.write_address()


def link(file: str, label: str) -> None:
    """A link to one of our pages, with the view in its address."""
    params = state.view().to_params() if file != "app.py" else None
    st.page_link(file, label=label, query_params=params)


def lead(markdown: str) -> None:
    """A page's first words, a little larger than the rest."""
    with st.container(key="lead"):
        st.markdown(markdown)


def plain(text: str) -> str:
    """`text` so that Streamlit's Markdown shows it as it stands: no links, pictures or HTML."""
    return re.sub(r"([!-/:-@\[-`{-~])", r"\\\1", text)


def _choose_model(names: list[str]) -> None:
    if state.view().model not in names:
        state.settle(model=names[0])
    st.selectbox("Model", names, label_visibility="collapsed", width=220, **state.bound("model"))


def _model(folders: dict[str, Path], problems: list[str]) -> Model:
    if not folders:
        _no_model()
        st.stop()
    name = state.view().model or next(iter(folders))
    if name not in folders:
        known = ", ".join(folders)
        problems.append(f"There is no checkpoint {name!r}; this app has {known}.")
        name = next(iter(folders))
        state.settle(model="")
    try:
        model = models.load(name, folders[name])
    except (OSError, ValueError) as error:
        st.error(plain(f"The checkpoint {name} cannot be opened. {error}"))
        st.stop()
    problems += state.fit(model.n_layers, model.n_heads)
    return model


def _no_model() -> None:
    st.header("There is no model yet")
    st.markdown(
        "This app looks into a trained model, and found none in "
        f"`{models.folder()}`. Train a small one, or put a checkpoint there: a folder with "
        "`config.json`, `model.safetensors` and `vocabulary.model`."
    )
    st.code(
        "python -m transformer train pairs.tsv --preset small --run runs/mine\n"
        f"cp -r runs/mine/checkpoint {models.folder() / 'mine'}",
        language="bash",
    )
    st.markdown(
        f"Checkpoints that lie elsewhere are found with the environment variable `{models.FOLDER}`."
    )
    st.button("Look again")
