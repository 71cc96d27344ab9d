"""The static site: the model in the browser and the course, as files for any web host.

`write_site` writes it (`python -m transformer site OUT`); `transformer.figures` has its
page templates.
"""

from __future__ import annotations

import base64
import hashlib
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import transformer.ui.pages  # noqa: F401 - registers the pages, to which lessons link
from transformer.api.client_data import client_data, model_data
from transformer.checkpoint import VOCABULARY, WEIGHTS
from transformer.figures import PackedTrace, explorer_page
from transformer.figures.browser_vocabulary import browser_problem
from transformer.figures.film import film_page
from transformer.figures.glance import glance_data
from transformer.figures.live_page import live_page, live_script, service_worker, worker_scripts
from transformer.figures.site_pages import (
    LEARN,
    STYLE,
    AnswerChoice,
    CourseStep,
    ViewLink,
    index_page,
    step_page,
)
from transformer.figures.state import DEFAULTS
from transformer.figures.trainer_page import CLINIC, clinic_page, trainer_page
from transformer.figures.views import shared_files
from transformer.jobs import shipped
from transformer.lessons import course
from transformer.lessons.lesson import Lesson
from transformer.text.files import new_folder
from transformer.ui.services import models, trace_cache
from transformer.ui.services.models import Model
from transformer.ui.services.view_scripts import training_files
from transformer.ui.site.live_lessons import PreparedLesson, fits, lesson_data, prepared

TITLE = "A course through the Transformer"
LEAD = (
    "A Transformer translates a sentence, and you can look into every head of every layer. **Guess "
    "first, then look**: the questions are about the model that runs in your browser, and each "
    "answer opens the model at the view that shows why. Change the sentence there and ask again.",
)


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
    translators = [model for model in available if fits(model, "")]
    if not translators:
        raise ValueError(f"{models.folder()} contains no checkpoint that translates")
    with new_folder(destination) as folder:
        _write(folder, "site.css", STYLE)
        models_here = _models_for_browser(translators, warn)
        models_data = copy_models(folder, models_here)
        progress(0, "films")
        films = _write_films(folder)
        lesson_steps = []
        for number, lesson in enumerate(course.LESSONS):
            progress(0.1 + 0.6 * number / len(course.LESSONS), "the course")
            result = course_step(lesson, available, models_here, models_data, films)
            if result is None:
                continue
            step, view = result
            if view and step.view_link is not None:
                _write(folder, step.view_link.file, view)
            lesson_steps.append((lesson, step))
        parts = group_by_part(lesson_steps)
        steps = [step for _, part_steps in parts for step in part_steps]
        for position, step in enumerate(steps):
            before = steps[position - 1] if position else None
            after = steps[position + 1] if position + 1 < len(steps) else None
            _write(folder, step.file, step_page(step, before, after, FOOTER))
        progress(0.7, "the models")
        write_live(folder, models_data)
        links = [
            ("Sentences, every head", _sentences(models_here)),
            ("Heads during training", [*films.values()]),
            ("Bug clinic", [ViewLink(CLINIC, CLINIC_LINK)]),
        ]
        index = index_page(TITLE, LEAD, parts, [entry for entry in links if entry[1]], FOOTER)
        _write(folder, LEARN, index)
        write_service_worker(folder)
    progress(1.0, "written")


def _sentences(models_here: list[Model]) -> list[ViewLink]:
    """Return links to each example with each model, in the explorer of the home page."""
    return [
        ViewLink(
            live_address({"model": model.name, "text": text}),
            f"{text} → {model.translator.translate(text).text}",
        )
        for model in models_here
        for text in model.description.examples
    ]


def live_address(params: Mapping[str, str]) -> str:
    """Return the address of the first page with these fields, which are those of the app's page."""
    return f"index.html?{urlencode(params)}"


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


def course_step(
    lesson: Lesson,
    available: Sequence[Model],
    models_here: Sequence[Model],
    models_data: Mapping[str, Any],
    films: Mapping[str, ViewLink],
) -> tuple[CourseStep, str] | None:
    """Return a step of the course and the page that shows its answer, "" if another page does; None
    if no model shows what the lesson is about.

    Args:
        models_here: the models that run in the browser; models_data: from `copy_models`.
        films: films of training, by the names of their runs.
    """
    section = f" · paper, section {lesson.section}" if lesson.section else ""
    step = CourseStep(
        file=f"lessons/{lesson.name}.html",
        title=lesson.title,
        picture=lesson.picture,
        meta=f"{lesson.minutes:g} min{section}",
        notes=[lesson.text],
        question=lesson.question,
        quote=f"Misprint: {lesson.misprint}" if lesson.misprint else "",
    )
    if lesson.build is None:  # the page makes the question
        if not models_here:
            return None
        return replace(step, site=models_data, live=lesson_data(lesson, models_here[0])), ""
    prepared_lesson = prepared(lesson, available)
    if prepared_lesson is None:
        return None
    question, model = prepared_lesson.question, prepared_lesson.model
    sentence = f"“{prepared_lesson.text}”"
    content, view_link, start_link = _answer_page(prepared_lesson), None, None
    if content:
        view_link = ViewLink(f"views/{lesson.name}.html", sentence)
    elif lesson.depth and model in models_here:
        view_link = ViewLink(_view_address(prepared_lesson, answered=True), sentence)
        if lesson.in_place:
            title = f"Switch heads off: {sentence} →"
            start_link = ViewLink(_view_address(prepared_lesson, answered=False), title)
    elif lesson.name == FILM_LESSON:
        view_link = films.get(model.name)
    choices = [
        AnswerChoice(option.label, option.feedback or question.answer, number == question.correct)
        for number, option in enumerate(question.options)
    ]
    answered = replace(
        step,
        exhibit=question.exhibit,
        answer=question.answer,
        choices=choices,
        view_link=view_link,
        train_link=ViewLink(f"train.html?run=task%3D{lesson.task}", TRAIN_LINK)
        if lesson.task
        else None,
        start_link=start_link,
        question_picture=question.picture,
    )
    return answered, content


def _view_address(prepared_lesson: PreparedLesson, *, answered: bool) -> str:
    """Return the address of the first page with the lesson's view."""
    fields = {name: str(value) for name, value in prepared_lesson.fields(answered=answered).items()}
    return live_address(
        {**fields, "model": prepared_lesson.model.name, "text": prepared_lesson.text}
    )


def group_by_part(
    steps: list[tuple[Lesson, CourseStep]],
) -> list[tuple[str, list[CourseStep]]]:
    """Group the steps, which are in the order of the course, by its parts."""
    parts: dict[str, list[CourseStep]] = {}
    for lesson, step in steps:
        parts.setdefault(lesson.part, []).append(step)
    return [*parts.items()]


def _answer_page(prepared_lesson: PreparedLesson) -> str:
    """Return a page with the explorer that shows the answer of a question about two sentences."""
    model, fields = prepared_lesson.model, prepared_lesson.fields(answered=True)
    if prepared_lesson.lesson.depth != "heads":
        return ""
    trace, other = (
        trace_cache.greedy(model, text).trace for text in (prepared_lesson.text, fields["other"])
    )
    sides = [PackedTrace(trace, "A", model.name), PackedTrace(other, "B", model.name)]
    state = {name: value for name, value in fields.items() if name in DEFAULTS}
    return explorer_page(sides, {**DEFAULTS, **state}, trace.source, model.aligner)


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
TRAIN_LINK = "Train such a model in this tab →"
FILM_LESSON = "reverse"
"""The lesson whose answer the film of its run shows."""
MODELS = "models"
NOT_PRECACHED = (MODELS, "films", "views")
"""Folders that the service worker does not fetch in advance; models have a separate cache."""
FOOTER = (
    "The model runs in your browser; what you type stays there. Only the full app has "
    "experiments on heads over a corpus, and replicates published findings. The model is that of "
    "*Attention Is All You Need*."
)

CLINIC_LINK = "Broken Transformers: find the mistake from what you see"
CLINIC_FOOTER = (
    "The models train in your browser. Your result stays there too, until you save it as a file."
)
TRAIN_FOOTER = (
    "The model trains in your browser; what you type or paste stays there. It is a small model of "
    "*Attention Is All You Need*."
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
    _write(folder, "index.html", live_page(models_data, LIVE_TITLE, (LIVE_LEAD,), FOOTER))


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
