"""The lesson's card beside the page: its question, a guess, what was right, and the ways on."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import streamlit as st

from transformer.ui import models, state
from transformer.ui.kit import views
from transformer.ui.lessons import course, progress, sheet, together
from transformer.ui.lessons.lesson import LIST, Question, escaped
from transformer.ui.lessons.prepared import PreparedLesson, prepared
from transformer.ui.lessons.progress import Guess

_WANTED, _LEAVE, _SEEN = "lesson_wanted", "lesson_leave", "lesson_opened"
_CHECK = "lesson_check"
# Of the session: a lesson whose view is to be opened, a page to go to, whether any page was opened,
# and the lesson in which somebody asks whether this is it.
_STYLE = Path(__file__).with_name("lessons.css")


def show(page: str) -> str | None:
    """Draws the lesson that the view is in, if it is in one; a sentence where there is none such.

    Its question comes before its answer; on another page than its own there is a way back.
    """
    name = state.view().lesson
    if name == course.END and page != LIST:
        state.normalise(lesson="")  # it is over
    if not name or name == course.END:
        return None
    if name not in course.BY_NAME:
        state.normalise(lesson="")
        return f"There is no lesson {name!r}; the first one is {course.LESSONS[0].name!r}."
    one = prepared(course.BY_NAME[name])
    style()
    asked = st.session_state.pop(_CHECK, "") == name
    checked = _checked(one, page) if asked else None
    with st.container(border=True, key="lesson"):
        _head(one)
        if page != LIST:
            with st.container(key="lesson-see"):  # lessons.css shows it on a small screen alone
                views.component("seeit")(key=f"see-{name}")
        if one.question is None:
            _asking(one)
            st.info(f"No model here shows it: {escaped(one.missing)}.", icon=":material/block:")
        elif one.question.found is not None:
            _search(one, one.question, checked)
        elif (as_class := together.part(name)) is not None:
            _together(one, one.question, as_class)
        elif progress.over(name):
            _verdict(one, one.question)
        else:
            _asking(one)
            _choice(one, one.question)
        _ways(page, one)
        if one.question and progress.over(name):
            with st.expander("The question again"):
                _asking(one)
                _marked(one, one.question)
    return None


def go(
    name: str,
    label: str,
    key: str,
    *,
    primary: bool = False,
    width: int | Literal["content", "stretch"] = "content",
) -> None:
    """A button that opens a lesson's prepared view; `follow` then goes to its page."""
    kind: Literal["primary", "secondary"] = "primary" if primary else "secondary"
    st.button(label, key=key, type=kind, width=width, on_click=_open, args=(name,))


def follow(page: str) -> None:
    """Before anything is drawn: on to the page of the lesson that was just chosen, or the list.

    An address of when lessons were numbers leads to the one that has its matter now, and one of
    somebody who had guessed already to the question.
    """
    if left := st.session_state.pop(_LEAVE, ""):
        if left != page:
            st.switch_page(left, query_params=state.params(left))
        return
    name = state.view().lesson
    wanted = name == st.session_state.get(_WANTED) or name in course.OLD
    name = course.OLD.get(name, name)
    if _SEEN not in st.session_state and name in course.BY_NAME:
        lesson = course.BY_NAME[name]
        bare = st.query_params.keys() <= {"lesson", "model"}  # written by hand: no view in it
        early = page != lesson.asked_on and not progress.over(name)
        wanted |= page == lesson.page and (bare or early)
    st.session_state[_SEEN] = True
    if not wanted or name not in course.BY_NAME:
        st.session_state.pop(_WANTED, None)
        return
    lesson = course.BY_NAME[name]
    to = lesson.page if progress.over(name) else lesson.asked_on
    if models.checkpoints():
        state.open_view(to, prepared(lesson).opened(progress.over(name)))
    else:
        state.normalise(lesson=name)
    st.session_state.pop(_WANTED, None)
    if to != page:
        st.switch_page(to, query_params=state.params(to))


def leave(page: str, lesson: str = "") -> None:
    """Close the lesson, or be in another one, and go to a page; for callbacks."""
    state.change(lesson=lesson)
    st.session_state[_LEAVE] = page


def _open(name: str) -> None:
    # Only what is wanted: whoever presses twice ends this at its next word with the session.
    state.change(lesson=name)
    st.session_state[_WANTED] = name


def style() -> None:
    st.html(_STYLE)


def _head(one: PreparedLesson) -> None:
    """Where in the course this is."""
    lesson = one.lesson
    walk = course.group(lesson)
    done, right = progress.count(walk)
    more = "More, " if lesson.more else "Lesson "
    so_far = f" · {right} of {done} right so far" if done else ""
    st.caption(f"{more}{course.place(lesson)} of {len(walk)}{so_far}")
    st.progress(done / len(walk))
    end = "" if lesson.title.endswith("?") else "."
    section = f"  :small[Paper, section {lesson.section}]" if lesson.section else ""
    st.markdown(f"**{lesson.title}{end}**{section}")


def _asking(one: PreparedLesson) -> None:
    """What is said before the question, and the question."""
    st.markdown(one.lesson.text)
    if one.lesson.misprint:
        st.markdown(f"> As some notes have it: {one.lesson.misprint}")
    if one.question and one.question.exhibit:
        with st.container(key="lesson-exhibit"):
            st.markdown(one.question.exhibit)
    st.markdown(f":material/help: **{one.lesson.question}**")
    if one.asked_of and one.missing:
        name = escaped(one.asked_of.name)
        st.caption(f"Asked of {name}; of the model you looked at, {escaped(one.missing)}.")


def _choice(one: PreparedLesson, question: Question) -> None:
    name = one.lesson.name
    with st.container(key="lesson-options", gap="xsmall"):
        for number, option in enumerate(question.options):
            st.button(
                option.label,
                key=f"guess-{name}-{number}",
                width="stretch",
                on_click=_guess,
                args=(name, option.label, number, number == question.right),
            )


def _together(one: PreparedLesson, question: Question, part: together.ClassPart) -> None:
    """The question as a class answers it: the guesses come together, then all see them."""
    name, labels = one.lesson.name, [option.label for option in question.options]
    if part is together.ClassPart.SHOWN:
        _verdict(one, question)
        together.bars(name, labels, question.right)
        return
    _asking(one)
    if part is together.ClassPart.ASKING:
        together.filling(name, labels)
        st.button("Show the answers", key=f"show-{name}", type="primary", on_click=_give_up,
                  args=(name,))  # fmt: skip
    elif part is together.ClassPart.WAITING:
        together.waiting(name)
    else:
        _choice(one, question)


def _verdict(one: PreparedLesson, question: Question) -> None:
    """Right, or why not; and the answer. What was asked of another model says the answer alone."""
    guessed = progress.guess(one.lesson.name)
    label = guessed.label if guessed else ""
    if label == question.options[question.right].label:
        st.success(f"**Right.** {question.answer}", icon=":material/check:")
        return
    why = next((each.why_not for each in question.options if each.label == label), "")
    said = f"**Not {label}.** {why} " if why else ""
    st.info(f"{said}{question.answer}", icon=":material/lightbulb:")


def _marked(one: PreparedLesson, question: Question) -> None:
    """The answers again, with the right one and the one that was taken."""
    guessed = progress.guess(one.lesson.name)
    for number, option in enumerate(question.options):
        yours = " ← your guess" if guessed and guessed.label == option.label else ""
        sign = "check" if number == question.right else "remove"
        st.markdown(f":material/{sign}: {option.label}{yours}")


def _guess(name: str, label: str, number: int, right: bool) -> None:
    waits = together.answer(name, number)
    progress.keep(name, Guess(label, right, over=not waits))
    if not waits:
        _open(name)


def _search(one: PreparedLesson, question: Question, checked: tuple[bool, str] | None) -> None:
    """Something is to be found on the page: asked as often as one likes, or given up."""
    name, over = one.lesson.name, progress.over(one.lesson.name)
    if not over:
        _asking(one)
    with st.container(horizontal=True, key="lesson-search"):
        kind: Literal["primary", "secondary"] = "secondary" if over else "primary"
        st.button("Is it this?", key=f"check-{name}", type=kind, on_click=_ask, args=(name,))
        if not over:
            st.button("Show me", key=f"show-{name}", on_click=_give_up, args=(name,))
    if checked:
        right, said = checked
        (st.success if right else st.warning)(f"{'**Right.** ' if right else ''}{said}")
    if over:
        st.info(question.answer, icon=":material/lightbulb:")


def _checked(one: PreparedLesson, page: str) -> tuple[bool, str] | None:
    """Whether what is chosen on the page is what was to be found, and why (not)."""
    if one.question is None or one.question.found is None or one.asked_of is None:
        return None
    if page != one.lesson.page or state.view().text != one.text:
        return False, "The page shows something else now; go back to the lesson's view first."
    right, said = one.question.found(one.asked_of, state.here())
    progress.keep(one.lesson.name, Guess("", right, right or progress.over(one.lesson.name)))
    return right, said


def _ask(name: str) -> None:
    state.change()
    st.session_state[_CHECK] = name


def _give_up(name: str) -> None:
    together.show(name)
    progress.keep(name, Guess("", False))
    _open(name)


def _ways(page: str, one: PreparedLesson) -> None:
    lesson, done = one.lesson, progress.over(one.lesson.name)
    own = lesson.page if done else lesson.asked_on
    after, earlier = course.following(lesson.name), course.before(lesson.name)
    with st.container(horizontal=True, vertical_alignment="center", key="lesson-ways"):
        away = page != own or (own != LIST and not lesson.reads and state.view().text != one.text)
        if away and one.question:
            label = "See it →" if done and page == LIST else "Back to its view"
            go(lesson.name, label, "lesson-own", primary=True)
        if earlier:
            go(earlier, "← Before", "lesson-before")
        ready = (done or one.question is None) and not away
        if after == course.END:
            kind: Literal["primary", "secondary"] = "primary" if ready else "secondary"
            st.button("To the end →", key="lesson-next", type=kind, on_click=leave,
                      args=(LIST, course.END))  # fmt: skip
        else:
            label = "Next →" if ready else "Skip →"
            go(after, label, "lesson-next", primary=ready)
        if page != LIST:
            st.button(
                "All lessons", key="lesson-all", type="tertiary", on_click=leave, args=(LIST,)
            )
        st.button("Close", key="lesson-close", type="tertiary", on_click=leave, args=(page,))
        if one.question:
            sheet.one(lesson)
