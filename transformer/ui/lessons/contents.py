"""The list of all lessons: where one stands, what is to come, and the sheets to print."""

from __future__ import annotations

from itertools import groupby

import streamlit as st

from transformer.ui import frame
from transformer.ui.lessons import course, progress, sheet
from transformer.ui.lessons.bar import go, style
from transformer.ui.lessons.lesson import Lesson
from transformer.ui.pages import PAGES


def show(now: str) -> None:
    """All of them, each a button to it; `now` is the one that is looked at, if any."""
    style()
    done, right = progress.count(course.CORE)
    if now == course.END:
        end()
    elif not now:
        frame.lead(
            "Guess first, then see: each step asks, waits, and shows on the model's own numbers "
            f"what is right. {len(course.CORE)} steps, about "
            f"{round(course.minutes(course.CORE))} minutes; the address of each can be shared."
        )
        to_come = [one for one in course.CORE if not progress.over(one.name)]
        if to_come and done:
            st.markdown(f"{done} of {len(course.CORE)} steps done, {right} right at first.")
        label = f"Go on: {to_come[0].title} →" if to_come and done else "Begin →"
        go((to_come or course.CORE)[0].name, label, "begin", primary=True)
    with st.container(key="course"), st.expander("All lessons", expanded=not now):
        _walk(course.CORE)
        st.markdown(
            f"#### For those who want more  \n:small[{round(course.minutes(course.MORE))} minutes]"
        )
        _walk(course.MORE)
        sheet.downloads()


def _walk(lessons: tuple[Lesson, ...]) -> None:
    for part, steps in groupby(lessons, key=lambda one: one.part):
        st.markdown(f"**{part}**")
        for one in steps:
            with st.container(horizontal=True, vertical_alignment="center", key=f"step-{one.name}"):
                go(one.name, str(course.place(one)), f"open-{one.name}", width=56)
                st.markdown(f"{one.title}{_mark(one)}  \n:small[{_about(one)}]")


def _mark(lesson: Lesson) -> str:
    found = progress.guess(lesson.name)
    if found is None or not found.over:
        return ""
    return " :material/check: right" if found.right else " :material/remove: seen"


def _about(lesson: Lesson) -> str:
    minutes = f"{lesson.minutes:g} minute{'' if lesson.minutes == 1 else 's'}"
    section = f" · section {lesson.section}" if lesson.section else ""
    mistake = " · **spot the mistake**" if lesson.misprint else ""
    return f"{minutes} · {PAGES[lesson.page].title}{section}{mistake}"


def end() -> None:
    """What was learned, how much was right, and where to go from here."""
    done, right = progress.count(course.CORE)
    st.subheader("The end of the course", anchor=False)
    left = [one for one in course.CORE if not progress.over(one.name)]
    st.markdown(f"{done} of {len(course.CORE)} steps done, **{right} right at the first guess**.")
    if left:
        go(left[0].name, f"One is left: {left[0].title} →" if len(left) == 1 else
           f"{len(left)} are left, the first: {left[0].title} →", "left")  # fmt: skip
    st.markdown("What there was to see:")
    st.markdown("\n".join(f"- {one.learnt}" for one in course.CORE))
    st.markdown("Where to go from here:")
    with st.container(horizontal=True, key="onward"):
        go(course.MORE[0].name, f"{len(course.MORE)} more steps", "more", primary=True)
        frame.link("pages/attention.py", "A sentence of your own →", layer=-1, head=-1, pin="")
        frame.link("pages/train.py", "Train a model →", run="", race="")
        frame.link("pages/findings.py", "What papers found →")
    more, more_right = progress.count(course.MORE)
    if more:
        st.markdown(f"Of those: {more} of {len(course.MORE)} done, {more_right} right.")
    st.button("Forget my guesses", key="anew", on_click=progress.start_anew)
