"""The README keeps its word: its examples run, its map is the house, its links lead somewhere."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.test_floors import FLOORS

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


class Block(NamedTuple):
    """A fenced block, and the output that a `text` block right below it promises."""

    language: str
    code: str
    output: str


def blocks(markdown: str) -> list[Block]:
    fenced = r"^```(\w+)\n(.*?)^```$(?:\n\n```text\n(.*?)^```$)?"
    return [Block(*parts) for parts in re.findall(fenced, markdown, flags=re.M | re.S)]


def section(title: str) -> str:
    return README.split(f"\n## {title}\n")[1].split("\n## ")[0]


EXAMPLES = [block for block in blocks(README) if block.language in ("sh", "python")]


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy to run in, so that the examples write beside nobody's files."""
    there = tmp_path_factory.mktemp("clone")
    for room in ("transformer", "checkpoints"):
        shutil.copytree(ROOT / room, there / room, ignore=shutil.ignore_patterns("__pycache__"))
    return there


@pytest.mark.parametrize("block", EXAMPLES, ids=[b.code.split("\n")[0] for b in EXAMPLES])
def test_examples_run_as_written(block: Block, clone: Path) -> None:
    programs = {"sh": ["bash", "-euo", "pipefail"], "python": [sys.executable, "-W", "error"]}
    # As in an activated environment: `python` is the one that runs the tests.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        [*programs[block.language], "-c", block.code],
        cwd=clone,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    assert block.output in done.stdout


def test_the_two_commands_are_those_of_make_and_ci() -> None:
    targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), flags=re.M)
    commands = re.findall(r"^make (\w+)", blocks(section("Start"))[0].code, flags=re.M)
    assert commands == ["app", "test"]
    assert {*commands, *re.findall(r"`make (\w+)`", README)} <= set(targets)
    assert (ROOT / ".ci/run").read_text().splitlines()[-1] == "make test"


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_links_within_the_repository_lead_somewhere(page: str) -> None:
    targets = re.findall(r"\]\(([^)#]+)", (ROOT / page).read_text(encoding="utf-8"))
    inside = [target for target in targets if not target.startswith("https://")]
    assert [target for target in inside if not (ROOT / target).exists()] == []


def test_every_benchmark_has_its_line_and_every_line_its_benchmark() -> None:
    files = (ROOT / "benchmarks").glob("*.py")
    there = {file.stem for file in files if "__main__" in file.read_text(encoding="utf-8")}
    assert set(re.findall(r"python -m benchmarks\.(\w+)", section("Measured"))) == there


def read_map() -> dict[str, str]:
    """The README's map, path to the rest of its line; a folder's path ends in a slash."""
    found: dict[str, str] = {}
    folders = [""]
    for line in blocks(section("A map of the rooms"))[0].code.splitlines():
        depth = (len(line) - len(line.lstrip())) // 2
        name, rest = line.split(maxsplit=1)
        path = folders[depth] + name
        folders[depth + 1 :] = [path]
        found[path] = rest
    return found


def test_the_map_is_the_house() -> None:
    """What is on the map exists; a folder that the map looks into is listed there in full."""
    on_map = set(read_map())
    assert [path for path in sorted(on_map) if not (ROOT / path).exists()] == []
    looked_into = {path[: path.rstrip("/").rfind("/") + 1] for path in on_map}
    there = set()
    for folder in looked_into:
        for path in (ROOT / folder).iterdir():
            if path.name.startswith((".", "__")) or path.name == "runs":
                continue
            if path.is_dir():
                there.add(f"{folder}{path.name}/")
            elif path.suffix in (".py", ".js", ".css", ".html"):
                there.add(f"{folder}{path.name}")
    assert sorted(there - on_map) == []


def test_the_map_shows_the_floors_that_the_tests_hold() -> None:
    shown = {
        re.sub(r"(\.py|/)$", "", path).replace("/", "."): int(rest[0])
        for path, rest in read_map().items()
        if rest[0].isdigit()
    }
    assert shown == {room: FLOORS[room] for room in shown}
    assert [*shown.values()] == sorted(shown.values(), reverse=True)
