"""What is the same on every page: its title, the way around, the model, messages, the address."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from transformer.cancellation import cancelled_by
from transformer.ui import following, lessons, models, state
from transformer.ui.about import About, about
from transformer.ui.address import EXAMPLE
from transformer.ui.kit import exact, views
from transformer.ui.models import Model
from transformer.ui.pages import CLASS, HOME, PAGES, path
from transformer.ui.server import late_downloads, late_fragments, threads  # noqa: F401  set on import
from transformer.ui.trace_cache import WhileWanted

JOINER = "\u2060"
_STYLE, _LARGE = (Path(__file__).with_name(name) for name in ("frame.css", "frame-large.css"))


@contextmanager
def page(file: str) -> Iterator[Model]:
    """The frame around one page of `PAGES`; gives the model that the session looks at.

    Without a model the page ends with what to do about it. A ValueError from within is shown as
    the message it is.
    """
    with _frame(file) as problems:
        folders = models.checkpoints()
        _known(folders, problems)
        offered = models.offered()
        _default_model(offered)
        with _way_around(file):
            if len(offered) > 1:
                _choose_model(offered)
        model = _model(folders, problems)
        _begin(file, model, problems)
        try:
            yield model
        except ValueError as error:
            _warn([str(error)])


@contextmanager
def page_without_model(file: str) -> Iterator[None]:
    """As `page`, for a page that needs no model."""
    with _frame(file) as problems:
        with _way_around(file):
            pass
        _begin(file, None, problems)
        try:
            yield
        except ValueError as error:
            _warn([sentence(error)])


@contextmanager
def _frame(file: str) -> Iterator[list[str]]:
    """Title and style before, the address before and after; gives what is wrong with it."""
    name, home = PAGES[file].title, file == HOME
    problems = state.open_address(file)
    lessons.follow(file)
    with following.followed(file):
        st.set_page_config(
            page_title=name if home else f"{name} · Heads Up", page_icon="👀", layout="wide"
        )
        st.html(_style(state.is_large()))
        with cancelled_by(WhileWanted()):
            yield problems
        # The bare address of the app is nobody's view yet, and stays what one goes back to.
        if not home or st.query_params:
            state.write_address()


@cache
def _style(large: bool) -> str:
    """One element either way: where a fragment draws is counted in those before it."""
    files = [_STYLE, _LARGE] if large else [_STYLE]
    return f"<style>{''.join(file.read_text(encoding='utf-8') for file in files)}</style>"


@contextmanager
def _way_around(file: str) -> Iterator[None]:
    with st.container(horizontal=True, vertical_alignment="center", key="way-around"):
        for other, one in PAGES.items():
            if one.in_way or other == file:
                link(other, one.title)
        yield
        if file != HOME:  # there all is in whole words
            exact.switch()
        st.button(
            "Larger",
            icon=":material/present_to_all:",
            type="primary" if state.is_large() else "secondary",
            help="Everything larger, over the whole width, for a projector. No link carries it.",
            key="larger",
            on_click=state.turn_larger,
        )
        told = {"page": PAGES[file].title, "pages": [path(other) for other in PAGES]}
        views.component("copylink")(key="copylink", data=told)


def _begin(file: str, model: Model | None, problems: list[str]) -> None:
    """The visitor's class and what their lesson says, above the page that they look at; what is
    wrong; the heading."""
    following.lead(file)  # all that follows may take its time
    following.sign(file)
    if file not in (HOME, CLASS, "pages/lessons.py") and (problem := lessons.show(file)):
        problems.append(problem)
    _warn(problems)
    st.title(PAGES[file].heading or PAGES[file].title)


def _warn(problems: list[str]) -> None:
    for problem in problems:
        st.warning(plain(problem))


def link(file: str, label: str, **changes: Any) -> None:
    """A link to one of our pages, with its view in the address, but for `changes` of its own
    fields."""
    view = state.view(PAGES[file].view)
    if changes:
        view = replace(view, **changes)
    context = get_script_run_ctx()
    page = _target(file, context.main_script_path) if context else file
    st.page_link(page, label=label, query_params=view.to_params())


@cache
def _target(file: str, main: str) -> Any:
    """The page as Streamlit knows it. By its name it looks for it on the disk, for every link."""
    return st.Page(Path(main).parent / file, default=file == HOME)


def go(file: str, label: str, icon: str, key: str = "", **changes: Any) -> None:
    """A button that changes the view and goes to one of our pages: a link from page to page changes
    no more than that page's own fields. A second one to the same page needs a `key`."""
    pressed = st.button(
        label,
        icon=f":material/{icon}:",
        on_click=state.change,
        args=(file,),
        kwargs=changes,
        key=f"go-{key or file}",
    )
    if pressed:
        st.switch_page(file, query_params=state.params(file))


def press(label: str, icon: str, act: Callable[..., None], *args: Any, **more: Any) -> None:
    """A button that calls `act(*args)`; `more` is Streamlit's."""
    st.button(label, icon=f":material/{icon}:" if icon else None, on_click=act, args=args, **more)


def turn(label: str, icon: str, changes: Mapping[str, Any], **more: Any) -> None:
    """A button that gives these fields of the view other values."""
    press(label, icon, partial(state.change, **changes), **more)


def lead(markdown: str) -> None:
    """A page's first words, a little larger than the rest."""
    with st.container(key="lead"):
        st.markdown(markdown)


def plain(text: str) -> str:
    """`text` so that Streamlit's Markdown shows it as it stands: no links, pictures or HTML; but
    for paths of this server, which are cut.

    A bare address becomes a link even where every sign is escaped, because it is looked for in
    what is left at the end: an invisible word joiner takes it apart.
    """
    shown = re.sub(r"([!-/:-@\[-`{-~])", r"\\\1", models.public(text))
    return re.sub(r"(?i)(https?(?=\\:)|www(?=\\\.)|\\@)", rf"\1{JOINER}", shown)


def sentence(error: object) -> str:
    """An error's message as a sentence: a capital, unless a setting's name comes first, and an
    end."""
    text = str(error).strip()
    first = text.split(" ")[0]
    if "_" not in first and not any(letter in first for letter in ".-'"):
        text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "?", "!")) else f"{text}."


def _known(folders: dict[str, Path], problems: list[str]) -> None:
    """A link to a model that is gone says so, before anything takes its place."""
    name = state.view().model
    if name and folders and name not in folders:
        state.normalise(model="")
        known = ", ".join(models.offered())
        problems.append(f"There is no checkpoint {name!r}; this app has {known}.")


def _default_model(offered: dict[str, str]) -> None:
    """Before the links are drawn: one without a model would lead to an address that the page there
    turns into another, and from there one would have to go back twice."""
    if len(offered) > 1 and state.view().model not in offered:
        first = models.default()
        state.normalise(model=first if first in offered else next(iter(offered)))


def _choose_model(offered: dict[str, str]) -> None:
    st.selectbox(
        options=list(offered),
        format_func=lambda name: offered.get(name, name),
        label_visibility="collapsed",
        width=124,
        **{**state.bound("model"), "on_change": _turned_to},
    )


def _turned_to(name: str, key: str) -> None:
    """Another model was chosen. A text of another task means nothing to it, nor does a translation
    into another language."""
    folders, chosen = models.checkpoints(), st.session_state[key]
    first = state.view().model or models.default()
    view = state.view()
    if chosen is None:
        return
    before, now = (about(folders[one]) if one in folders else About() for one in (first, chosen))
    reset: dict[str, Any] = {}
    if before.kind != now.kind:
        reset |= {"text": EXAMPLE, "other": "", "target": ""}
    elif before.writes != now.writes:
        known = view.target and view.target == before.translation(view.text)
        reset["target"] = now.translation(view.text) if known else ""
    if view.method == "forced" and not reset.get("target", view.target):
        reset["method"] = "greedy"
    state.change(model=chosen, **reset)


def _model(folders: dict[str, Path], problems: list[str]) -> Model:
    if not folders:
        _no_model()
        st.stop()
    name = state.view().model or models.default()
    try:
        model = models.load(name, folders[name])
    except (OSError, ValueError) as error:
        said = str(error).replace(str(folders[name]), name)
        st.error(plain(f"The checkpoint {name} cannot be opened. {said}"))
        st.stop()
    if not getattr(state.here(), "trace", ""):  # a trace has layers and heads of its own
        problems += state.clamp(model.n_layers, model.n_heads)
    if state.view().text == EXAMPLE != model.about.first:
        state.normalise(text=model.about.first)
    return model


def _no_model() -> None:
    st.header("There is no model yet")
    folder = models.public(str(models.folder()))
    st.markdown(
        f"This app looks into a trained model, and found none in `{folder}`. Train a small one, or "
        "put a checkpoint there: a folder with `config.json`, `model.safetensors` and "
        "`vocabulary.model`."
    )
    st.code(
        "python -m transformer train pairs.tsv --preset small --run-folder runs/mine\n"
        f"cp -r runs/mine/checkpoint {folder}/mine",
        language="bash",
    )
    st.markdown(
        f"Checkpoints that lie elsewhere are found with the environment variable `{models.FOLDER}`."
    )
    st.button("Look again")
