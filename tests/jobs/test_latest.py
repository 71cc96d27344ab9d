"""The last result on a subject: noted when a computation ends, found again, forgotten with it."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

from tests.jobs.asking import LIMITS, question, until
from transformer.jobs import Computation, ComputationService
from transformer.jobs.results import LATEST_FOLDER


def about(root: Path, what: str, subject: str = "a finding") -> Computation:
    return replace(question(root, what), subject=subject)


def test_the_last_of_several_questions_outlives_the_app(tmp_path: Path) -> None:
    before = time.time()
    with ComputationService(tmp_path, LIMITS) as computing:
        assert computing.latest("a finding") is None
        for what in (about(tmp_path, "one"), about(tmp_path, "two")):
            until(computing, computing.submit(what, visitor="me"), "done")
        until(computing, computing.submit(about(tmp_path, "three", ""), visitor="me"), "done")
    with ComputationService(tmp_path, LIMITS) as computing:
        found = computing.latest("a finding")
        assert found is not None
        assert found.key == about(tmp_path, "two").key
        assert found.result == computing.result(found.key)
        assert before <= found.when <= time.time()
        assert computing.latest("another") is None
        assert computing.latest("") is None
    assert len([*(tmp_path / LATEST_FOLDER).iterdir()]) == 1


def test_the_subject_makes_no_other_question(tmp_path: Path) -> None:
    assert about(tmp_path, "one", "this").key == about(tmp_path, "one", "that").key


def test_what_is_asked_anew_has_the_time_of_its_new_result(tmp_path: Path) -> None:
    with ComputationService(tmp_path, LIMITS) as computing:
        whens = []
        for anew in (False, True):
            key = computing.submit(about(tmp_path, "one"), visitor="me", force=anew)
            until(computing, key, "done")
            found = computing.latest("a finding")
            assert found is not None
            whens.append(found.when)
    assert whens[0] < whens[1]


def test_a_result_that_is_gone_is_not_found_and_its_note_goes(tmp_path: Path) -> None:
    with ComputationService(tmp_path, LIMITS) as computing:
        key = computing.submit(about(tmp_path, "one"), visitor="me")
        until(computing, key, "done")
        (result,) = tmp_path.glob(f".results/{key}/result.json")
        result.unlink()
        assert computing.latest("a finding") is None
    ComputationService(tmp_path, LIMITS).close()
    assert not [*(tmp_path / LATEST_FOLDER).iterdir()]


def test_a_note_that_was_written_by_somebody_else_leads_nowhere(tmp_path: Path) -> None:
    with ComputationService(tmp_path, LIMITS) as computing:
        until(computing, computing.submit(about(tmp_path, "one"), visitor="me"), "done")
        (note,) = (tmp_path / LATEST_FOLDER).iterdir()
        (tmp_path / "result.json").write_text('{"stolen": 1}')
        for written in ("no json", '{"key": "..", "when": 1}', '{"key": 3, "when": 1}', "[]"):
            note.write_text(written)
            assert computing.latest("a finding") is None
