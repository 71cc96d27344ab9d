"""Memory that really ends, held by the system, under commands, runs and passes."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.attack.door import Attack, Ended, forked
from tests.attack.training import STEPS, config, fresh, losses, small_checkpoint, undisturbed
from tests.attack.typed import typed
from transformer.analysis.corpora import Corpus
from transformer.analysis.reports import report
from transformer.inference import Translator
from transformer.jobs.compute_process import run_function
from transformer.jobs.results import FAILED, REQUEST, RESULT, read_or_empty
from transformer.text.files import write_json
from transformer.training.train_folder import train_run

PATIENCE = 120.0


@contextmanager
def opened(folder: Path) -> Iterator[Attack]:
    """Commands, runs and passes that are given too little memory, held by the system."""
    small_checkpoint(folder)
    undisturbed(STEPS)  # what is imported late is imported now, as a warm worker has it
    corpus = Corpus.of_lines([f"I see {n} cats ." for n in range(200)], "x")
    small = {"d_model": 128, "d_ff": 512, "n_layers": 2, "batch_tokens": 4096}
    (folder / "many.txt").write_text("I see a cat and a dog .\n" * 40)
    (folder / "pairs.tsv").write_text("".join(f"I see {n} .\tJe vois {n} .\n" for n in range(60)))
    words = {
        "translate": ["translate", "--checkpoint", "tiny", "--beam", "16", "--max-len", "30"],
        "analyse": ["analyse", "tiny", "--corpus", "many.txt"],
        "evaluate": ["evaluate", "tiny", "pairs.tsv", "--batch", "60", "--max-len", "30"],
        "inspect": ["inspect", "tiny"],
    }
    ends = {"enough": 0, "too little": 0}

    def a_command(free_bytes: int, name: str) -> None:
        stdin = (folder / "many.txt").read_bytes() if name == "translate" else b""
        note(forked(lambda: typed(words[name], stdin, folder), PATIENCE, free_bytes))

    def a_run(free_bytes: int) -> None:
        run = fresh(folder / "run", config(3, **small))
        try:
            ended = forked(lambda: train_run(run.path), PATIENCE, free_bytes)
            if ended.value == "failed":
                assert "out of memory" in run.state()["reason"], run.state()
                ends["too little"] += 1
            else:
                note(ended)
            assert losses(run) or ended.value != "finished"
        finally:
            shutil.rmtree(run.path)

    def a_pass(free_bytes: int) -> None:
        result_folder = folder / "pass"
        result_folder.mkdir()
        try:
            ask = {"checkpoint": str(folder / "tiny"), "hash": "", "what": "heads", "options": {}}
            write_json(result_folder / REQUEST, {**ask, "corpus": corpus.to_dict()})
            note(forked(lambda: run_function(result_folder, hungry), PATIENCE, free_bytes))
            result, failed = (
                read_or_empty(result_folder / RESULT),
                read_or_empty(result_folder / FAILED),
            )
            assert result or failed.get("reason"), "neither a result nor a reason"
            ends["too little"] += bool(failed)
        finally:
            shutil.rmtree(result_folder)

    def note(ended: Ended) -> None:
        assert not ended.error, ended.error
        assert not ended.late, "it never ended"
        assert ended.code == 0, f"ended by {ended.code}"
        ends["enough"] += 1

    def once(chance: random.Random) -> None:
        free_bytes = int(chance.choice((1e6, 1e7, 1e8)) * chance.random())
        uses: tuple[Callable[[], None], ...] = (
            lambda: a_command(free_bytes, chance.choice([*words])),
            lambda: a_run(free_bytes),
            lambda: a_pass(free_bytes),
        )
        chance.choice(uses)()

    yield Attack(once, lambda: f"{ends['too little']} runs and passes said that it was too little")


def hungry(ask: Mapping[str, Any], progress: Callable[..., None]) -> dict[str, Any]:
    """A real measurement."""
    translator = Translator.load(ask["checkpoint"])
    corpus = Corpus.from_dict(ask["corpus"])
    return report(translator, corpus, ask["what"], {}, progress).to_dict()
