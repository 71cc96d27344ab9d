"""What a model reads and writes, in words for the pages: its languages, or its task."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from transformer.checkpoint import CheckpointError, load_languages
from transformer.languages import Languages, language_name
from transformer.run_config import RunConfig, TaskRun
from transformer.training.run import RunFolder
from transformer.training.snapshots import Snapshots
from transformer.ui.address import EXAMPLE, EXAMPLES

PARALLEL_EXAMPLES = {
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
EXTRA_EXAMPLES = {("en", "de"): ("He says that he has bought a house.",)}
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
    def first(self) -> str:
        """The text that pages open with: everybody's example if it is one of this model's."""
        return EXAMPLE if EXAMPLE in self.examples or not self.examples else self.examples[0]

    @property
    def writes(self) -> str:
        """The code of the language that it writes; "" if there is none or nobody says."""
        return self.languages[1] if self.languages else ""

    def translation(self, text: str) -> str:
        """A right translation of one of the examples; "" if we have none."""
        if self.languages is None or self.kind not in ("", self.languages[0]):
            return ""
        sources, targets = (PARALLEL_EXAMPLES.get(code, ()) for code in self.languages)
        return dict(zip(sources, targets, strict=False)).get(text, "")


def about(path: Path) -> About:
    """What the model in the checkpoint folder `path` reads and writes."""
    config = run_config(path)
    try:
        languages = load_languages(path)
    except CheckpointError:  # `load` says what is wrong with the folder; a card is no reason to end
        languages = None
    task = config.task if isinstance(config, TaskRun) else ""
    if not task and languages:
        return _of_languages(languages)
    if config is None:
        return About()
    examples = _examples(config, path.parent)
    if task == "french":
        hint = "the black cat sleeps ."
        return About(task, "English", "French", examples, hint, languages or ("en", "fr"))
    hint = "Symbols separated by spaces" if task else "Type a sentence"
    return About(task or path.parent.name, examples=examples, hint=hint)


def _of_languages(languages: Languages) -> About:
    src, tgt = languages
    return About(
        kind="" if src == "en" else src,
        source=language_name(src),
        target=language_name(tgt),
        examples=PARALLEL_EXAMPLES.get(src, ()) + EXTRA_EXAMPLES.get(languages, ()),
        languages=languages,
    )


def _examples(config: RunConfig, run: Path) -> tuple[str, ...]:
    """A few sentences that the run's own model knows."""
    sources = [src for src, _ in config.probes]
    if not sources:
        with suppress(TypeError, ValueError, KeyError):  # what stands in a file may be anything
            looks = Snapshots(run).examples()
            sources = [str(example["src"]) for look in looks[:1] for example in look["examples"]]
    return tuple(dict.fromkeys(sources))[:4]


def run_config(path: Path) -> RunConfig | None:
    """What was asked of the run that the checkpoint is of; None for one that stands alone."""
    run = RunFolder(path.parent)
    return run.title_and_owner() if path.name == "checkpoint" and run.exists else None
