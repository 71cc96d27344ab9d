"""Alignments of a run's probes, recomputed from its task."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from transformer.figures.packing import unpack
from transformer.jobs.folder import JobFolder
from transformer.training.run_config import TaskRun
from transformer.ui.pages.training import curves
from transformer.ui.pages.training.probes import probe_links

RUNS = Path(__file__).resolve().parents[2] / "checkpoints" / "runs"


def test_a_reversed_probe_is_linked_from_its_end() -> None:
    folder = JobFolder(RUNS / "toy-reverse")
    labels = folder.labels()
    for label, links in zip(labels, probe_links(folder, labels), strict=True):
        n = len(label["src"]) - 1
        assert sorted(links) == [(i, n - 1 - i) for i in range(n)]


@pytest.mark.parametrize("task", ["copy", "reverse", "sort", "cipher", "dates", "brackets"])
def test_linked_symbols_of_a_shipped_run_are_those_of_its_tokens(task: str) -> None:
    folder = JobFolder(RUNS / f"toy-{task}")
    labels = folder.labels()
    for label, links in zip(labels, probe_links(folder, labels), strict=True):
        assert links
        for source, target in links:
            assert source < len(label["src"]) - 1
            assert target < len(label["predicted"]) - 1
            if task in ("copy", "reverse", "sort"):
                assert label["src"][source] == label["predicted"][target]


def test_the_french_probes_are_aligned() -> None:
    folder = JobFolder(RUNS / "toy-french")
    labels = folder.labels()
    linked = probe_links(folder, labels)
    reordered = [links for links in linked if any(i != j for i, j in links)]
    assert len(linked) == 4
    assert reordered, "two probes have an adjective behind the noun"
    assert all(linked)


def test_a_run_without_alignments_or_without_a_config_has_none(tmp_path: Path) -> None:
    addition = JobFolder(RUNS / "toy-addition")
    assert not any(probe_links(addition, addition.labels()))
    (tmp_path / "config.json").write_text("{")
    assert probe_links(JobFolder(tmp_path), addition.labels()) == []
    reverse = JobFolder(RUNS / "toy-reverse")
    config = reverse.config()
    assert isinstance(config, TaskRun)
    unknown_options = {
        **config.to_dict(),
        "data": {"task": "reverse", "options": {"unknown": 3}},
    }
    (tmp_path / "config.json").write_text(json.dumps(unknown_options))
    assert not any(probe_links(JobFolder(tmp_path), reverse.labels()))


def test_the_film_of_a_perfect_run_finds_aligned_heads() -> None:
    """At 100% accuracy its film once reported that no head shows a pattern."""
    path = RUNS / "toy-reverse"
    steps = tuple((step, "") for step in JobFolder(path).snapshots())
    header, parts = unpack(
        curves._film_data.__wrapped__(  # type: ignore[attr-defined]
            str(path), steps, False, False, True
        )
    )
    for probe in range(4):
        last = parts[f"role.{probe}.cross"].array[-1]
        groups = np.vectorize(lambda code: header["roles"][code]["group"])(last)
        assert (groups == "aligned").sum() >= 2
        first = parts[f"role.{probe}.cross"].array[0]
        assert {header["roles"][code]["group"] for code in first.ravel()} == {"none"}
    assert header["start"]["step"] == -1
