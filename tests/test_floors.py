"""The import layers: imports point to the same layer or a lower one, without cycles."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import imports
from tests.imports import FLOORS

ROOT = Path(__file__).resolve().parents[1]

# The doors: `import transformer` and `python -m transformer` may look into floors 0 to 5, and
# nothing may look into them but each other.
DOORS = {"transformer", "transformer.cli", "transformer.__main__"}
# Commands that write what pages show: they look into the pages' rooms, and are read when asked for.
OF_PAGES = {"transformer.cli.site"}
# May be imported here alone.
ONLY_IN = {"streamlit": {"app", "pages", "transformer.ui"}}
# Packages that these rooms or modules alone may import: figures draw, everything else computes.
# `Trace.explore()` opens the explorer in a notebook; `cli.site` writes pages.
PRIVATE = {
    "transformer.figures": {"app", "pages", "transformer.ui", "transformer.inference.trace"},
    # Optional: without it every translation is the same, later.
    "transformer.inference.fast": {"transformer.inference.acceleration"},
}
# May not be reached from here, not even through another room.
NEVER_IN = {"transformer.figures": {"torch", "streamlit", "transformer.model"}}
# Folders of transformer/ui that are one page's, by its file; all else there is shared.
PAGES = {
    **{page: page for page in ("attention", "findings", "inside", "lab", "positions", "why")},
    "app": "home",
    "class": "classroom",
    "train": "training",
    "translate": "translate",
}


def package_of(module: str) -> str:
    """Return the package of a module: `transformer.text.corpus` belongs to `transformer.text`."""
    parts = module.split(".")
    return ".".join(parts[:2]) if parts[0] == "transformer" else parts[0]


def is_internal(name: str) -> bool:
    return name.split(".")[0] in {"app", "pages", "transformer"}


def page_folder(module: str) -> str:
    """The folder of the page that a file or a module belongs to; "" for what all pages share."""
    parts = module.split(".")
    if parts[0] in ("pages", "app"):
        return PAGES.get(parts[-1], "")
    return parts[3] if parts[:3] == ["transformer", "ui", "pages"] and len(parts) > 3 else ""


def between_pages(module: str, name: str) -> bool:
    """Whether an import reaches into another page's folder. What all share may ask its front, where
    the page declares the parameters of its URL."""
    page, other_page = page_folder(module), page_folder(name)
    if not name.startswith("transformer.ui.") or other_page in ("", page):
        return False
    return bool(page) or name != f"transformer.ui.pages.{other_page}"


def faults(root: Path) -> list[str]:
    """Return a message for every import below `root` that breaks a rule."""
    links = imports.graph(root)
    messages = [
        f"{package_of(m)} has no floor" for m in links if package_of(m) not in FLOORS.keys() | DOORS
    ]
    if messages:
        return sorted(set(messages))
    for module, names in links.items():
        importer = package_of(module)
        floor = (6 if module in OF_PAGES else 5) if importer in DOORS else FLOORS[importer]
        for name in sorted(names):
            if name in ONLY_IN and importer not in ONLY_IN[name]:
                messages.append(f"{module} imports {name}")
            if not is_internal(name):
                continue
            for private, allowed in PRIVATE.items():
                inside = f"{module}.".startswith(f"{private}.")
                if not f"{name}.".startswith(f"{private}.") or inside:
                    continue
                if not {module, importer} & allowed:
                    messages.append(f"{module} imports {name}, which is not for it")
            if between_pages(module, name):
                messages.append(f"{module} imports {name}, of another page")
            imported = package_of(name)
            if imported in DOORS:
                if importer not in DOORS:
                    messages.append(f"{module} imports {name}, a door")
            elif imported not in FLOORS:
                messages.append(f"{module} imports {name}, which has no floor")
            elif FLOORS[imported] > floor:
                messages.append(
                    f"{module} (floor {floor}) imports {name} (floor {FLOORS[imported]})"
                )
            if module.startswith(imports.UI) and name.startswith(imports.UI):
                below, above = (imports.ui_layer(name_, PAGES.values()) for name_ in (module, name))
                if above > below:
                    messages.append(
                        f"{module} (layer {below} of ui) imports {name} (layer {above})"
                    )
        for bad in sorted(NEVER_IN.get(importer, set()) & {*imports.reach(module, links)}):
            messages.append(f"{module} reaches {bad}")
    for cycle in (imports.circle(links), imports.circle(_folded(links, package_of))):
        if cycle:
            messages.append("circle: " + " > ".join(cycle))
    inner = {
        m: n
        for m, n in links.items()
        if package_of(m) == "transformer.analysis" and m != package_of(m)
    }
    if cycle := imports.circle(_folded(inner, lambda module: ".".join(module.split(".")[:3]))):
        messages.append("circle: " + " > ".join(cycle))
    return messages


def _folded(links: imports.Graph, fold: Callable[[str], str]) -> imports.Graph:
    """Rooms with the rooms that they import."""
    rooms: imports.Graph = {}
    for module, names in links.items():
        other_packages = {fold(name) for name in names if is_internal(name)} - {fold(module)}
        rooms.setdefault(fold(module), set()).update(other_packages)
    return rooms


def test_imports_keep_to_the_floors() -> None:
    assert imports.sources(ROOT), "no source found"
    assert faults(ROOT) == []


BROKEN = {
    "upward": ({"text/a.py": "import transformer.model.b", "model/b.py": ""}, "floor 0"),
    "upward inside a function": (
        {
            "config.py": "def f():\n    from transformer.text import a",
            "ui/x.py": "",
            "text/a.py": "",
        }
        | {"model/b.py": "def f():\n    from transformer.ui import x"},
        "transformer.model.b (floor 1) imports transformer.ui.x (floor 6)",
    ),
    "relative upward": (
        {"hooks.py": "from .jobs import queue", "jobs/queue.py": ""},
        "transformer.hooks (floor 0) imports transformer.jobs.queue (floor 5)",
    ),
    "streamlit low down": ({"jobs/q.py": "import streamlit as st"}, "imports streamlit"),
    "torch in figures": (
        {"figures/f.py": "import torch.nn"},
        "transformer.figures.f reaches torch",
    ),
    "torch behind figures": (
        {"figures/f.py": "from transformer.text import a", "text/a.py": "import torch"},
        "transformer.figures.f reaches torch",
    ),
    "a room nobody knows": ({"attic/old.py": ""}, "transformer.attic has no floor"),
    "circle of two files": (
        {"text/a.py": "from . import b", "text/b.py": "from transformer.text.a import c"},
        "circle: transformer.text.a > transformer.text.b > transformer.text.a",
    ),
    "circle through a room's front": (
        {"text/__init__.py": "from transformer.text.a import c", "text/a.py": "from . import d"},
        "circle: transformer.text > transformer.text.a > transformer.text",
    ),
    "circle of two rooms": (
        {"analysis/a.py": "import transformer.training.a", "training/a.py": ""}
        | {"training/b.py": "import transformer.analysis.b", "analysis/b.py": ""},
        "circle: transformer.analysis > transformer.training > transformer.analysis",
    ),
    "circle of two rooms of analysis": (
        {"analysis/x/a.py": "from transformer.analysis.y import a", "analysis/y/a.py": ""}
        | {"analysis/y/b.py": "from transformer.analysis.x import b", "analysis/x/b.py": ""},
        "circle: transformer.analysis.x > transformer.analysis.y > transformer.analysis.x",
    ),
    "a figure in the analysis": (
        {"figures/words.py": "", "analysis/a.py": "from transformer.figures import words"},
        "transformer.analysis.a imports transformer.figures.words, which is not for it",
    ),
    "what is only fast, outside": (
        {"inference/fast/a.py": "", "inference/b.py": "from transformer.inference.fast import a"},
        "transformer.inference.b imports transformer.inference.fast.a, which is not for it",
    ),
    "a page into another's folder": (
        {
            "ui/pages/lab/a.py": "from transformer.ui.pages.training import b",
            "ui/pages/training/b.py": "",
        },
        "transformer.ui.pages.lab.a imports transformer.ui.pages.training.b, of another page",
    ),
    "what all share into a page": (
        {
            "ui/widgets/frame.py": "from transformer.ui.pages.lab import a",
            "ui/pages/lab/a.py": "",
        },
        "transformer.ui.widgets.frame imports transformer.ui.pages.lab.a, of another page",
    ),
    "upward inside ui": (
        {"ui/widgets/a.py": "from transformer.ui.shell import page", "ui/shell/page.py": ""},
        "transformer.ui.widgets.a (layer 5 of ui) imports transformer.ui.shell.page (layer 6)",
    ),
    "a service into a widget": (
        {"ui/services/a.py": "from transformer.ui.widgets import b", "ui/widgets/b.py": ""},
        "transformer.ui.services.a (layer 3 of ui) imports transformer.ui.widgets.b (layer 5)",
    ),
    "state into a service": (
        {"ui/state.py": "from transformer.ui.services.a import b", "ui/services/a.py": ""},
        "transformer.ui.state (layer 2 of ui) imports transformer.ui.services.a (layer 3)",
    ),
    "the front door from inside": (
        {"__init__.py": "", "model/a.py": "from transformer import Hooks"},
        "transformer.model.a imports transformer, a door",
    ),
    "the command line into the pages": (
        {"cli.py": "from transformer.ui import x", "ui/x.py": ""},
        "transformer.cli (floor 5) imports transformer.ui.x (floor 6)",
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_rule_is_found(case: str, tmp_path: Path) -> None:
    files, fault = BROKEN[case]
    for name, source in files.items():
        file = tmp_path / "transformer" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(source)
    assert fault in "\n".join(faults(tmp_path))


def test_a_sound_house_has_no_fault(tmp_path: Path) -> None:
    files = {
        "app.py": "import streamlit\nfrom transformer.ui.shell import page",
        "pages/translate.py": "import streamlit\nimport transformer.inference.translator",
        "transformer/__init__.py": "from transformer.inference.translator import Translator",
        "transformer/__main__.py": "from transformer.cli import main",
        "transformer/cli.py": "from transformer import Translator\nimport transformer.training.a",
        "transformer/ui/shell/page.py": "import streamlit\n"
        "from transformer.figures import heatmap\nfrom transformer.ui.pages.lab import Lab",
        "transformer/ui/pages/lab/__init__.py": "Lab = 1",
        "transformer/figures/heatmap.py": "import plotly",
        "transformer/inference/translator.py": "from ..model import layers",
        "transformer/model/__init__.py": "from transformer.model.layers import Layer",
        "transformer/model/layers.py": "import torch\nfrom transformer.model.attention import A",
        "transformer/model/attention.py": "import torch\nfrom transformer.config import C",
        "transformer/config.py": "",
        "transformer/training/a.py": "from transformer.text import corpus",
        "transformer/text/corpus.py": "from pathlib import Path",
    }
    for name, source in files.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(source)
    assert faults(tmp_path) == []


def test_nobody_imports_from_a_test_file() -> None:
    """It could not be split, renamed or joined alone: shared code belongs in a helper."""
    pattern = re.compile(r"^ *(?:from|import)\b[^\n(]*(?:\([^)]*)?\btest_", re.M)
    assert pattern.search("import os\nfrom tests.ui import (\n    conftest,\n    test_gate,\n)\n")
    files = ROOT.glob("[a-z]*/**/*.py")
    assert [str(file) for file in files if pattern.search(file.read_text("utf-8"))] == []


def _loaded(program: str) -> set[str]:
    """Every module that a new process has after this program."""
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; {program}; print(*sys.modules)"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return {*done.stdout.split()}


def test_a_translator_is_imported_without_the_pages_and_plotly() -> None:
    loaded = _loaded("from transformer import Hooks, Translator")
    assert loaded & {"plotly", "streamlit", "sacrebleu", "scipy"} == set()
    assert {"torch", "transformer"} <= loaded


def test_a_page_waits_for_nothing_that_only_measurements_need() -> None:
    loaded = _loaded("import transformer.ui.shell.asgi")
    assert {"scipy.stats", "scipy.optimize"} & loaded == set()


def test_who_only_watches_over_jobs_has_no_torch() -> None:
    """Only child processes that train or compute import it."""
    watches = ("jobs.worker", "jobs.compute_process", "cluster.host")
    loaded = _loaded("; ".join(f"import transformer.{name}" for name in watches))
    assert "torch" not in loaded
    assert "transformer.jobs.worker" in loaded
