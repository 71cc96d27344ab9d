"""The lesson's card on a page: question, options, answer and navigation."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, NamedTuple

import streamlit as st

from transformer.figures.packing import pack
from transformer.ui.base import state
from transformer.ui.services import models
from transformer.ui.widgets import frame, quantities, views
from transformer.ui.widgets.lessons import browser_questions, course, progress
from transformer.ui.widgets.lessons.lesson import LIST_PAGE, Question, escaped
from transformer.ui.widgets.lessons.prepared import PreparedLesson, prepared
from transformer.ui.widgets.lessons.progress import Guess

_OPENED_LESSON, _NEXT_PAGE, _VISITED = "lesson_opened", "lesson_next_page", "lesson_visited"
_CHECK, _REPLACED, _AWAITED = "lesson_check", "lesson_replaced_model", "lesson_awaited"
# Keys of the session: the lesson whose view the next script run opens, the page it goes to,
# whether a page was opened before, the lesson whose Check button was clicked, the
# `ReplacedModel` of the last lesson that has one, and the lesson that was opened before the browser
# made its question.
_STYLE = Path(__file__).with_name("lessons.css")


class ReplacedModel(NamedTuple):
    """The model that a lesson opened with, because the chosen one does not show its phenomenon.

    Attributes:
        lesson: the lesson's name. chosen, used: names of both models in the address.
        reason: why the chosen model does not show it.
    """

    lesson: str
    chosen: str
    used: str
    reason: str


def show(page: str) -> str | None:
    """Draw the lesson of the current view, if there is one; return an error message for an unknown
    lesson.

    The question comes before its answer. On another page than the lesson's own, the card has a
    button that leads back.
    """
    name = state.view().lesson
    if name == course.END and page != LIST_PAGE:
        state.set_fields(lesson="")  # the course has ended
    if not name or name == course.END:
        return None
    if name not in course.BY_NAME:
        state.set_fields(lesson="")
        return f"There is no lesson {name!r}. The first lesson is {course.LESSONS[0].name!r}."
    prepared_lesson = prepared(course.BY_NAME[name])
    style()
    clicked = st.session_state.pop(_CHECK, "") == name
    checked = _check_page(prepared_lesson, page) if clicked else None
    with st.container(border=True, key="lesson"):
        _header(prepared_lesson)
        _model_note(prepared_lesson)
        if page != LIST_PAGE:
            with st.container(key="lesson-see"):  # lessons.css shows it on a small screen alone
                views.component("seeit")(key=f"see-{name}")
        if prepared_lesson.is_pending or page == LIST_PAGE:
            _picture(prepared_lesson)
        if prepared_lesson.is_pending:
            _draw_question(prepared_lesson)
        elif prepared_lesson.question is None:
            _draw_question(prepared_lesson)
            st.info(
                f"No model here shows this: {escaped(prepared_lesson.reason)}.",
                icon=":material/block:",
            )
        elif prepared_lesson.question.check is not None:
            _search(prepared_lesson, prepared_lesson.question, checked)
        elif (class_part := progress.class_part(name)) is not None:
            _class_question(prepared_lesson, prepared_lesson.question, class_part)
        elif progress.is_revealed(name):
            _show_answer(prepared_lesson, prepared_lesson.question)
        else:
            _draw_question(prepared_lesson)
            _options(prepared_lesson, prepared_lesson.question)
        _navigation(page, prepared_lesson)
        if prepared_lesson.question and progress.is_revealed(name):
            with st.expander("Show the question again"):
                if page != LIST_PAGE:
                    _picture(prepared_lesson)
                _draw_question(prepared_lesson)
                _marked_options(prepared_lesson, prepared_lesson.question)
    return None


def lesson_button(
    name: str,
    label: str,
    key: str,
    *,
    primary: bool = False,
) -> None:
    """Draw a button that opens a lesson; `open_requested` then goes to its page."""
    kind: Literal["primary", "secondary"] = "primary" if primary else "secondary"
    st.button(label, key=key, type=kind, on_click=_open, args=(name,))


def open_requested(page: str) -> None:
    """Go to the page of the lesson that was just chosen, before anything is drawn.

    An address that shows an answer leads to the question, if this visitor has not answered it.
    """
    if state.displayed_file() not in (None, page):  # a link was clicked just before or after
        for key in (_NEXT_PAGE, _OPENED_LESSON):
            st.session_state.pop(key, None)
    if target := st.session_state.pop(_NEXT_PAGE, ""):
        if target != page:
            st.switch_page(target, query_params=state.params(target))
        return
    name = state.view().lesson
    redirect = name == st.session_state.get(_OPENED_LESSON)
    if _VISITED not in st.session_state and name in course.BY_NAME:
        lesson = course.BY_NAME[name]
        typed_by_hand = st.query_params.keys() <= {"lesson", "model", "depth"}  # no view
        reveals_answer = page != lesson.question_page and not progress.is_revealed(name)
        redirect |= page == lesson.page and (typed_by_hand or reveals_answer)
    st.session_state[_VISITED] = True
    if not redirect or name not in course.BY_NAME:
        st.session_state.pop(_OPENED_LESSON, None)
        return
    lesson = course.BY_NAME[name]
    target = lesson.page if progress.is_revealed(name) else lesson.question_page
    if models.checkpoints():
        prepared_lesson = prepared(lesson)
        if prepared_lesson.model and prepared_lesson.reason:
            replaced = ReplacedModel(
                name, state.view().model, prepared_lesson.model_name, prepared_lesson.reason
            )
            st.session_state[_REPLACED] = replaced
        state.open_view(target, prepared_lesson.view_for(progress.is_revealed(name)))
        if prepared_lesson.is_pending:
            st.session_state[_AWAITED] = name
    else:
        state.set_fields(lesson=name)
    st.session_state.pop(_OPENED_LESSON, None)
    if target != page:
        st.switch_page(target, query_params=state.params(target))


def leave(page: str, lesson: str = "") -> None:
    """Close the lesson, or open another one, and go to a page; for callbacks."""
    state.change(lesson=lesson)
    st.session_state[_NEXT_PAGE] = page


def _open(name: str) -> None:
    # Short on purpose: a second click interrupts the callback at its next use of the session.
    replaced = st.session_state.get(_REPLACED)
    if replaced and replaced.lesson != name and state.view().model == replaced.used:
        state.change(lesson=name, model=replaced.chosen)
    else:
        state.change(lesson=name)
    st.session_state[_OPENED_LESSON] = name


def _picture(prepared_lesson: PreparedLesson) -> None:
    """Draw the picture of the question; if the browser makes it, wait for the question."""
    lesson, case = prepared_lesson.lesson, prepared_lesson.browser_case
    answered = progress.is_revealed(lesson.name)
    if case is None:
        if prepared_lesson.question and prepared_lesson.question.picture:
            data = pack({"picture": prepared_lesson.question.picture, "answered": answered}, [])
            views.component("lesson")(key=f"picture-{lesson.name}", data=data)
        return

    def open_view(answer: Question | str) -> None:
        """Open the lesson again, with the fields of the view that its question names."""
        if isinstance(answer, Question) and st.session_state.get(_AWAITED) == lesson.name:
            del st.session_state[_AWAITED]
            _open(lesson.name)

    browser_questions.draw(lesson, case, on_question=open_view, answered=answered)


def style() -> None:
    st.html(_STYLE)


def _header(prepared_lesson: PreparedLesson) -> None:
    """Draw the lesson's number in the course, the progress, and its title."""
    lesson = prepared_lesson.lesson
    lessons = course.group(lesson)
    n_done, n_right = progress.count(lessons)
    kind = "Extra lesson" if lesson.extra else "Lesson"
    place = f"{kind} {course.number(lesson)} of {len(lessons)}"
    st.caption(f"{place} · {quantities.right_answers(n_right, n_done)}" if n_done else place)
    st.progress(n_done / len(lessons))
    end = "" if lesson.title.endswith("?") else "."
    section = f"  :small[Paper, section {lesson.section}]" if lesson.section else ""
    st.markdown(f"**{lesson.title}{end}**{section}")


def _model_note(prepared_lesson: PreparedLesson) -> None:
    """Name the lesson's model if it is not the one that the visitor chose."""
    if prepared_lesson.model is None or prepared_lesson.is_pending:
        return
    name, replaced = prepared_lesson.lesson.name, st.session_state.get(_REPLACED)
    used = (
        f"This lesson uses the model {escaped(prepared_lesson.model.name)}, because the chosen "
        "model does not show the effect"
    )
    if prepared_lesson.reason:  # the page shows the chosen one
        st.caption(f"{used}: {escaped(prepared_lesson.reason)}.")
        lesson_button(
            name, f"Open the lesson with {escaped(prepared_lesson.model.name)}", "lesson-model"
        )
    elif replaced and (replaced.lesson, replaced.used) == (name, prepared_lesson.model_name):
        st.caption(
            f"{used}: {escaped(replaced.reason)}. Other lessons open with the chosen model again."
        )


def _draw_question(prepared_lesson: PreparedLesson) -> None:
    """Draw the introduction and the question."""
    st.markdown(prepared_lesson.lesson.text)
    if prepared_lesson.lesson.misprint:
        st.markdown(f"> Misprint: {prepared_lesson.lesson.misprint}")
    if prepared_lesson.question and prepared_lesson.question.exhibit:
        with st.container(key="lesson-exhibit"):
            st.markdown(prepared_lesson.question.exhibit)
    st.markdown(f":material/help: **{prepared_lesson.lesson.question}**")
    if prepared_lesson.lesson.in_place:
        st.markdown("Find the answer on this page, then press *Check*.")


def _options(prepared_lesson: PreparedLesson, question: Question) -> None:
    name = prepared_lesson.lesson.name
    with st.container(key="lesson-options", gap="xsmall"):
        for number, option in enumerate(question.options):
            st.button(
                option.label,
                key=f"guess-{name}-{number}",
                width="stretch",
                on_click=_answer,
                args=(name, option.label, number, number == question.correct),
            )


def _class_question(
    prepared_lesson: PreparedLesson, question: Question, part: progress.ClassPart
) -> None:
    """Draw the question in a class, which collects guesses until the teacher shows the answers."""
    name, labels = prepared_lesson.lesson.name, [option.label for option in question.options]
    if part is progress.ClassPart.REVEALED:
        _show_answer(prepared_lesson, question)
        progress.class_bars(name, labels, question.correct)
        return
    _draw_question(prepared_lesson)
    if part is progress.ClassPart.ASKING:
        progress.class_guesses(name, labels)
        st.button("Show the answers", key=f"show-{name}", type="primary", on_click=_give_up,
                  args=(name,))  # fmt: skip
    elif part is progress.ClassPart.WAITING:
        progress.class_waiting(name)
    else:
        _options(prepared_lesson, question)


def _show_answer(prepared_lesson: PreparedLesson, question: Question) -> None:
    """Draw whether the guess was right, and the answer. A guess that is none of the options,
    because it was made about another model, is not judged."""
    guess = progress.guess(prepared_lesson.lesson.name)
    label = guess.label if guess else ""
    if label == question.options[question.correct].label:
        st.success(f"**Correct.** {question.answer}", icon=":material/check:")
    else:
        feedback = next((each.feedback for each in question.options if each.label == label), "")
        verdict = f"**Not quite. You chose: {label}.** {feedback} " if feedback else ""
        st.info(f"{verdict}{question.answer}", icon=":material/lightbulb:")
    if task := prepared_lesson.lesson.task:
        run = {"here": f"task={task}", "run": ""}
        frame.page_link("pages/train.py", "Train such a model in this tab →", **run)


def _marked_options(prepared_lesson: PreparedLesson, question: Question) -> None:
    """Draw the options again, with marks on the correct one and the visitor's."""
    guess = progress.guess(prepared_lesson.lesson.name)
    for number, option in enumerate(question.options):
        mark = " ← your answer" if guess and guess.label == option.label else ""
        icon = "check" if number == question.correct else "remove"
        st.markdown(f":material/{icon}: {option.label}{mark}")


def _answer(name: str, label: str, number: int, right: bool) -> None:
    waits = progress.answer_in_class(name, number)
    progress.store(name, Guess(label, right, revealed=not waits))
    if not waits:
        _open(name)


def _search(
    prepared_lesson: PreparedLesson, question: Question, checked: tuple[bool, str] | None
) -> None:
    """Draw a question whose answer the visitor finds on the page, with buttons to check and give
    up."""
    name, is_revealed = (
        prepared_lesson.lesson.name,
        progress.is_revealed(prepared_lesson.lesson.name),
    )
    if not is_revealed:
        _draw_question(prepared_lesson)
    with st.container(horizontal=True, key="lesson-search"):
        kind: Literal["primary", "secondary"] = "secondary" if is_revealed else "primary"
        st.button("Check", key=f"check-{name}", type=kind, on_click=_check, args=(name,))
        if not is_revealed:
            st.button("Show the answer", key=f"show-{name}", on_click=_give_up, args=(name,))
    if checked:
        right, explanation = checked
        message = f"**Correct.** {explanation}" if right else explanation
        (st.success if right else st.warning)(message)
    if is_revealed:
        st.info(question.answer, icon=":material/lightbulb:")


def _check_page(prepared_lesson: PreparedLesson, page: str) -> tuple[bool, str] | None:
    """Return whether the page shows what the lesson asks for, and an explanation."""
    if (
        prepared_lesson.question is None
        or prepared_lesson.question.check is None
        or prepared_lesson.model is None
    ):
        return None
    if page != prepared_lesson.lesson.page or state.view().text != prepared_lesson.text:
        return False, "The page now shows something else. Click *Back to the lesson* first."
    name = prepared_lesson.lesson.name
    right, explanation = prepared_lesson.question.check(prepared_lesson.model, state.page_view())
    progress.store(name, Guess("", right, right or progress.is_revealed(name)))
    return right, explanation


def _check(name: str) -> None:
    state.change()
    st.session_state[_CHECK] = name


def _give_up(name: str) -> None:
    progress.show_class_answers(name)
    progress.store(name, Guess("", False))
    _open(name)


def _navigation(page: str, prepared_lesson: PreparedLesson) -> None:
    """Draw buttons to the lesson's own page, the neighbouring lessons and the list."""
    lesson, is_revealed = prepared_lesson.lesson, progress.is_revealed(prepared_lesson.lesson.name)
    own_page = lesson.page if is_revealed else lesson.question_page
    next_name, previous_name = course.following(lesson.name), course.previous(lesson.name)
    with st.container(horizontal=True, vertical_alignment="center", key="lesson-navigation"):
        is_other_text = (
            own_page != LIST_PAGE and not lesson.task and state.view().text != prepared_lesson.text
        )
        is_elsewhere = page != own_page or is_other_text
        if is_elsewhere and prepared_lesson.question:
            label = "Show the page →" if is_revealed and page == LIST_PAGE else "Back to the lesson"
            lesson_button(lesson.name, label, "lesson-own", primary=True)
        if previous_name:
            lesson_button(previous_name, "← Previous", "lesson-before")
        unavailable = prepared_lesson.question is None and not prepared_lesson.is_pending
        finished = (is_revealed or unavailable) and not is_elsewhere
        if next_name == course.END:
            kind: Literal["primary", "secondary"] = "primary" if finished else "secondary"
            st.button("Finish →", key="lesson-next", type=kind, on_click=leave,
                      args=(LIST_PAGE, course.END))  # fmt: skip
        else:
            label = "Next →" if finished else "Skip →"
            lesson_button(next_name, label, "lesson-next", primary=finished)
        if page != LIST_PAGE:
            st.button(
                "All lessons", key="lesson-all", type="tertiary", on_click=leave, args=(LIST_PAGE,)
            )
        st.button("Close", key="lesson-close", type="tertiary", on_click=leave, args=(page,))
