"""The static site: the model in the browser and the course, as files for any web host.

`write_site` writes it (`python -m transformer site OUT`); `transformer.figures` has its
page templates.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from transformer.api.client_data import client_data, model_data
from transformer.checkpoint import VOCABULARY, WEIGHTS
from transformer.figures.browser_vocabulary import browser_problem
from transformer.figures.film import film_page
from transformer.figures.glance import glance_data
from transformer.figures.live_page import live_page, live_script, service_worker, worker_scripts
from transformer.figures.site_pages import LEARN, STYLE, ViewLink, learn_page
from transformer.figures.trainer_page import CLINIC, clinic_page, trainer_page
from transformer.figures.views import shared_files
from transformer.jobs import shipped
from transformer.text.files import new_folder
from transformer.ui.base.registry import BY_PATH, PAGES
from transformer.ui.pages.home.client import next_places
from transformer.ui.services import models, trace_cache
from transformer.ui.services.models import Model
from transformer.ui.services.view_scripts import training_files
from transformer.ui.site.course import reads_english, site_course


def write_site(
    destination: str | os.PathLike[str],
    progress: Callable[[float, str], object] = lambda *_: None,
    warn: Callable[[str], object] = lambda _: None,
) -> None:
    """Write the home page with its models, the course, and films of training.

    Args:
        progress: called with the completed share, 0 to 1, and the current stage.
        warn: called with a sentence for each model that is left out, as the browser would compute
            other ids from a text.

    Raises:
        FileExistsError: if `destination` exists.
        ValueError: if there is no translation checkpoint.
    """
    available = _available_models()
    translators = [model for model in available if reads_english(model)]
    if not translators:
        raise ValueError(f"{models.folder()} contains no checkpoint that translates")
    with new_folder(destination) as folder:
        _write(folder, "site.css", STYLE)
        models_here = _models_for_browser(translators, warn)
        site = copy_models(folder, models_here)
        progress(0, "films")
        films = _write_films(folder)
        progress(0.2, "the course")
        _write(folder, "lessons.json", json.dumps(site_course(available, models_here)))
        progress(0.7, "the models")
        site |= site_places(films)
        write_live(folder, site)
        _write(folder, LEARN, learn_page(site, [*films.values()], FOOTER))
        write_service_worker(folder)
    progress(1.0, "written")


def site_places(films: Mapping[str, ViewLink]) -> dict[str, Any]:
    """Return which files show which places of the app (`common/site-places.js`), the titles of the
    pages, and what follows the page Try."""
    places = [
        _place("learn", CLINIC, clinic="1"),
        *(_place("train", film.file, run=name) for name, film in films.items()),
        *(_place(path, file) for path, file in PAGE_FILES.items()),
    ]
    return {
        "places": places,
        "titles": {path: PAGES[file].title for path, file in BY_PATH.items()},
        "next": [place for place in next_places() if place["page"] in PAGE_FILES],
    }


def _place(page: str, file: str, **params: str) -> dict[str, Any]:
    return {"page": page, "params": params, "file": file}


def _write_films(folder: Path) -> dict[str, ViewLink]:
    """Write the films of the included example runs; return links to them by the runs' names."""
    for name, content in shared_files("film").items():
        _write(folder, f"films/{name}", content)
    films = {}
    for run in shipped.shipped_folders(models.shipped_folder()):
        steps, config = run.snapshots(), run.readable_config()
        if steps and config is not None:
            frames = {step: run.snapshot(step) for step in steps}
            file = f"films/{run.name}.html"
            start = {"step": steps[0]}
            film = film_page(
                frames, run.labels(), start, title=config.title, exact=False, shared=True
            )
            _write(folder, file, film)
            films[run.name] = ViewLink(file, config.title)
    return films


def _write(folder: Path, file: str, content: str | bytes) -> None:
    path = folder / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)


def _available_models() -> list[Model]:
    """Return the models of checkpoints and included example runs that can be opened."""
    loaded = []
    for name, path in models.checkpoints().items():
        with suppress(OSError, ValueError):
            loaded.append(models.load(name, path))
    return loaded


LIVE_TITLE = "Heads Up: see attention"
LIVE_LEAD = (
    "A model translates what you type, in your browser. "
    "See which words it attends to at every step."
)
MODELS = "models"
PAGE_FILES = {"": "index.html", "learn": LEARN, "train": "train.html"}
"""Files of the pages of the app that the site has, by path."""
NOT_PRECACHED = (MODELS, "films")
"""Folders that the service worker does not fetch in advance; models have a separate cache."""
FOOTER = (
    "The model runs in your browser; what you type stays there. Only the full app has "
    "experiments on heads over a corpus, and replicates published findings. The model is that of "
    "“Attention Is All You Need”."
)

CLINIC_FOOTER = (
    "The models train in your browser. Your result stays there too, until you save it as a file."
)
TRAIN_FOOTER = (
    "The model trains in your browser; what you type or paste stays there. It is a small model of "
    "“Attention Is All You Need”."
)


def _models_for_browser(models: Sequence[Model], warn: Callable[[str], object]) -> list[Model]:
    """Return the models that `client/model/` can run; warn of the others."""
    found = []
    for model in models:
        if reason := browser_problem(model.translator.vocabulary):
            warn(f"{model.name} is left out of the site, because {reason}.")
        elif model.translator.folder is not None:
            found.append(model)
    return found


def copy_models(folder: Path, models: Sequence[Model]) -> dict[str, Any]:
    """Copy the models' files into the site's folder; return their data for the scripts."""
    site_models = {model.name: _copy_model(folder, model) for model in models}
    data = client_data(site_models, methods=("greedy", "beam", "forced"))
    return {**data, "scripts": list(worker_scripts())}


def write_live(folder: Path, models_data: Mapping[str, Any]) -> None:
    """Write index.html and the scripts into the site's folder."""
    joined = live_script()
    _write(folder, "live.js", joined.script)
    _write(folder, "live.css", joined.style)
    scripts: dict[str, str | bytes] = {**worker_scripts(), **training_files()}
    for path, content in scripts.items():
        _write(folder, f"scripts/{path}", content)
    _write(folder, "train.html", trainer_page(TRAIN_FOOTER))
    _write(folder, CLINIC, clinic_page(CLINIC_FOOTER))
    _write(folder, "index.html", live_page(models_data, LIVE_TITLE, LIVE_LEAD, FOOTER))


def write_service_worker(folder: Path) -> None:
    """Write the service worker that makes the site work offline, after all other files."""
    files = sorted(
        path.relative_to(folder)
        for path in folder.rglob("*")
        if path.is_file() and path.relative_to(folder).parts[0] not in NOT_PRECACHED
    )
    digest = hashlib.sha256()
    for file in files:
        digest.update(str(file).encode() + b"\0" + (folder / file).read_bytes())
    script = service_worker(digest.hexdigest()[:16], [file.as_posix() for file in files])
    _write(folder, "service-worker.js", script)


def _copy_model(folder: Path, model: Model) -> dict[str, Any]:
    """Copy a model's files and return its data for the page."""
    description, source = model.description, model.translator.folder
    assert source is not None, "`_models_for_browser` requires a folder"
    (folder / MODELS / model.name).mkdir(parents=True)
    files = []
    for name in (WEIGHTS, VOCABULARY):
        path = f"{MODELS}/{model.name}/{name}"
        shutil.copyfile(source / name, folder / path)
        content = (source / name).read_bytes()
        digest = hashlib.sha256(content).hexdigest()
        files.append({"path": path, "bytes": len(content), "sha256": digest})
    aligner = model.aligner
    picture = glance_data(
        {}, trace_cache.greedy(model, description.default_text).trace, aligner=aligner
    )
    config, label = model.translator.model.config, f"{description.source} → {description.target}"
    return {
        **model_data(label, description, config, aligner),
        "files": files,
        "prepared": {
            "text": description.default_text,
            "picture": base64.b64encode(picture).decode(),
        },
    }
