"""Descriptions of models for the pages: the languages or the task of a checkpoint."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transformer.checkpoint import CheckpointError, load_languages
from transformer.text.languages import Languages, language_name
from transformer.text.mistakes import MISTAKES, Mistake
from transformer.text.sentences import EXAMPLE, EXAMPLES, EXTRA_EXAMPLES, PARALLEL_EXAMPLES
from transformer.training.run_config import RunConfig, TaskRun
from transformer.training.run_folder import RunFolder


@dataclass(frozen=True)
class ModelDescription:
    """What a model reads and writes.

    Attributes:
        kind: models of the same kind read the same texts: a task, a language code, or "" for
            English and for models without a description.
        source, target: names of the two languages or sides.
        examples: texts to start with.
        placeholder: of the text field.
        languages: codes of source and target; None for tasks of symbols and if unknown.
        mistakes: sentences that are too hard for a small model.
    """

    kind: str = ""
    source: str = "Source"
    target: str = "Target"
    examples: tuple[str, ...] = EXAMPLES
    placeholder: str = "Type a sentence"
    languages: Languages | None = None
    mistakes: tuple[Mistake, ...] = ()

    @property
    def default_text(self) -> str:
        """The text with which pages open: `EXAMPLE` if it is among the examples."""
        return EXAMPLE if EXAMPLE in self.examples or not self.examples else self.examples[0]

    @property
    def target_code(self) -> str:
        """Code of the target language; "" if there is none or it is unknown."""
        return self.languages[1] if self.languages else ""

    def browser_data(self) -> dict[str, Any]:
        """Return what the browser's text field needs to know, in the app and on the static site."""
        return {
            "kind": self.kind,
            "reads": self.source,
            "writes": self.target,
            "languages": list(self.languages or ("", "")),
            "hint": self.placeholder,
            "examples": list(self.examples),
            "mistakes": [
                {"text": each.text, "wrong": each.wrong, "note": each.note}
                for each in self.mistakes
            ],
        }

    def translation(self, text: str) -> str:
        """Return a reference translation of one of the examples; "" if there is none."""
        if self.languages is None or self.kind not in ("", self.languages[0]):
            return ""
        sources, targets = (PARALLEL_EXAMPLES.get(code, ()) for code in self.languages)
        return dict(zip(sources, targets, strict=False)).get(text, "")


def describe_model(path: Path) -> ModelDescription:
    """Describe what the model in the checkpoint folder `path` reads and writes."""
    config = run_config(path)
    try:
        languages = load_languages(path)
    except CheckpointError:  # `load` reports what is wrong with the folder
        languages = None
    task = config.task if isinstance(config, TaskRun) else ""
    if not task and languages:
        return _describe_translator(languages)
    if config is None:
        return ModelDescription()
    examples = _examples(config, path.parent)
    if task == "french":
        placeholder = "the black cat sleeps ."
        return ModelDescription(
            task, "English", "French", examples, placeholder, languages or ("en", "fr")
        )
    placeholder = "Symbols separated by spaces" if task else "Type a sentence"
    return ModelDescription(task or path.parent.name, examples=examples, placeholder=placeholder)


def _describe_translator(languages: Languages) -> ModelDescription:
    src, tgt = languages
    return ModelDescription(
        kind="" if src == "en" else src,
        source=language_name(src),
        target=language_name(tgt),
        examples=PARALLEL_EXAMPLES.get(src, ()) + EXTRA_EXAMPLES.get(languages, ()),
        languages=languages,
        mistakes=MISTAKES.get(languages, ()),
    )


def _examples(config: RunConfig, run: Path) -> tuple[str, ...]:
    """Return a few sentences from the run's own data."""
    sources = [src for src, _ in config.probes]
    if not sources:
        with suppress(TypeError, ValueError, KeyError):  # the file may contain anything
            snapshots = RunFolder(run).examples()
            sources = [
                str(example["src"])
                for snapshot in snapshots[:1]
                for example in snapshot["examples"]
            ]
    return tuple(dict.fromkeys(sources))[:4]


def run_config(path: Path) -> RunConfig | None:
    """Return the configuration of the run that the checkpoint belongs to; None if it has no run."""
    run = RunFolder(path.parent)
    return run.readable_config() if path.name == "checkpoint" and run.exists else None
