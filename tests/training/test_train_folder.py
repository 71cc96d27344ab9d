"""`train_run`: from a config.json to a checkpoint that every page can load."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from tests.training.conftest import losses
from transformer.inference import Translator
from transformer.text.files import write_json
from transformer.training.recipe import make_run_config
from transformer.training.run_folder import RunFolder, TrainingError, as_training_error
from transformer.training.train_folder import train_run

SETTINGS: dict[str, Any] = {"d_model": 16, "n_layers": 1, "n_heads": 2, "d_ff": 32} | {
    "steps": 6,
    "batch_tokens": 300,
    "warmup": 5,
    "precision": "fp32",
    "save_every": 3,
}
OPTIONS = {"n_train": 300, "n_valid": 20}


def make_run(folder: Path, task: str | None = "reverse", **settings: Any) -> RunFolder:
    run = RunFolder(folder)
    options = OPTIONS if task else None
    config = make_run_config(
        task, settings=SETTINGS | settings, options=options, title="T", device="cpu"
    )
    run.write_config(config)
    return run


def test_task_run_gives_a_checkpoint(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    assert train_run(tmp_path) == "finished"
    assert run.state()["reason"] == "all 6 steps taken"
    assert run.config().title == "T"
    translator = Translator.load(run.checkpoint_path, device="cpu")
    assert translator.translate("a b c").src_tokens == ("▁a", "▁b", "▁c", "</s>")
    evaluation = [line for line in run.metrics() if "sequence_accuracy" in line][-1]
    assert evaluation["step"] == 6
    assert 0 <= evaluation["aer"] <= 1
    assert "bleu" not in evaluation
    assert len(run.labels()) == 4
    assert run.snapshots()[-1] == 6
    card = (run.checkpoint_path / "README.md").read_text()
    assert "300 pairs (the task reverse with n_train=300" in card
    files = {path: path.read_bytes() for path in tmp_path.glob("*.jsonl")}
    assert len(files) == 2
    assert train_run(tmp_path) == "finished"  # a second call does nothing
    assert {path: path.read_bytes() for path in files} == files


def test_the_same_seed_gives_the_same_run(tmp_path: Path) -> None:
    """One of the runs is stopped and resumed; the old stop command does not stop it again."""
    runs = [make_run(tmp_path / name, seed=seed) for name, seed in (("a", 3), ("b", 3), ("c", 4))]
    runs[1].write_control(command="stop")
    assert [train_run(run.path) for run in runs] == ["finished", "cancelled", "finished"]
    assert train_run(runs[1].path) == "finished"
    assert runs[1].control().command == "run"
    steps = [[entry for entry in losses(run) if entry[0] > 0] for run in runs]
    assert steps[0] == steps[1] != steps[2]
    weights = [(run.checkpoint_path / "model.safetensors").read_bytes() for run in runs]
    assert weights[0] == weights[1] != weights[2]
    state = runs[0].state()
    assert (state["precision"], state["threads"]) == ("fp32", 1)
    assert state["torch"] == torch.__version__
    assert state["units"] == torch.backends.cpu.get_cpu_capability()


def test_a_run_may_use_the_users_own_pairs(tmp_path: Path, pairs: list[tuple[str, str]]) -> None:
    """All words of a tiny text are tokens; config.json then has the resulting vocabulary size."""
    run = make_run(tmp_path, None, steps=3)
    rows = "".join(f"{src}\t{tgt}\n" for src, tgt in pairs)
    (tmp_path / "pairs.tsv").write_text(rows, encoding="utf-8")
    assert train_run(tmp_path) == "finished"
    translator = Translator.load(run.checkpoint_path, device="cpu")
    assert run.config().to_dict()["model"]["vocab_size"] == len(translator.vocabulary)
    assert len(translator.vocabulary) == 4 + len(set(rows.split()))
    evaluation = [line for line in run.metrics() if "sequence_accuracy" in line][-1]
    assert "bleu" in evaluation
    assert evaluation["sequences"] == 1 + (len(pairs) - 1) // 50
    assert train_run(tmp_path) == "finished"


def test_bleu_needs_a_reference_of_four_words(tmp_path: Path) -> None:
    """Regression: with one correct output of two words, BLEU was 0."""
    run = make_run(tmp_path, None, steps=2)
    rows = "".join(f"cat {n}\tchat {n}\n" for n in range(20))
    (tmp_path / "pairs.tsv").write_text(rows, encoding="utf-8")
    assert train_run(tmp_path) == "finished"
    evaluation = [line for line in run.metrics() if "sequence_accuracy" in line][-1]
    assert "bleu" not in evaluation
    assert evaluation["sequences"] == 1


@pytest.mark.parametrize(
    ("kind", "data", "reason"),
    [
        ("task", {"task": "revers"}, "no task 'revers'"),
        ("pairs", {"pairs": "../pairs.tsv"}, "a file in the run's folder, not '../pairs.tsv'"),
    ],
)
def test_invalid_config_fails_with_a_sentence(
    kind: str, data: dict[str, Any], reason: str, tmp_path: Path
) -> None:
    run = make_run(tmp_path)
    write_json(run.path / "config.json", {**run.config().to_dict(), "kind": kind, "data": data})
    assert train_run(tmp_path) == "failed"
    assert reason in run.state()["reason"]


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (MemoryError(), "out of memory at step 0: lower batch_tokens from 300"),
        (RuntimeError("[enforce fail] not enough memory: you tried to allocate 9 bytes"), "memory"),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory"), "out of memory at step 0"),
        (OSError(28, "No space left on device"), r"written at step 0 (No space left on device)"),
        (OSError("/a/w.safetensors: I/O error: full (os error 28)"), "0 (No space left on device)"),
        (OSError("Error writing bytes. Detail: [errno 28] full"), "0 (No space left on device)"),
        (RuntimeError("something else"), "something else"),
    ],
)
def test_failures_of_the_machine_are_named(error: Exception, reason: str) -> None:
    assert reason in str(as_training_error(error, 0, 300))


def test_failure_that_cannot_be_written_is_raised(tmp_path: Path) -> None:
    """No file may have a byte, as on a full disk."""
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    run = make_run(tmp_path)
    run.write_state("queued")
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        with pytest.raises(TrainingError, match="could not be written at step 0"):
            train_run(tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert run.state()["status"] == "queued"
