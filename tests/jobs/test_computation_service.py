"""Computations in real processes, with a stand-in for what is computed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from tests import imports, leaks
from transformer.analysis.corpora import Corpus
from transformer.analysis.reports import compute
from transformer.checkpoint import checkpoint_hash
from transformer.jobs import Computation, Computing, JobError, Limits, Standing
from transformer.jobs.computation import BESIDE, HOUSE, LANES, fingerprint, of_report
from transformer.jobs.compute_process import make
from transformer.jobs.results import LACKING, NO_ROOM, ended, forget, read
from transformer.text.files import write_json
from transformer.training.locks import attempt

FUNCTION = "tests.jobs.computed:compute"
PATIENCE = 180.0  # seconds, for a machine whose host gives it little; what is there is seen at once
CORPUS = Corpus.of_lines(["one", "two"], "mine")
MOST = LANES["corpus"].of_a_visitor
LIMITS = Limits(nice=3)
Ask = Callable[..., str]


@pytest.fixture
def computing(tmp_path: Path) -> Iterator[Computing]:
    with Computing(tmp_path, LIMITS) as made:
        yield made


def question(root: Path, what: str, lane: str = "corpus", **more: object) -> Computation:
    return Computation(FUNCTION, {"what": what, "root": str(root), **more}, lane)


@pytest.fixture
def ask(computing: Computing, tmp_path: Path) -> Ask:
    def asked(what: str, visitor: str = "me", lane: str = "corpus", **more: object) -> str:
        return computing.ask(question(tmp_path, what, lane, **more), visitor=visitor)

    return asked


def until(computing: Computing, key: str, status: str) -> Standing:
    deadline = time.monotonic() + PATIENCE
    while (found := computing.look(key)).status != status:
        assert time.monotonic() < deadline, found
        time.sleep(0.01)
    return found


def half_way(computing: Computing, key: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while computing.look(key).share < 0.5:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def until_ended(folder: Path) -> None:
    deadline = time.monotonic() + PATIENCE
    while not ended(folder):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def starts(folder: Path) -> list[str]:
    return (folder / "starts").read_text().split()


def folders(root: Path) -> list[str]:
    return sorted(path.name for path in (root / ".results").iterdir())


def test_a_result_is_kept_for_everyone_and_for_the_next_app(
    computing: Computing, ask: Ask, tmp_path: Path
) -> None:
    key = ask("quick", bleu=True)
    until(computing, key, "done")
    found = computing.result(key)
    assert found["given"] == question(tmp_path, "quick", bleu=True).given
    assert found["nice"] in (None, os.nice(0) + 3)
    assert ask("quick", "you", bleu=True) == key
    with Computing(tmp_path) as later:
        assert later.look(key) == Standing(key, "done", 1.0)
        assert later.result(key) == found
    assert starts(tmp_path) == ["quick"]
    kept = tmp_path / ".results" / key
    assert sorted(path.name for path in kept.iterdir()) == ["lock", "result.json"]
    computing.ask(question(tmp_path, "quick", bleu=True), visitor="you", anew=True)
    until(computing, key, "done")
    assert starts(tmp_path) == ["quick", "quick"]


def test_the_key_is_of_everything_that_counts(tmp_path: Path) -> None:
    first = of_report(tmp_path, "a", "heads", CORPUS)
    others = [
        of_report(tmp_path, "b", "heads", CORPUS),
        of_report(tmp_path, "a", "ablation", CORPUS),
        of_report(tmp_path, "a", "heads", CORPUS.first(1)),
        of_report(tmp_path, "a", "heads", CORPUS, {"bleu": True}),
        replace(first, function=FUNCTION),
        replace(first, lane="timing"),
    ]
    assert len({one.key for one in (first, *others)}) == 7
    renamed = Corpus("another name", CORPUS.sentences)
    assert of_report(tmp_path / "moved", "a", "heads", renamed).key == first.key


def test_results_of_other_code_are_nobodys(
    computing: Computing, ask: Ask, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    key = ask("quick")
    until(computing, key, "done")
    monkeypatch.setattr("transformer.jobs.computation.fingerprint", lambda: "0" * 16)
    later = question(tmp_path, "quick").key
    assert later != key
    assert computing.look(later).status == "absent"


def test_the_fingerprint_is_of_what_computes_and_of_nothing_that_shows(tmp_path: Path) -> None:
    for name in ("measures.py", "analysis/heads.py", "ui/page.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("ROLE = 0.4\n")

    def now() -> str:
        fingerprint.cache_clear()
        return fingerprint(tmp_path)

    first = now()
    (tmp_path / "ui" / "page.py").write_text("ROLE = 0.5\n")
    (tmp_path / "analysis" / "notes.txt").write_text("none")
    assert now() == first
    (tmp_path / "analysis" / "heads.py").write_text("ROLE = 0.5\n")
    changed = now()
    assert changed != first
    (tmp_path / "analysis" / "heads.py").rename(tmp_path / "analysis" / "rows.py")
    assert len({first, changed, now()}) == 3
    fingerprint.cache_clear()


def test_whatever_a_report_imports_is_in_the_fingerprint() -> None:
    links = imports.graph(HOUSE.parent)
    reached = imports.reach("transformer.analysis.reports", links)
    rooms = {name.split(".")[1] for name in reached if name.startswith("transformer.")}
    assert "measures" in rooms
    assert not rooms & {*BESIDE}


def test_one_at_a_time_with_progress_and_whoever_asked_may_take_it_back(
    computing: Computing, ask: Ask, tmp_path: Path
) -> None:
    long, quick = ask("long"), ask("quick", "you")
    half_way(computing, long)
    assert computing.look(long, "me") == Standing(long, "running", 0.5, "half way", mine=True)
    assert computing.look(quick, "me") == Standing(quick, "waiting", place=1)
    assert ask("long", "you") == long
    computing.cancel(long, "somebody")
    computing.cancel(long, "me")
    assert computing.look(long, "you").mine  # still waited for by the other
    computing.cancel(long, "you")
    until(computing, quick, "done")
    assert computing.look(long).status == "absent"
    assert folders(tmp_path) == [quick]
    assert starts(tmp_path) == ["long", "quick"]


def test_too_many_are_refused_taken_back_and_one_that_ends_is_asked_for_anew(
    computing: Computing, ask: Ask, tmp_path: Path
) -> None:
    long, quick = ask("long"), ask("quick")
    for number in range(MOST - 2):
        ask("quick", number=number)
    with pytest.raises(JobError, match=f"you have {MOST} measurements under way"):
        ask("quick", number=-1)
    ask("quick", "you", number=3)  # the same question is the same pass
    half_way(computing, long)
    computing.cancel(quick, "me")
    assert computing.look(quick).status == "absent"
    for number in range(MOST - 2):
        for visitor in ("me", "you"):
            computing.cancel(question(tmp_path, "quick", number=number).key, visitor)
    computing.cancel(long, "me")
    ask("long")
    half_way(computing, long)
    deadline = time.monotonic() + PATIENCE
    while starts(tmp_path) != ["long", "long"]:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_pass_that_takes_too_long_is_ended_and_says_so(tmp_path: Path) -> None:
    limits = Limits(pass_minutes=1)
    object.__setattr__(limits, "pass_minutes", 0.01)  # less than the operator may set
    with Computing(tmp_path, limits) as computing:
        key = computing.ask(question(tmp_path, "long"), visitor="me")
        reason = "it took more than the 0.01 minutes that this app allows; take fewer sentences"
        assert until(computing, key, "failed").reason == reason


@pytest.mark.skipif(sys.platform == "win32", reason="the system holds no process to seconds")
def test_one_that_takes_too_much_of_a_processor_is_ended(tmp_path: Path) -> None:
    lanes = {"step": replace(LANES["step"], processor=1)}
    with Computing(tmp_path, LIMITS, lanes=lanes) as computing:
        key = computing.ask(question(tmp_path, "busy", "step"), visitor="me")
        assert until(computing, key, "failed").reason == (
            "it took more than the 1 second that this app allows; take a smaller model, or a "
            "smaller batch"
        )
        assert not leaks.children()


@pytest.mark.skipif(sys.platform != "linux", reason="the system holds no process to a limit")
def test_one_that_takes_too_much_memory_fails_alone(ask: Ask, computing: Computing) -> None:
    assert until(computing, ask("large"), "failed").reason == (
        "the memory of 3.0 GB is not enough for it; take fewer sentences"
    )
    until(computing, ask("quick"), "done")


def test_what_comes_in_parts_is_seen_meanwhile_and_stays_when_it_is_stopped(
    ask: Ask, computing: Computing, tmp_path: Path
) -> None:
    key = ask("parts", lane="timing")
    deadline = time.monotonic() + PATIENCE
    while not computing.look(key).so_far:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert computing.look(key, "me").so_far == {"lines": [1]}
    computing.cancel(key, "me")
    # At once, while its process still ends: a page looks for the last time right after the press.
    assert computing.look(key) == Standing(key, "stopped", so_far={"lines": [1]})
    until_ended(tmp_path / ".results" / key)
    assert computing.look(key) == Standing(key, "stopped", so_far={"lines": [1]})
    assert ask("parts", lane="timing") == key
    half_way(computing, key)
    computing.close()
    with Computing(tmp_path) as later:
        assert later.look(key).status == "stopped"


def test_one_process_answers_what_comes_next_and_is_replaced_when_it_is_killed(
    tmp_path: Path,
) -> None:
    lanes = {name: replace(LANES["corpus"], idle=PATIENCE) for name in ("corpus", "timing")}
    with Computing(tmp_path, LIMITS, lanes=lanes) as computing:

        def made_by(what: str, lane: str = "corpus", **more: int) -> int:
            key = computing.ask(question(tmp_path, what, lane, **more), visitor="me")
            until(computing, key, "done")
            return int(computing.result(key)["process"])

        first = made_by("talks")
        assert made_by("quick") == first
        assert made_by("quick", "timing") != first  # short ones wait for no long one
        killed = psutil.Process(first)
        killed.kill()
        psutil.wait_procs([killed], timeout=PATIENCE)
        assert made_by("quick", number=1) != first


def test_it_gives_its_memory_back_when_nobody_asks(tmp_path: Path) -> None:
    lanes = {"corpus": replace(LANES["corpus"], idle=0.1)}
    with Computing(tmp_path, LIMITS, lanes=lanes) as computing:
        until(computing, computing.ask(question(tmp_path, "quick"), visitor="me"), "done")
        deadline = time.monotonic() + PATIENCE
        while leaks.children():
            assert time.monotonic() < deadline
            time.sleep(0.01)
        until(computing, computing.ask(question(tmp_path, "quick", n=1), visitor="me"), "done")


def test_what_nobody_asks_for_any_more_is_dropped(tmp_path: Path) -> None:
    """Sliders are moved through many settings, of which the last alone is waited for."""
    lanes = {"step": replace(LANES["step"], left=0.5)}
    with Computing(tmp_path, LIMITS, lanes=lanes) as computing:
        asked = [question(tmp_path, "quick", "step", number=number) for number in range(30)]
        keys = [computing.ask(one, visitor="me") for one in asked]
        assert computing.look(keys[-1]).place <= 1  # asked last, it comes next
        assert sum(computing.look(key).live for key in keys) <= LANES["step"].places
        time.sleep(0.6)
        deadline = time.monotonic() + PATIENCE
        while computing.look(computing.ask(asked[0], visitor="me")).status != "done":
            assert time.monotonic() < deadline
            time.sleep(0.1)
        assert sum(computing.look(key).status == "done" for key in keys) <= 2


def test_what_fails_says_why_and_can_be_asked_for_again(computing: Computing, ask: Ask) -> None:
    fails, breaks = ask("fails"), ask("breaks")
    assert until(computing, breaks, "failed").reason.startswith("its process ended (9)")
    assert computing.look(fails).reason == "no such ruler"
    with pytest.raises(JobError, match="not there any more"):
        computing.result(fails)
    ask("fails")
    assert computing.look(fails).status == "running"


def full(*_: object) -> None:
    raise OSError(28, "No space left on device", "/srv/runs/x")


def test_the_process_of_a_full_disk_is_understood(tmp_path: Path) -> None:
    with Computing(tmp_path) as computing:
        key = computing.ask(question(tmp_path, "full"), visitor="me")
        assert until(computing, key, "failed").reason == LACKING


def test_a_killed_app_leaves_no_half_result(tmp_path: Path) -> None:
    """Its measuring process hears of it and ends; the next app clears up and starts afresh."""
    code = (
        "import sys, time\n"
        "from transformer.jobs import Computation, Computing\n"
        "root = sys.argv[1]\n"
        "computing = Computing(root)\n"
        f"what = Computation({FUNCTION!r}, {{'what': 'long', 'root': root}})\n"
        "print(computing.ask(what, visitor='me'), flush=True)\n"
        "time.sleep(600)\n"
    )
    app = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert app.stdout
    key = app.stdout.readline().strip()
    with Computing(tmp_path) as other:
        deadline = time.monotonic() + PATIENCE
        while not (tmp_path / ".results" / key / "progress.json").exists():
            assert time.monotonic() < deadline
            time.sleep(0.01)
        assert folders(tmp_path) == [key]  # another living app's work is left alone
        app.send_signal(signal.SIGKILL)
        app.wait()
        app.stdout.close()
        assert other.look(key).status == "absent"
    lock = None
    while lock is None and time.monotonic() < deadline:
        lock = attempt(tmp_path / ".results" / key / "lock")
    assert lock
    lock.close()
    with Computing(tmp_path):
        assert folders(tmp_path) == []


def test_old_results_make_room(tmp_path: Path) -> None:
    for number, name in enumerate(("a", "b", "c", "d")):
        path = tmp_path / name / ("failed.json" if name == "b" else "result.json")
        write_json(path, {"number": number})
        os.utime(path, (number + 1, number + 1))
    os.utime(tmp_path / "a" / "result.json", (9, 9))  # looked at last
    (tmp_path / "running").mkdir()
    forget([*tmp_path.iterdir()], 2)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "d", "running"]


def test_a_clock_put_back_takes_no_new_result(tmp_path: Path) -> None:
    """What was looked at in the future goes first, and what has just been made stays."""
    for name in ("a", "b", "new"):
        write_json(tmp_path / name / "result.json", {})
    ahead = time.time() + 1e6
    os.utime(tmp_path / "a" / "result.json", (ahead, ahead))
    os.utime(tmp_path / "new" / "result.json", (1, 1))
    forget([*tmp_path.iterdir()], 2, new=tmp_path / "new")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b", "new"]


def test_a_full_disk_is_said_even_if_it_takes_no_word(
    computing: Computing, ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr("transformer.jobs.lane_thread.write_json", full)
        key = ask("words")
        assert until(computing, key, "failed").reason == (
            "it could not be made: No space left on device"
        )
    assert ask("words") == key  # there is room again
    assert until(computing, key, "done")

    made = tmp_path / "made"
    write_json(made / "ask.json", {})
    monkeypatch.setattr("transformer.jobs.compute_process.write_json", full)
    assert make(made, lambda given, progress: {}) == NO_ROOM
    monkeypatch.undo()
    assert make(made, full) == 1
    assert read(made / "failed.json")["reason"] == LACKING


def test_what_a_process_makes_of_a_real_checkpoint(checkpoints: Path, tmp_path: Path) -> None:
    folder = checkpoints / "tiny"
    corpus = Corpus.of_lines(["She paints.\tElle peint.\t0-0 1-1"], "mine")
    ask = {"checkpoint": str(folder), "hash": checkpoint_hash(folder), "what": "heads"}
    ask |= {"options": {}, "corpus": corpus.to_dict()}
    write_json(tmp_path / "ask.json", ask)
    assert make(tmp_path, compute) == 0
    found = read(tmp_path / "result.json")
    assert found["what"] == "heads"
    assert len(found["table"]) == len(found["cards"]) == 24
    assert found["texts"] == [["She paints.", "Elle peint."]]
    assert read(tmp_path / "progress.json")["stage"]
    for change, reason in (
        ({"hash": "0" * 16}, "the checkpoint tiny has changed meanwhile; ask again"),
        ({"what": "hats"}, "'hats' cannot be measured"),
        ({"options": {"hat": 1}}, "heads has no option 'hat'"),
        ({"checkpoint": str(tmp_path / "gone")}, "there is no checkpoint folder"),
    ):
        write_json(tmp_path / "ask.json", ask | change)
        assert make(tmp_path, compute) == 1
        assert reason in read(tmp_path / "failed.json")["reason"]
