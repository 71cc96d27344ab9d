"""The formulas of lessons use only the commands that the client draws."""

from __future__ import annotations

import re

from transformer.figures.modules import CLIENT
from transformer.lessons.course import LESSONS

SCRIPT = CLIENT / "common/inline-markdown.js"


def test_every_formula_can_be_drawn() -> None:
    script = SCRIPT.read_text(encoding="utf-8")
    block = script.partition("const COMMANDS")[2].partition("};")[0]
    commands = {*re.findall(r"^  (\w+):", block, re.M), "sqrt", "hat"}
    assert "cdot" in commands
    for lesson in LESSONS:
        for text in (lesson.title, lesson.text, lesson.misprint, lesson.question, lesson.takeaway):
            assert text.count("$") % 2 == text.count("**") % 2 == 0
            for formula in re.findall(r"\$([^$]*)\$", text):
                assert {*re.findall(r"\\([a-zA-Z]+)", formula)} <= commands, formula
                assert formula.count("{") == formula.count("}")
