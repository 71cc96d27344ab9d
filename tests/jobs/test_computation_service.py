"""Computations in real processes, with a fake function."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.jobs.fake_computations import (
    CORPUS,
    FUNCTION,
    SubmitAction,
    fake_computation,
    folders,
    starts,
    wait_for_status,
    wait_until_half_done,
)
from transformer.analysis.corpora import Corpus
from transformer.checkpoint import checkpoint_hash
from transformer.jobs import ComputationService, ComputationStatus, JobError
from transformer.jobs.computation import (
    compute,
    fingerprint,
    report_computation,
)
from transformer.text.files import read_json, write_json


def test_results_are_shared_and_survive_a_restart(
    service: ComputationService, submit_action: SubmitAction, tmp_path: Path
) -> None:
    key = submit_action("quick", bleu=True)
    wait_for_status(service, key, "done")
    result = service.result(key)
    assert result["arguments"] == fake_computation(tmp_path, "quick", bleu=True).arguments
    assert result["nice"] in (None, os.nice(0) + 3)
    assert submit_action("quick", visitor="you", bleu=True) == key
    with ComputationService(tmp_path) as restarted:
        assert restarted.status(key) == ComputationStatus(key, "done", 1.0)
        assert restarted.result(key) == result
    assert starts(tmp_path) == ["quick"]
    result_folder = tmp_path / ".results" / key
    assert read_json(result_folder / "config.json").keys() == {"subject", "when"}  # no arguments


def test_the_key_depends_on_all_inputs_and_the_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = report_computation(tmp_path, "a", "heads", CORPUS)
    variants = [
        report_computation(tmp_path, "b", "heads", CORPUS),
        report_computation(tmp_path, "a", "ablation", CORPUS),
        report_computation(tmp_path, "a", "heads", CORPUS.first(1)),
        replace(first, function=FUNCTION),
    ]
    assert len({computation.key for computation in (first, *variants)}) == 5
    renamed = Corpus("another name", CORPUS.sentences)
    assert report_computation(tmp_path / "moved", "a", "heads", renamed).key == first.key
    key = first.key
    monkeypatch.setattr("transformer.jobs.computation.fingerprint", lambda: "another version")
    assert first.key != key


def test_the_code_fingerprint_covers_computing_modules_only(tmp_path: Path) -> None:
    for name in ("measures.py", "analysis/heads.py", "ui/page.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("LIMIT = 0.4\n")

    def current_fingerprint() -> str:
        fingerprint.cache_clear()
        return fingerprint(tmp_path)

    first = current_fingerprint()
    (tmp_path / "ui" / "page.py").write_text("LIMIT = 0.5\n")
    (tmp_path / "analysis" / "notes.txt").write_text("none")
    assert current_fingerprint() == first
    (tmp_path / "analysis" / "heads.py").write_text("LIMIT = 0.5\n")
    changed = current_fingerprint()
    assert changed != first
    (tmp_path / "analysis" / "heads.py").rename(tmp_path / "analysis" / "rows.py")
    assert len({first, changed, current_fingerprint()}) == 3
    fingerprint.cache_clear()


def test_computations_run_one_at_a_time_and_can_be_cancelled(
    service: ComputationService, submit_action: SubmitAction, tmp_path: Path
) -> None:
    long_key, quick_key = submit_action("long"), submit_action("quick", visitor="you")
    wait_until_half_done(service, long_key)
    assert service.status(long_key, "me") == ComputationStatus(
        long_key, "running", 0.5, "half way", is_requester=True
    )
    assert service.status(quick_key, "me") == ComputationStatus(
        quick_key, "waiting", requests_ahead=1
    )
    assert submit_action("long", visitor="you") == long_key
    service.cancel(long_key, "visitor")
    service.cancel(long_key, "me")
    assert service.status(long_key, "you").is_requester  # another visitor still waits for it
    service.cancel(long_key, "you")
    wait_for_status(service, quick_key, "done")
    assert service.status(long_key).status == "absent"
    assert folders(tmp_path) == [quick_key]
    assert starts(tmp_path) == ["long", "quick"]


def test_a_report_reads_a_real_checkpoint(checkpoints: Path, tmp_path: Path) -> None:
    folder = checkpoints / "tiny"
    corpus = Corpus.from_lines(["She paints.\tElle peint.\t0-0 1-1"], "mine")
    request = {"checkpoint": str(folder), "hash": checkpoint_hash(folder), "what": "heads"}
    request |= {"options": {}, "corpus": corpus.to_dict()}

    def compute_report(**changes: object) -> dict[str, Any]:
        config = {"function": "transformer.analysis.reports:compute", "subject": ""}
        write_json(tmp_path / "config.json", {**config, "arguments": request | changes})
        compute(tmp_path)
        return read_json(tmp_path / "result.json")

    result = compute_report()
    assert result["what"] == "heads"
    assert len(result["table"]) == len(result["cards"]) == 24
    assert result["texts"] == [["She paints.", "Elle peint."]]
    assert read_json(tmp_path / "progress.json")["stage"]
    for change, reason in (
        ({"hash": "0" * 16}, "the checkpoint tiny has changed since"),
        ({"what": "hats"}, "'hats' cannot be measured"),
        ({"options": {"hat": 1}}, "heads has no option 'hat'"),
        ({"checkpoint": str(tmp_path / "gone")}, "there is no checkpoint folder"),
    ):
        with pytest.raises(JobError, match=reason):
            compute_report(**change)
