"""The lessons of the course as steps of a site, each with the view that answers it."""

from __future__ import annotations

from transformer.figures import ExplorerData, explorer_page, translation_page, words
from transformer.figures.glance import glance_data
from transformer.figures.site_pages import AnswerChoice, CourseStep, Look
from transformer.figures.steps import word_steps
from transformer.inference.rivals import rival_words
from transformer.ui.lessons import course
from transformer.ui.lessons.lesson import Looked
from transformer.ui.lessons.prepared import PreparedLesson
from transformer.ui.lessons.sheet import plain

ATTENTION, TRANSLATE = "pages/attention.py", "pages/translate.py"


def step_of(ready: PreparedLesson) -> tuple[CourseStep, str]:
    """The step, and the page to look into; "" where the app alone shows it."""
    lesson, asked = ready.lesson, ready.question
    assert asked is not None, "a lesson that no model shows is no step"
    section = f" · paper, section {lesson.section}" if lesson.section else ""
    content = _view(ready)
    look = Look(f"views/{lesson.name}.html", f"“{ready.text}”") if content else None
    step = CourseStep(
        file=f"lessons/{lesson.name}.html",
        title=lesson.title,
        meta=f"{lesson.minutes:g} min{section}",
        notes=[plain(text) for text in (lesson.text, asked.exhibit) if text],
        question=plain(lesson.question),
        answer=plain(asked.answer),
        choices=[
            AnswerChoice(plain(one.label), plain(one.why_not or asked.answer), place == asked.right)
            for place, one in enumerate(asked.options)
        ],
        quote=f"As some notes have it: {lesson.misprint}" if lesson.misprint else "",
        picture=None if content else asked.picture,
        look=look,
    )
    return step, content


def parts_of(steps: list[tuple[PreparedLesson, CourseStep]]) -> list[tuple[str, list[CourseStep]]]:
    """The steps under the names of the course's parts, in its order."""
    found: dict[str, list[CourseStep]] = {}
    for ready, step in sorted(steps, key=lambda one: course.LESSONS.index(one[0].lesson)):
        found.setdefault(ready.lesson.part, []).append(step)
    return [*found.items()]


def _view(ready: PreparedLesson) -> str:
    """The explorer, or the steps of the translation, opened where the answer is to be seen."""
    lesson, model = ready.lesson, ready.asked_of
    if model is None or lesson.page not in (ATTENTION, TRANSLATE):
        return ""
    trace, view = Looked(model, ready.text).trace, ready.opened(guessed=True)
    if lesson.page == TRANSLATE:
        glance = glance_data(trace, rival_words(model.translator, trace.translation))
        numbers = words(trace.predicted_tokens)
        return translation_page(word_steps(glance, trace.translation.steps, numbers), trace.source)
    return explorer_page([ExplorerData(trace, "", model.name)], view.explorer(), trace.source)
