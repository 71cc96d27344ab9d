"""The queue alone, with nobody who trains: places, owners, names, and what a disk refuses."""

from __future__ import annotations

import io
import json
import os
import threading
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.jobs.conftest import MakeStill, asked
from transformer.jobs import JobError, Jobs, claims
from transformer.jobs.info import RunInfo, in_line, with_places
from transformer.jobs.queue import Queue
from transformer.run_config import FilesRun, PairsRun


def places(jobs: Jobs) -> dict[str, int | None]:
    return {info.title: info.place for info in jobs.runs()}


def begin(jobs: Jobs, title: str, owner: str) -> str:
    return jobs.submit(asked(title=title), owner)


def test_everyone_s_first_run_comes_before_anyone_s_second(still: MakeStill) -> None:
    jobs = still()
    for title in ("a1", "a2", "a3", "b1", "c1", "b2"):
        begin(jobs, title, title[0])
    assert places(jobs) == {"a1": 1, "b1": 2, "c1": 3, "a2": 4, "b2": 5, "a3": 6}
    queue = Queue(jobs.folder(jobs.runs()[0].name).path.parent)
    order = []
    taken = {}
    while claim := claims.take(queue, "worker"):
        title = claim.folder.config().title
        order.append(title)
        taken[title] = claim
        if title == "c1":  # its end makes no difference to the others' order
            claims.give_back(queue, claim, ValueError("enough"))
    assert order == ["a1", "b1", "c1", "a2", "b2", "a3"]
    for claim in taken.values():
        claim.lock.close()


def test_who_trains_already_waits_behind_who_does_not(still: MakeStill) -> None:
    jobs = still()
    begin(jobs, "a1", "a")
    queue = Queue(jobs.folder(jobs.runs()[0].name).path.parent)
    claim = claims.take(queue, "worker")
    assert claim
    begin(jobs, "a2", "a")
    begin(jobs, "b1", "b")
    assert places(jobs) == {"a1": None, "b1": 1, "a2": 2}
    claims.give_back(queue, claim, ValueError("enough"))
    assert places(jobs) == {"a1": None, "a2": 1, "b1": 2}
    jobs.resume(claim.folder.name, "a")  # it came first, and stands there again
    assert places(jobs) == {"a1": 1, "b1": 2, "a2": 3}


def test_a_run_that_pauses_never_stands_as_cancelled(still: MakeStill) -> None:
    """The trainer ends at the worker's signal, says "cancelled", and the worker "paused"."""
    jobs = still()
    name = begin(jobs, "a", "ann")
    queue = Queue(jobs.folder(name).path.parent)
    claim = claims.take(queue, "worker")
    assert claim
    jobs.control(name, "ann", command="pause")
    claim.folder.change_state("cancelled", "stopped after step 7")
    assert (jobs.run(name).status, jobs.run(name).asked) == ("running", "pause")
    jobs.control(name, "ann", command="pause")  # pressed twice: nothing to refuse
    claims.give_back(queue, claim, None, interrupted=True)
    assert jobs.run(name).status == "paused"


def test_a_worker_that_ended_by_itself(still: MakeStill) -> None:
    jobs = still()
    name, other = begin(jobs, "a", "ann"), begin(jobs, "b", "bob")
    queue = Queue(jobs.folder(name).path.parent)
    claim, second = claims.take(queue, "worker"), claims.take(queue, "another")
    assert claim
    assert second
    claims.lost(queue, "worker", 3)  # but somebody holds the lock
    assert jobs.run(name).status == "running"
    claim.lock.close()
    claims.lost(queue, "worker", 3)
    assert jobs.run(name).reason == "its worker ended (code 3) at step 0; Resume begins again"
    assert jobs.run(other).status == "running"
    jobs.delete(other, "bob")
    assert not jobs.runs("bob")
    assert (queue.root / other).exists()  # while it is held
    second.lock.close()
    jobs.runs()
    assert not (queue.root / other).exists()


@st.composite
def lines(draw: st.DrawFn) -> list[RunInfo]:
    status = st.sampled_from(["queued", "queued", "running", "finished", "paused"])
    drawn = draw(st.lists(st.tuples(st.sampled_from("abc"), status), max_size=12))
    return [
        RunInfo(f"run{n}", "", owner, state, "", 0, 0.0, turn=n)  # type: ignore[arg-type]
        for n, (owner, state) in enumerate(drawn)
    ]


@given(lines())
def test_the_line_is_fair(infos: list[RunInfo]) -> None:
    line = in_line(infos)
    assert sorted(info.turn for info in line) == [i.turn for i in infos if i.status == "queued"]
    placed = {info.name: info.place for info in with_places(infos)}
    assert [placed.pop(info.name) for info in line] == [*range(1, len(line) + 1)]
    assert set(placed.values()) <= {None}  # of those that do not wait
    running = [info.owner for info in infos if info.status == "running"]
    served = {owner: running.count(owner) for owner in "abc"}
    for at, info in enumerate(line):
        # Nobody who still waits has been served less often than the one who is next ...
        rest = line[at:]
        assert served[info.owner] == min(served[other.owner] for other in rest)
        # ... and among the equals it is the one who came first.
        equals = [i for i in rest if served[i.owner] == served[info.owner]]
        assert info.turn == min(i.turn for i in equals)
        served[info.owner] += 1


def test_thirty_at_once_with_room_for_twenty(still: MakeStill) -> None:
    jobs, got, refused = still(queued=20), [], []
    barrier = threading.Barrier(30)

    def press(n: int) -> None:
        barrier.wait()
        try:
            got.append(begin(jobs, f"{n}", f"visitor-{n}"))
        except JobError as error:
            refused.append(str(error))

    threads = [threading.Thread(target=press, args=(n,)) for n in range(30)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(got)) == 20
    assert sorted(places(jobs).values()) == [*range(1, 21)]  # type: ignore[type-var]
    assert (
        refused
        == ["20 runs are waiting and this app allows 20: try again when one of them has begun"] * 10
    )


def test_a_visitor_keeps_so_many_runs(still: MakeStill) -> None:
    jobs = still(runs_per_visitor=2)
    names = [begin(jobs, "one", "ann"), begin(jobs, "two", "ann")]
    with pytest.raises(JobError, match="you keep 2 runs and this app allows 2: delete one first"):
        begin(jobs, "three", "ann")
    begin(jobs, "other", "bob")
    jobs.delete(names[0], "ann")
    begin(jobs, "three", "ann")
    assert {info.title for info in jobs.runs("ann")} == {"two", "three"}


def test_only_the_owner_controls_and_all_may_look(still: MakeStill) -> None:
    jobs = still()
    name = begin(jobs, "mine", "ann")
    for stranger in ("bob", "", "Ann", "ann "):
        for act in (jobs.resume, jobs.delete):
            with pytest.raises(JobError, match="is not your run"):
                act(name, stranger)
        with pytest.raises(JobError, match="is not your run"):
            jobs.control(name, stranger, command="stop")
    assert jobs.run(name).status == "queued"
    assert jobs.run(name).title == "mine"
    for owner in ("", "x" * 201):
        with pytest.raises(JobError, match="needs an owner"):
            begin(jobs, "nobody's", owner)


def test_a_run_of_the_command_line_is_shown_and_is_nobody_s(
    still: MakeStill, tmp_path: Path
) -> None:
    jobs = still()
    folder = tmp_path / "runs" / "Cats_1.b"
    folder.mkdir()
    (folder / "config.json").write_text('{"model": {}}')
    (folder / "state.json").write_text('{"status": "running", "step": 7}')
    info = jobs.run("Cats_1.b")
    assert (info.title, info.owner, info.status, info.step) == ("Cats_1.b", "", "running", 7)
    with pytest.raises(JobError, match="is not your run"):
        jobs.delete("Cats_1.b", "")
    for spoilt, reason in {
        "{": "cannot be read",
        '{"status": "dancing"}': "no known status",
    }.items():
        (folder / "state.json").write_text(spoilt)
        assert jobs.run("Cats_1.b").status == "failed"
        assert reason in jobs.run("Cats_1.b").reason


HOSTILE = ["", ".", "..", "../x", "a/b", "/etc", "x\0y", "é", "a" * 101, "-rf", ".lock", "a\n", "~"]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_never_leaves_the_folder(name: str, still: MakeStill, tmp_path: Path) -> None:
    jobs = still()
    outside = tmp_path / "x"
    outside.mkdir()
    (outside / "config.json").write_text('{"owner": "ann"}')
    for act in (jobs.run, jobs.folder, jobs.archive):
        with pytest.raises(JobError, match="there is no run"):
            act(name)
    for change in (jobs.delete, jobs.resume, jobs.control):
        with pytest.raises(JobError, match="there is no run"):
            change(name, "ann")
    with pytest.raises(JobError, match="a file cannot be called"):
        jobs.submit(asked(), "ann", {name: b""})
    assert (outside / "config.json").is_file()
    assert jobs.runs() == []


@pytest.mark.parametrize("name", ["config.json", "State.json", "job.lock", "checkpoint", "lock"])
def test_a_file_does_not_take_the_place_of_ours(name: str, still: MakeStill) -> None:
    with pytest.raises(JobError, match=f"a file cannot be called '{name}'"):
        still().submit(asked(), "ann", {name: b""})


def test_a_link_out_of_the_folder_is_no_run(still: MakeStill, tmp_path: Path) -> None:
    jobs = still()
    name = begin(jobs, "mine", "ann")
    elsewhere = tmp_path / "elsewhere"
    (tmp_path / "runs" / name).rename(elsewhere)
    (tmp_path / "runs" / name).symlink_to(elsewhere)
    with pytest.raises(JobError, match="there is no run"):
        jobs.delete(name, "ann")
    assert (elsewhere / "config.json").is_file()


def test_a_run_reads_only_what_came_with_it(still: MakeStill) -> None:
    shape = {"model": asked().model, "training": asked().training}
    for pairs in ("/etc/passwd", "other.tsv"):
        with pytest.raises(JobError, match=f"'{pairs}', did not come with it"):
            still().submit(PairsRun(pairs=pairs, **shape), "ann", {"pairs.tsv": b"a\tb\n"})
    with pytest.raises(JobError, match="cannot read files of the machine"):
        still().submit(FilesRun(train=("/etc/passwd",), **shape), "ann")


def test_the_newest_is_shown_first_though_the_clock_was_put_back(
    still: MakeStill, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs, now = still(), iter((2e9, 1e9, 1.5e9))
    monkeypatch.setattr("time.time", lambda: next(now))
    names = [jobs.submit(asked(), "ann") for _ in range(3)]
    assert [info.name for info in jobs.runs()] == names[::-1]


@pytest.mark.parametrize(
    "refused", ["config.json", "job.json", "state.json", "pairs.tsv", "rename"]
)
def test_a_disk_that_refuses_leaves_nothing_half_made(
    refused: str, still: MakeStill, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = still()

    def full(path: Path, *rest: Any, **more: Any) -> Any:
        if refused in path.name or (refused == "rename" and path.name.startswith(".coming")):
            raise OSError(28, "No space left on device")
        return real[rest == ()](path, *rest, **more)

    real = {False: Path.write_bytes, True: Path.write_text}
    if refused == "rename":
        monkeypatch.setattr(Path, "rename", full)
    else:
        monkeypatch.setattr(Path, "write_bytes", lambda p, b: full(p, b))
        text = Path.write_text

        def write_text(path: Path, *rest: Any, **more: Any) -> int:
            if refused in path.name:
                raise OSError(28, "No space left on device")
            return text(path, *rest, **more)

        monkeypatch.setattr(Path, "write_text", write_text)
    with pytest.raises(JobError, match="the run could not be written: No space left on device"):
        jobs.submit(asked(), "ann", {"pairs.tsv": b"a\tb\n"})
    monkeypatch.undo()
    assert os.listdir(tmp_path / "runs") == [".lock"]
    begin(jobs, "again", "ann")
    assert places(jobs) == {"again": 1}


def test_what_a_killed_app_left_half_made_is_cleared_away(still: MakeStill, tmp_path: Path) -> None:
    still()
    for left in (".coming-run-1", ".going-2"):
        (tmp_path / "runs" / left).mkdir()
        (tmp_path / "runs" / left / "config.json").write_text("{}")
    assert still().runs() == []
    assert os.listdir(tmp_path / "runs") == [".lock"]


def test_a_folder_that_cannot_be_is_a_sentence(still: MakeStill, tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("a file")
    with pytest.raises(JobError, match="the folder of runs cannot be used: File exists"):
        still()


def test_a_waiting_run_follows_at_once(still: MakeStill) -> None:
    jobs = still()
    first, second = begin(jobs, "one", "ann"), begin(jobs, "two", "bob")
    jobs.control(first, "ann", command="pause")
    assert (jobs.run(first).status, jobs.run(second).place) == ("paused", 1)
    jobs.control(first, "ann", command="run")
    assert (jobs.run(first).place, jobs.run(second).place) == (1, 2)
    jobs.control(first, "ann", command="pause")
    jobs.control(first, "ann", command="stop", save=True)
    assert (jobs.run(first).status, jobs.run(first).reason) == (
        "cancelled",
        "stopped while it was paused",
    )
    assert jobs.folder(first).control().save == 1
    jobs.resume(first, "ann")
    assert jobs.run(first).place == 1
    assert jobs.folder(first).control().command == "run"
    for wrong in ({"command": "dance"}, {"learning_rate_factor": float("nan")}):
        with pytest.raises(JobError, match=r"the command must be|learning_rate_factor must be"):
            jobs.control(first, "ann", **wrong)  # type: ignore[arg-type]


def test_an_archive_holds_the_checkpoint_and_not_the_owner(still: MakeStill) -> None:
    jobs = still()
    name = begin(jobs, "mine", "ann-s-secret")
    with pytest.raises(JobError, match="has no checkpoint yet"):
        jobs.archive(name)
    folder = jobs.folder(name)
    folder.append_metrics({"step": 1, "loss": 2.0})
    folder.resume_path.write_bytes(b"moments")
    folder.checkpoint_path.mkdir()
    (folder.checkpoint_path / "config.json").write_bytes(b"{}")
    (folder.checkpoint_path / "model.safetensors").write_bytes(bytes(range(256)))
    with zipfile.ZipFile(io.BytesIO(jobs.archive(name))) as packed:
        contents = {path: packed.read(path) for path in packed.namelist()}
    inside = ("config.json", "metrics.jsonl", "checkpoint/config.json")
    assert set(contents) == {f"{name}/{file}" for file in (*inside, "checkpoint/model.safetensors")}
    assert contents[f"{name}/checkpoint/model.safetensors"] == bytes(range(256))
    assert json.loads(contents[f"{name}/config.json"])["title"] == "mine"
    assert b"secret" not in b"".join(contents.values())
