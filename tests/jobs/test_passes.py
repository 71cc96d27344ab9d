"""Passes over a corpus in real processes, with a stand-in for the measuring."""

from __future__ import annotations

import importlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests import imports
from transformer.analysis.corpora import Corpus
from transformer.checkpoint import checkpoint_hash
from transformer.jobs import JobError, Limits
from transformer.jobs.corpus_pass import make
from transformer.jobs.pass_files import LACKING, NO_ROOM, Pass, forget, read, write
from transformer.jobs.pass_line import OF_A_VISITOR
from transformer.jobs.passes import MEASURE as MEASURE_OF_THE_APP
from transformer.jobs.passes import Passes
from transformer.jobs.sources import BESIDE, HOUSE, fingerprint
from transformer.training.locks import attempt

MEASURE = "tests.jobs.measured:measure"
PATIENCE = 60.0  # seconds, for a busy machine; what is there is seen at once
CORPUS = Corpus.of_lines(["one", "two"], "mine")


@pytest.fixture
def passes(tmp_path: Path) -> Iterator[Passes]:
    with Passes(tmp_path, nice=3, measure=MEASURE) as made:
        yield made


@pytest.fixture
def ask(passes: Passes, tmp_path: Path) -> Callable[..., str]:
    def asked(what: str, visitor: str = "me", corpus: Corpus = CORPUS, **options: object) -> str:
        return passes.ask(tmp_path, "0" * 16, what, corpus, options, visitor=visitor)

    return asked


def until(passes: Passes, key: str, status: str) -> Pass:
    deadline = time.monotonic() + PATIENCE
    while (found := passes.look(key)).status != status:
        assert time.monotonic() < deadline, found
        time.sleep(0.01)
    return found


def half_way(passes: Passes, key: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while passes.look(key).share != 0.5:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def starts(folder: Path) -> list[str]:
    return (folder / "starts").read_text().split()


def folders(root: Path) -> list[str]:
    return sorted(path.name for path in (root / ".passes").iterdir())


def test_a_result_is_kept_for_everyone_and_for_the_next_app(
    passes: Passes, ask: Callable[..., str], tmp_path: Path
) -> None:
    key = ask("quick", bleu=True)
    until(passes, key, "done")
    found = passes.result(key)
    assert (found["corpus"], found["options"]) == (["one", "two"], {"bleu": True})
    assert found["nice"] in (None, os.nice(0) + 3)
    assert ask("quick", "you", bleu=True) == key
    other_name = Corpus("another name", CORPUS.sentences)
    assert ask("quick", corpus=other_name, bleu=True) == key
    with Passes(tmp_path, measure=MEASURE) as later:
        assert later.look(key) == Pass(key, "done", 1.0)
        assert later.result(key) == found
    assert starts(tmp_path) == ["quick"]
    assert sorted(p.name for p in (tmp_path / ".passes" / key).iterdir()) == ["lock", "result.json"]


def test_the_key_is_of_everything_that_counts() -> None:
    keys = {
        Passes.key("a", "heads", CORPUS),
        Passes.key("b", "heads", CORPUS),
        Passes.key("a", "ablation", CORPUS),
        Passes.key("a", "heads", CORPUS.first(1)),
        Passes.key("a", "heads", CORPUS, {"bleu": True}),
    }
    assert len(keys) == 5


def test_results_of_other_code_are_nobodys(
    passes: Passes, ask: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    key = ask("quick")
    until(passes, key, "done")
    monkeypatch.setattr("transformer.jobs.passes.fingerprint", lambda: "0" * 16)
    later = Passes.key("0" * 16, "quick", CORPUS)
    assert later != key
    assert passes.look(later).status == "absent"


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
    passes: Passes, ask: Callable[..., str], tmp_path: Path
) -> None:
    long, quick = ask("long"), ask("quick", "you")
    half_way(passes, long)
    assert passes.look(long, "me") == Pass(long, "running", 0.5, "half way", mine=True)
    assert passes.look(quick, "me") == Pass(quick, "waiting", place=1)
    assert ask("long", "you") == long
    passes.cancel(long, "somebody")
    passes.cancel(long, "me")
    assert passes.look(long, "you").mine  # still waited for by the other
    passes.cancel(long, "you")
    until(passes, quick, "done")
    assert passes.look(long).status == "absent"
    assert folders(tmp_path) == [quick]
    assert starts(tmp_path) == ["long", "quick"]


def test_too_many_are_refused_taken_back_and_one_that_ends_is_asked_for_anew(
    passes: Passes, ask: Callable[..., str], tmp_path: Path
) -> None:
    long, quick = ask("long"), ask("quick")
    for number in range(OF_A_VISITOR - 2):
        ask("quick", number=number)
    with pytest.raises(JobError, match=f"you have {OF_A_VISITOR} measurements under way"):
        ask("quick", number=-1)
    ask("quick", "you", number=3)  # the same question is the same pass
    half_way(passes, long)
    passes.cancel(quick, "me")
    assert passes.look(quick).status == "absent"
    for number in range(OF_A_VISITOR - 2):
        for visitor in ("me", "you"):
            passes.cancel(Passes.key("0" * 16, "quick", CORPUS, {"number": number}), visitor)
    passes.cancel(long, "me")
    ask("long")
    half_way(passes, long)
    deadline = time.monotonic() + PATIENCE
    while starts(tmp_path) != ["long", "long"]:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_pass_that_takes_too_long_is_ended_and_says_so(tmp_path: Path) -> None:
    limits = Limits(pass_minutes=1)
    object.__setattr__(limits, "pass_minutes", 0.01)  # less than the operator may set
    with Passes(tmp_path, limits, nice=0, measure=MEASURE) as passes:
        key = passes.ask(tmp_path, "0" * 16, "long", CORPUS, visitor="me")
        assert "took more than the 0.01 minutes" in until(passes, key, "failed").reason


def test_what_fails_says_why_and_can_be_asked_for_again(
    passes: Passes, ask: Callable[..., str]
) -> None:
    fails, breaks = ask("fails"), ask("breaks")
    assert until(passes, breaks, "failed").reason.startswith("its process ended (9)")
    assert passes.look(fails).reason == "no such ruler"
    with pytest.raises(JobError, match="not there any more"):
        passes.result(fails)
    ask("fails")
    assert passes.look(fails).status == "running"


def full(*_: object) -> None:
    raise OSError(28, "No space left on device", "/srv/runs/x")


def test_the_process_of_a_full_disk_is_understood(tmp_path: Path) -> None:
    with Passes(tmp_path, measure=MEASURE) as passes:
        key = passes.ask(tmp_path, "0" * 16, "full", CORPUS, visitor="me")
        assert until(passes, key, "failed").reason == LACKING


def test_a_killed_app_leaves_no_half_result(tmp_path: Path) -> None:
    """Its measuring process hears of it and ends; the next app clears up and starts afresh."""
    code = (
        "import sys, time\n"
        "from transformer.analysis.corpora import Corpus\n"
        "from transformer.jobs.passes import Passes\n"
        "root = sys.argv[1]\n"
        f"passes = Passes(root, measure={MEASURE!r})\n"
        "corpus = Corpus.of_lines(['one', 'two'], 'mine')\n"
        "print(passes.ask(root, '0' * 16, 'long', corpus, visitor='me'), flush=True)\n"
        "time.sleep(600)\n"
    )
    app = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert app.stdout
    key = app.stdout.readline().strip()
    with Passes(tmp_path, measure=MEASURE) as other:
        deadline = time.monotonic() + PATIENCE
        while not (tmp_path / ".passes" / key / "progress.json").exists():
            assert time.monotonic() < deadline
            time.sleep(0.01)
        assert folders(tmp_path) == [key]  # another living app's work is left alone
        app.send_signal(signal.SIGKILL)
        app.wait()
        app.stdout.close()
        assert other.look(key).status == "absent"
    lock = None
    while lock is None and time.monotonic() < deadline:
        lock = attempt(tmp_path / ".passes" / key / "lock")
    assert lock
    lock.close()
    with Passes(tmp_path, measure=MEASURE):
        assert folders(tmp_path) == []


def test_old_results_make_room(tmp_path: Path) -> None:
    for number, name in enumerate(("a", "b", "c", "d")):
        path = tmp_path / name / ("failed.json" if name == "b" else "result.json")
        write(path, {"number": number})
        os.utime(path, (number + 1, number + 1))
    os.utime(tmp_path / "a" / "result.json", (9, 9))  # looked at last
    (tmp_path / "running").mkdir()
    forget(tmp_path, 2)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "d", "running"]


def test_a_clock_put_back_takes_no_new_result(tmp_path: Path) -> None:
    """What was looked at in the future goes first, and what has just been made stays."""
    for name in ("a", "b", "new"):
        write(tmp_path / name / "result.json", {})
    ahead = time.time() + 1e6
    os.utime(tmp_path / "a" / "result.json", (ahead, ahead))
    os.utime(tmp_path / "new" / "result.json", (1, 1))
    forget(tmp_path, 2, new=tmp_path / "new")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b", "new"]


def test_a_full_disk_is_said_even_if_it_takes_no_word(
    passes: Passes, ask: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr("transformer.jobs.passes.write", full)
        key = ask("words")
        assert until(passes, key, "failed").reason == (
            "it could not be made: No space left on device"
        )
    assert ask("words") == key  # there is room again
    assert until(passes, key, "done")

    made = tmp_path / "made"
    write(made / "ask.json", {})
    monkeypatch.setattr("transformer.jobs.corpus_pass.write", full)
    assert make(made, lambda ask, progress: {}) == NO_ROOM
    monkeypatch.undo()
    assert make(made, full) == 1
    assert read(made / "failed.json") == {"reason": LACKING}


def test_what_a_process_makes_of_a_real_checkpoint(checkpoints: Path, tmp_path: Path) -> None:
    folder = checkpoints / "tiny"
    corpus = Corpus.of_lines(["She paints.\tElle peint.\t0-0 1-1"], "mine")
    ask = {"checkpoint": str(folder), "hash": checkpoint_hash(folder), "what": "heads"}
    ask |= {"options": {}, "corpus": corpus.to_dict()}
    module, function = MEASURE_OF_THE_APP.split(":")
    measure = getattr(importlib.import_module(module), function)
    write(tmp_path / "ask.json", ask)
    assert make(tmp_path, measure) == 0
    found = read(tmp_path / "result.json")
    assert found["what"] == "heads"
    assert len(found["table"]) == len(found["cards"]) == 24
    assert found["texts"] == [["She paints.", "Elle peint."]]
    assert read(tmp_path / "progress.json")["doing"]
    for change, reason in (
        ({"hash": "0" * 16}, "the checkpoint tiny has changed meanwhile; ask again"),
        ({"what": "hats"}, "'hats' cannot be measured"),
        ({"options": {"hat": 1}}, "heads has no option 'hat'"),
        ({"checkpoint": str(tmp_path / "gone")}, "there is no checkpoint folder"),
    ):
        write(tmp_path / "ask.json", ask | change)
        assert make(tmp_path, measure) == 1
        assert reason in read(tmp_path / "failed.json")["reason"]
