"""Commands, runs and measurements with a memory limit that the operating system enforces."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.attack.commands_and_calls import run_command
from tests.attack.short_runs import (
    STEPS,
    config,
    losses,
    new_run_folder,
    small_checkpoint,
    uninterrupted_run,
)
from tests.attack.target import Attack, ChildResult, run_forked
from transformer.analysis.corpora import Corpus
from transformer.analysis.reports import report
from transformer.inference import Translator
from transformer.jobs.compute_process import run_function
from transformer.jobs.results import FAILED, REQUEST, RESULT, read_or_empty
from transformer.text.files import write_json
from transformer.training.train_folder import train_run

TIMEOUT_SECONDS = 120.0


@contextmanager
def start_attack(folder: Path) -> Iterator[Attack]:
    """Attack commands, runs and measurements with little memory."""
    small_checkpoint(folder)
    uninterrupted_run(STEPS)  # imports all modules before the fork, like a worker's first run
    corpus = Corpus.from_lines([f"I see {n} cats ." for n in range(200)], "x")
    settings = {"d_model": 128, "d_ff": 512, "n_layers": 2, "batch_tokens": 4096}
    (folder / "many.txt").write_text("I see a cat and a dog .\n" * 40)
    (folder / "pairs.tsv").write_text("".join(f"I see {n} .\tJe vois {n} .\n" for n in range(60)))
    commands = {
        "translate": ["translate", "--checkpoint", "tiny", "--beam", "16", "--max-len", "30"],
        "analyse": ["analyse", "tiny", "--corpus", "many.txt"],
        "evaluate": ["evaluate", "tiny", "pairs.tsv", "--batch", "60", "--max-len", "30"],
        "inspect": ["inspect", "tiny"],
    }
    counts = {"enough": 0, "too little": 0}

    def check_command(free_bytes: int, name: str) -> None:
        stdin = (folder / "many.txt").read_bytes() if name == "translate" else b""
        check_result(
            run_forked(
                lambda: run_command(commands[name], stdin, folder), TIMEOUT_SECONDS, free_bytes
            )
        )

    def check_run(free_bytes: int) -> None:
        run = new_run_folder(folder / "run", config(3, **settings))
        try:
            result = run_forked(lambda: train_run(run.path), TIMEOUT_SECONDS, free_bytes)
            if result.value == "failed":
                assert "out of memory" in run.state()["reason"], run.state()
                counts["too little"] += 1
            else:
                check_result(result)
            assert losses(run) or result.value != "finished"
        finally:
            shutil.rmtree(run.path)

    def check_measurement(free_bytes: int) -> None:
        result_folder = folder / "measurement"
        result_folder.mkdir()
        try:
            options: dict[str, Any] = {"hash": "", "what": "heads", "options": {}}
            request = {"checkpoint": str(folder / "tiny"), **options, "corpus": corpus.to_dict()}
            write_json(result_folder / REQUEST, request)
            check_result(
                run_forked(
                    lambda: run_function(result_folder, measure), TIMEOUT_SECONDS, free_bytes
                )
            )
            result = read_or_empty(result_folder / RESULT)
            failed = read_or_empty(result_folder / FAILED)
            assert result or failed.get("reason"), "neither a result nor a reason"
            counts["too little"] += bool(failed)
        finally:
            shutil.rmtree(result_folder)

    def check_result(result: ChildResult) -> None:
        assert not result.error, result.error
        assert not result.timed_out, "the process did not end"
        assert result.code == 0, f"exit code {result.code}"
        counts["enough"] += 1

    def try_input(rng: random.Random) -> None:
        free_bytes = int(rng.choice((1e6, 1e7, 1e8)) * rng.random())
        checks: tuple[Callable[[], None], ...] = (
            lambda: check_command(free_bytes, rng.choice([*commands])),
            lambda: check_run(free_bytes),
            lambda: check_measurement(free_bytes),
        )
        rng.choice(checks)()

    yield Attack(
        try_input, lambda: f"{counts['too little']} runs and measurements had too little memory"
    )


def measure(request: Mapping[str, Any], progress: Callable[..., None]) -> dict[str, Any]:
    """Measure heads over a corpus, as the Heads lab does."""
    translator = Translator.load(request["checkpoint"])
    corpus = Corpus.from_dict(request["corpus"])
    return report(translator, corpus, request["what"], {}, progress).to_dict()
