"""README, docs and notebooks: their examples run, their links work, the map is up to date."""

from __future__ import annotations

import json
import os
import re
import runpy
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from transformer.exchange import export_marian

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES_WITH_EXAMPLES = [
    ROOT / "README.md",
    *(ROOT / f"docs/{name}.md" for name in ("python", "coming-from", "shell", "import")),
]
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]


class Block(NamedTuple):
    """A fenced block, and the expected output in a `text` block directly below it."""

    language: str
    code: str
    output: str


def blocks(markdown: str) -> list[Block]:
    fenced = r"^```(\w+)\n(.*?)^```$(?:\n\n```text\n(.*?)^```$)?"
    return [Block(*parts) for parts in re.findall(fenced, markdown, flags=re.M | re.S)]


def section(title: str) -> str:
    return README.split(f"\n## {title}\n")[1].split("\n## ")[0]


# An example that is on two pages runs once.
EXAMPLES = [
    *dict.fromkeys(
        block
        for page in PAGES_WITH_EXAMPLES
        for block in blocks(page.read_text(encoding="utf-8"))
        if block.language in ("sh", "python")
    )
]


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the repository, so that the examples do not write into the original."""
    folder = tmp_path_factory.mktemp("clone")
    for package in ("transformer", "checkpoints"):  # all that the examples use
        shutil.copytree(ROOT / package, folder / package)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("block", EXAMPLES, ids=[b.code.split("\n")[0] for b in EXAMPLES])
def test_examples_run_as_written(block: Block, clone: Path, warm_path: str) -> None:
    programs = {"sh": ["bash", "-euo", "pipefail"], "python": ["python", "-W", "error"]}
    process = subprocess.run(
        [*programs[block.language], "-c", block.code],
        cwd=clone,
        env={**os.environ, "PATH": warm_path},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert process.returncode == 0, process.stderr
    assert block.output in process.stdout


def test_the_readme_and_ci_use_commands_of_the_makefile() -> None:
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), flags=re.M)
    commands = re.findall(r"^make (\w+)", blocks(section("Start"))[0].code, flags=re.M)
    assert commands == ["app", "test"]
    assert {*commands, *re.findall(r"`make ([\w-]+)`", README)} <= set(targets)
    assert (ROOT / ".ci/run").read_text().splitlines()[-1] == "make test-all"


def test_every_example_is_found() -> None:
    assert {block.language for block in EXAMPLES} == {"sh", "python"}
    assert len(EXAMPLES) >= 7


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_within_the_repository_exist(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#]+)", page.read_text(encoding="utf-8"))
    relative_targets = [
        target for target in targets if not target.startswith(("https://", "http://"))
    ]
    assert [target for target in relative_targets if not (page.parent / target).exists()] == []


def test_every_documented_benchmark_exists() -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    names = set(re.findall(r"python -m benchmarks\.(\w+)", text))
    assert names
    assert [name for name in names if not (ROOT / f"benchmarks/{name}.py").is_file()] == []


def test_the_map_is_up_to_date() -> None:
    # Not an import, because mypy treats the scripts of docs/ as top-level modules.
    expected = runpy.run_path(str(ROOT / "docs/map.py"))["text"]()
    assert (ROOT / "docs/map.md").read_text(encoding="utf-8") == expected, "run python docs/map.py"


def test_the_readme_shows_the_import_layers() -> None:
    config = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    layers = config["tool"]["importlinter"]["contracts"][0]["layers"][::-1]
    layer_by_name = {
        name.strip(): str(number)
        for number, names in enumerate(layers)
        for name in names.split(":")
    }
    layout = blocks(section("Package layout"))[0].code
    shown = re.findall(r"^transformer/(\w+)(?:/|\.py) +(\d) ", layout, flags=re.M)
    assert len(shown) >= 10
    assert dict(shown) == {name: layer_by_name[name] for name, _ in shown}


def run_notebook(path: Path) -> dict[str, Any]:
    """Run the code cells in one new namespace and return the namespace."""
    namespace: dict[str, Any] = {}
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    for number, cell in enumerate(cells):
        if cell["cell_type"] == "code":
            assert not cell["outputs"], "notebooks are committed without outputs"
            exec(compile("".join(cell["source"]), f"{path.name}, cell {number}", "exec"), namespace)
    return namespace


def test_the_first_notebook_runs_from_top_to_bottom(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    namespace = run_notebook(ROOT / "notebooks/first_look.ipynb")
    assert max(namespace["drops"].values()) > 0.1  # nats: some head matters
    assert len(namespace["drops"]) == namespace["trace"].n_layers * namespace["trace"].n_heads
    alignment, links = namespace["alignment"], namespace["links"]
    pairs = {(alignment.source[s], alignment.target[t]) for s, t in links}
    assert pairs >= {("cat", "chat"), ("not", "pas"), ("eaten", "mangé")}


def test_the_notebook_of_other_models_runs_from_top_to_bottom(
    checkpoints: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The notebook loads a small local model instead of a downloaded one."""
    monkeypatch.chdir(tmp_path)
    export_marian(checkpoints / "tiny", "marian")
    namespace = run_notebook(ROOT / "notebooks/your_own_model.ipynb")
    assert {"figure.html", "view.html", "weights.csv"} <= {file.name for file in tmp_path.iterdir()}
    assert len(namespace["changes"]) == namespace["trace"].n_heads
