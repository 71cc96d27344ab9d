"""The kinds of requests to a model: what they contain and what answers them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from transformer.api import answers, lesson_questions
from transformer.api.models import Model
from transformer.api.requests import (
    CellsRequest,
    ExploreRequest,
    FileRequest,
    GlanceRequest,
    ImportanceRequest,
    ModelRequest,
    PartRequest,
    QuestionRequest,
    SentenceRequest,
    TraceRequest,
)


@dataclass(frozen=True)
class Kind:
    """A kind of requests: their shape and the function that answers them."""

    shape: type[Any]
    answer: Callable[[str, Model, Any], Any]


KINDS = {
    "ask/load": Kind(ModelRequest, answers.load),
    "ask/glance": Kind(GlanceRequest, answers.glance),
    "ask/explore": Kind(ExploreRequest, answers.explore),
    "ask/part": Kind(PartRequest, answers.part),
    "ask/change": Kind(SentenceRequest, answers.change),
    "ask/file": Kind(FileRequest, answers.file),
    "ask/importance": Kind(ImportanceRequest, answers.importance),
    "ask/cells": Kind(CellsRequest, answers.cells),
    "ask/case": Kind(SentenceRequest, answers.case),
    "ask/question": Kind(QuestionRequest, lesson_questions.question),
    "translate": Kind(SentenceRequest, answers.translate),
    "trace": Kind(TraceRequest, answers.trace),
}
"""All kinds by name, which is the path below `/api/` on the server."""
