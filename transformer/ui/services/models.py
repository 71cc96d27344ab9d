"""The checkpoints that the session's visitor may use."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from transformer.api import model_list
from transformer.api import models as loaded
from transformer.api.models import Model as Model
from transformer.api.models import digest as digest
from transformer.api.models import folder as folder
from transformer.api.models import load_first_visit_model as load_first_visit_model
from transformer.api.models import shipped_folder as shipped_folder
from transformer.api.models import without_server_paths as without_server_paths
from transformer.app_folders import CHECKPOINTS_VARIABLE
from transformer.ui.base import state, visitor

FOLDER_VARIABLE = CHECKPOINTS_VARIABLE


def checkpoints() -> dict[str, Path]:
    """Return checkpoint folders by name, in the order of `api.models.list_models`."""
    models = loaded.list_models(visitor.current_id())
    return {name: listed.path for name, listed in models.items()}


def public_path(name: str) -> Path:
    """Return a checkpoint's folder relative to the app's, for code that is shown to visitors."""
    return Path(without_server_paths(str(checkpoints()[name])))


def choices() -> dict[str, str]:
    """Return the models that this visitor can choose, name to label: all except other visitors'
    runs, unless one of them is currently selected."""
    view, visitor_id = state.view(), visitor.current_id()
    labels: dict[str, str] = {}
    for name, listed in loaded.list_models(visitor_id).items():
        if (
            listed.is_run
            and name not in (view.model, view.other_model)
            and visitor_id not in listed.holders
        ):
            continue
        label = model_list.label(name, listed)
        labels[name] = name if label in labels.values() else label
    return labels


def default() -> str:
    """Return the name of the default model; see `api.models.default`."""
    return loaded.default(loaded.list_models(visitor.current_id()))


def load(name: str, path: Path) -> Model:
    """Return a checkpoint from the cache, or load it and show that on the page.

    Raises:
        CheckpointError: (a ValueError) if the folder is no valid checkpoint.
        OSError: if it cannot be read.
    """
    if loaded.is_loaded(path):
        return loaded.load(name, path)
    with st.spinner("Loading the model …"):
        return loaded.load(name, path)
