"""Lessons: a way through all pages, a question on each step."""

from __future__ import annotations

import streamlit as st

from transformer.ui import frame, state
from transformer.ui.lessons import LESSONS, go
from transformer.ui.pages import PAGES

with frame.workshop("pages/lessons.py"):
    frame.lead(
        "A way through *Attention Is All You Need*, one idea a step, on real numbers. Each lesson "
        "opens a prepared view with a few words above it and a question that the view answers. "
        "Begin anywhere; the address of every step can be shared."
    )
    now = state.view().lesson
    go(now or 1, f"Go on with lesson {now}" if now else "Begin", "begin", primary=True)
    with st.container(key="course"):
        for number, lesson in enumerate(LESSONS, start=1):
            with st.container(horizontal=True, vertical_alignment="center"):
                go(number, f"{number}", f"open-{number}", width=56)
                mistake = " · **spot the mistake**" if lesson.misprint else ""
                about = f"section {lesson.section} · {PAGES[lesson.page].title}{mistake}"
                st.markdown(f"**{lesson.title}**  \n:small[{about}]")
