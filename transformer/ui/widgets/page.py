"""The frame around every page: title, navigation bar, choice of a model, messages, address."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st
import torch

from transformer.api.model_description import ModelDescription, describe_model
from transformer.cancellation import cancelled_by
from transformer.text.door import (
    accepts,
    either,
    flag,
    nothing,
    read_fields,
    record,
    table,
    text,
    title,
)
from transformer.text.sentences import EXAMPLE
from transformer.ui.base import state
from transformer.ui.base.registry import (
    BY_PATH,
    CLASS,
    CLIENT_PAGES,
    HOME,
    LEARN,
    PAGES,
    page_name,
    path,
)
from transformer.ui.services import downloads, models
from transformer.ui.services.models import Model
from transformer.ui.services.trace_cache import RerunCancellation
from transformer.ui.widgets import class_line, class_question, display_names, lesson_card, views
from transformer.ui.widgets.fragment import fragment
from transformer.ui.widgets.frame import as_sentence, plain

torch.set_num_threads(1)
# A page computes one sentence: hundreds of products of a few microseconds, which a second thread
# does not speed up, and other sessions need the cores. Torch gives
# this number to every new thread, so it must not be set in a session. Training and measurements run
# in separate processes.
_STYLE, _LESSON, _LARGE = (
    Path(__file__).with_name(name) for name in ("frame.css", "lesson-card.css", "frame-large.css")
)
SECONDS_PER_DAY = 24 * 3600
MODEL_WIDTH = {False: 186, True: 250}
"""Width in pixels of the model menu, by whether everything is drawn larger; `model_list.MAX_LABEL`
characters fit into it."""


@dataclass(frozen=True, kw_only=True)
class Place:
    """A page's path, and the fields of its address."""

    page: str = accepts(title(60), "")
    params: Mapping[str, str] = accepts(table(text(state.MAX_CHARACTERS), 60))


_PLACE_OR_NOTHING = either(record(Place), nothing())


@dataclass(frozen=True, kw_only=True)
class FrameChoice:
    """A choice in the navigation bar, or a place that a view opens.

    Attributes:
        large: whether to draw everything larger; null for a place.
        page, params: the place; without `params` it is the page as the visitor has left it.
        is_link: whether the place is that of a link in a page, see `state.request_link`.
        origin: the place that the browser shows.
    """

    large: bool | None = accepts(either(flag(), nothing()), None)
    page: str = accepts(title(60), "")
    params: Mapping[str, str] | None = accepts(
        either(table(text(state.MAX_CHARACTERS), 60), nothing()), None
    )
    is_link: bool = accepts(flag(), False)
    origin: Any = accepts(_PLACE_OR_NOTHING, None)  # noqa: RUF009  (no mutable default)


@contextmanager
def page(file: str) -> Iterator[Model]:
    """Draw the frame around one page of `PAGES`; yield the selected model.

    Without any model the page shows how to get one and stops. A ValueError inside the context is
    shown as a message.
    """
    with page_with_optional_model(file) as model:
        if model is None:
            no_model()
            st.stop()
        yield model


@contextmanager
def page_with_optional_model(file: str) -> Iterator[Model | None]:
    """Draw the same frame around a page with parts that need no model; yield the selected model,
    or None if there is none."""
    with _frame(file) as problems:
        folders = models.checkpoints()
        _reset_missing_model(folders, problems)
        choices = models.choices()
        _default_model(choices)
        with _navigation_bar(file):
            if len(choices) > 1:
                _choose_model(choices)
        model = _model(folders, problems) if folders else None
        _draw_top(file, problems)
        try:
            yield model
        except ValueError as error:
            _warn([as_sentence(error)])


@contextmanager
def page_without_model(file: str) -> Iterator[None]:
    """Draw the same frame around a page that needs no model."""
    with _frame(file) as problems:
        with _navigation_bar(file):
            pass
        _draw_top(file, problems)
        try:
            yield
        except ValueError as error:
            _warn([as_sentence(error)])


@contextmanager
def _frame(file: str) -> Iterator[list[str]]:
    """Draw title and style, keep the address up to date; yield the problems with the address."""
    name, home = PAGES[file].title, file == HOME
    state.go_to_requested_place(file)
    problems = state.open_address(file)
    downloads.begin_run()
    st.set_page_config(
        page_title="Heads Up" if home else f"{name} · Heads Up", page_icon="👀", layout="wide"
    )
    st.html(_style(state.is_large()))
    with cancelled_by(RerunCancellation()):
        yield problems
    if file not in CLIENT_PAGES:
        state.write_address()


def _handle_frame() -> None:
    """Callback: draw everything larger, or note the place to which the rerun goes."""
    try:
        choice = read_fields(dict(st.session_state["frame"]["choice"]), FrameChoice)
    except ValueError:
        return
    if choice.large is not None:
        state.change(size="large" if choice.large else "normal")
        return
    if choice.origin is not None and BY_PATH.get(choice.origin.page) in CLIENT_PAGES:
        state.leave_client(BY_PATH[choice.origin.page], choice.origin.params)
    target = BY_PATH.get(choice.page, HOME)
    if choice.is_link and choice.params is not None:
        state.request_link(target, choice.params)
    else:
        state.request_place(target, choice.params)


def _rerun_after_reconnect() -> None:
    """Make the browser request a rerun after every reconnect.

    After the server has restarted, or after two minutes offline, the browser gets a new session.
    Streamlit's client requests a run of it only if the page has a fragment that reruns
    periodically. Without a run, the first message would be the visitor's next action, whose widget
    and callback the new session does not know, so the action would be lost.
    """
    fragment(lambda: None, "rerun-after-reconnect", every=SECONDS_PER_DAY)()


@cache
def _style(large: bool) -> str:
    """Return all styles as one element: fewer or more before a fragment would move it."""
    files = [_STYLE, _LESSON, _LARGE] if large else [_STYLE, _LESSON]
    return f"<style>{''.join(file.read_text(encoding='utf-8') for file in files)}</style>"


@contextmanager
def _navigation_bar(file: str) -> Iterator[None]:
    with st.container(horizontal=True, vertical_alignment="center", key="navigation-bar"):
        views.component("frame")(
            key="frame",
            data={
                "page": path(file),
                "name": page_name(file),
                "depths": {depth: page_name(file, depth) for depth in PAGES[file].depths},
                "pages": [[path(page_file), entry.title] for page_file, entry in PAGES.items()],
                "large": state.is_large(),
            },
            on_choice_change=_handle_frame,
        )
        yield
        if PAGES[file].has_tokens and file != HOME:
            display_names.exact_toggle()
        _rerun_after_reconnect()  # not below the bar, where it would take a gap


def _draw_top(file: str, problems: list[str]) -> None:
    """Draw the class, the lesson, the problems with the address and the heading."""
    class_line.show(file)
    class_question.card(file)
    if file not in (CLASS, LEARN):
        lesson_card.mount(file)
    _warn(problems)
    st.title(PAGES[file].heading or PAGES[file].title)


def _warn(problems: list[str]) -> None:
    for problem in problems:
        st.warning(plain(problem))


def _reset_missing_model(folders: dict[str, Path], problems: list[str]) -> None:
    """Report a link to a model that no longer exists, and select the default one."""
    name = state.view().model
    if name and folders and name not in folders:
        state.set_fields(model="")
        available = ", ".join(models.choices())
        problems.append(f"There is no checkpoint {name!r}; available: {available}.")


def _default_model(choices: dict[str, str]) -> None:
    """Select a model before links are drawn: the target page of a link without a model would change
    its own address, so that going back would take two steps."""
    if len(choices) > 1 and state.view().model not in choices:
        first = models.default()
        state.set_fields(model=first if first in choices else next(iter(choices)))


def _choose_model(choices: dict[str, str]) -> None:
    st.selectbox(
        options=list(choices),
        format_func=lambda name: choices.get(name, name),
        label_visibility="collapsed",
        width=MODEL_WIDTH[state.is_large()],
        **{**state.bound("model"), "on_change": _on_model_change},
    )


def _on_model_change(name: str, key: str) -> None:
    """Select another model; reset a text of another task, a translation into another language."""
    folders, new_name = models.checkpoints(), st.session_state[key]
    old_name = state.view().model or models.default()
    view = state.view()
    if new_name is None:
        return
    old_model, new_model = (
        describe_model(folders[model]) if model in folders else ModelDescription()
        for model in (old_name, new_name)
    )
    reset: dict[str, Any] = {}
    if old_model.kind != new_model.kind:
        reset |= {"text": EXAMPLE, "other": "", "target": ""}
    elif old_model.target_code != new_model.target_code:
        was_example_translation = view.target and view.target == old_model.translation(view.text)
        reset["target"] = new_model.translation(view.text) if was_example_translation else ""
    if view.method == "forced" and not reset.get("target", view.target):
        reset["method"] = "greedy"
    state.change(model=new_name, **reset)


def _model(folders: dict[str, Path], problems: list[str]) -> Model:
    name = state.view().model or models.default()
    try:
        model = models.load(name, folders[name])
    except (OSError, ValueError) as error:
        message = str(error).replace(str(folders[name]), name)
        st.error(plain(f"The checkpoint {name} cannot be opened. {message}"))
        st.stop()
    problems += state.clamp(model.n_layers, model.n_heads)
    if state.view().text == EXAMPLE != model.description.default_text:
        state.set_fields(text=model.description.default_text)
    return model


def no_model() -> None:
    """Draw how to get a model."""
    st.header("No model found")
    folder = models.without_server_paths(str(models.folder()))
    st.markdown(
        f"The app found no trained model in `{folder}`. Train a small one, or put a checkpoint "
        "there: a folder with `config.json`, `model.safetensors` and `vocabulary.model`."
    )
    st.code(
        "python -m transformer train pairs.tsv --preset small --run-folder runs/mine\n"
        f"cp -r runs/mine/checkpoint {folder}/mine",
        language="bash",
    )
    st.markdown(f"To use another folder, set the environment variable `{models.FOLDER_VARIABLE}`.")
    st.button("Search again")
