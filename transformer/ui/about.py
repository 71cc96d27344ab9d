"""What a model reads and writes, in words for the pages: its languages, or its task."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from transformer.checkpoint import CheckpointError, load_languages
from transformer.languages import Languages, called
from transformer.training.snapshots import Snapshots
from transformer.ui.address import EXAMPLES

SAME = {
    "en": EXAMPLES,
    "fr": (
        "Je suis étudiant.",
        "Elle n'a jamais vu la mer.",
        "S'il pleut, nous resterons à la maison.",
        "Qui t'a donné ce parapluie rouge ?",
    ),
    "de": (
        "Ich bin Student.",
        "Sie hat das Meer noch nie gesehen.",
        "Wenn es regnet, bleiben wir zu Hause.",
        "Wer hat dir diesen roten Regenschirm gegeben?",
    ),
}
"""The examples, one after the other, in the languages that we have them in."""
MORE = {("en", "de"): ("He says that he has bought a house.",)}
"""Examples for one pair of languages: here a verb that waits for the end."""


@dataclass(frozen=True)
class About:
    """What a model reads and writes.

    Attributes:
        kind: models of one kind can read one another's texts; "" for English, and for whatever
            no card tells us of.
        source, target: what the two sides are called.
        examples: texts to begin with.
        hint: how to write one.
        languages: codes of the two sides; None for a task of symbols and where nobody says.
    """

    kind: str = ""
    source: str = "Source"
    target: str = "Target"
    examples: tuple[str, ...] = EXAMPLES
    hint: str = "Type a sentence"
    languages: Languages | None = None

    @property
    def heading(self) -> str:
        """Above a translation; the text takes the place of the braces."""
        return f"“{{}}” in {self.target}" if self.languages else "What it makes of “{}”"

    @property
    def writes(self) -> str:
        """The code of the language that it writes; "" if there is none or nobody says."""
        return self.languages[1] if self.languages else ""

    def translation(self, text: str) -> str:
        """A right translation of one of the examples; "" if we have none."""
        if self.languages is None or self.kind not in ("", self.languages[0]):
            return ""
        sources, targets = (SAME.get(code, ()) for code in self.languages)
        return dict(zip(sources, targets, strict=False)).get(text, "")


def about(path: Path) -> About:
    """What the model in the checkpoint folder `path` reads and writes."""
    config = run_config(path)
    try:
        languages = load_languages(path)
    except CheckpointError:  # `load` says what is wrong with the folder; a card is no reason to end
        languages = None
    data = config.get("data")
    task = str(data.get("task", "")) if isinstance(data, Mapping) else ""
    if not task and languages:
        return _of_languages(languages)
    if not config:
        return About()
    examples = _examples(config, path.parent)
    if task == "french":
        hint = "the black cat sleeps ."
        return About(task, "English", "French", examples, hint, languages or ("en", "fr"))
    hint = "Symbols with blanks between them" if task else "Type a sentence"
    return About(task or path.parent.name, examples=examples, hint=hint)


def _of_languages(languages: Languages) -> About:
    src, tgt = languages
    return About(
        kind="" if src == "en" else src,
        source=called(src),
        target=called(tgt),
        examples=SAME.get(src, ()) + MORE.get(languages, ()),
        languages=languages,
    )


def _examples(config: Mapping[str, Any], run: Path) -> tuple[str, ...]:
    """A few sentences that the run's own model knows."""
    sources: list[str] = []
    with suppress(TypeError, ValueError, KeyError):  # what stands in a file may be anything
        sources = [str(src) for src, _ in config.get("probes") or ()]
        if not sources:
            looks = Snapshots(run).examples()
            sources = [str(example["src"]) for look in looks[:1] for example in look["examples"]]
    return tuple(dict.fromkeys(sources))[:4]


def run_config(path: Path) -> Mapping[str, Any]:
    """The config.json of the run that the checkpoint is of; empty for one that stands alone."""
    if path.name != "checkpoint":
        return {}
    file = path.parent / "config.json"
    try:
        return _read_config(file, file.stat().st_mtime_ns)
    except (OSError, ValueError, RecursionError):
        return {}


@lru_cache(maxsize=1024)
def _read_config(file: Path, stamp: int) -> Mapping[str, Any]:
    found = json.loads(file.read_text(encoding="utf-8"))
    return MappingProxyType(found if isinstance(found, dict) else {})
