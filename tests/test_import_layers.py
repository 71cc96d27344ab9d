"""The import layers: imports point to the same layer or a lower one, without cycles."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import imports
from tests.imports import LAYERS

ROOT = Path(__file__).resolve().parents[1]

# Entry points: `import transformer` and `python -m transformer` may import layers 0 to 5, and only
# entry points may import them.
ENTRY_POINTS = {"transformer", "transformer.cli", "transformer.__main__"}
# Commands that write pages may import transformer/ui. They are imported only when they run.
PAGE_COMMANDS = {"transformer.cli.site"}
# Third-party packages that only these packages may import.
ONLY_IN = {"streamlit": {"app", "pages", "transformer.ui"}}
# Packages that only these packages or modules may import. Only pages draw figures; the exception is
# `Trace.explore()`, which opens the explorer in a notebook.
RESTRICTED = {
    "transformer.figures": {"app", "pages", "transformer.ui", "transformer.inference.trace"},
    # Optional: without it translations are equal, but slower.
    "transformer.inference.fast": {"transformer.inference.acceleration"},
}
# Packages that a package must not import, not even indirectly.
NEVER_REACHED = {"transformer.figures": {"torch", "streamlit", "transformer.model"}}
# Folders of transformer/ui/pages by the file of their page; the rest of transformer/ui is shared.
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
    """Return the folder of the page to which a module belongs; "" for shared modules."""
    parts = module.split(".")
    if parts[0] in ("pages", "app"):
        return PAGES.get(parts[-1], "")
    return parts[3] if parts[:3] == ["transformer", "ui", "pages"] and len(parts) > 3 else ""


def imports_other_page(module: str, name: str) -> bool:
    """Return whether `module` imports `name` from the folder of another page.

    Shared modules may import its `__init__.py`, which declares the parameters of the page's URL.
    """
    page, other_page = page_folder(module), page_folder(name)
    if not name.startswith("transformer.ui.") or other_page in ("", page):
        return False
    return bool(page) or name != f"transformer.ui.pages.{other_page}"


def find_violations(root: Path) -> list[str]:
    """Return a message for every import below `root` that breaks a rule."""
    import_graph = imports.graph(root)
    messages = [
        f"{package_of(m)} has no layer"
        for m in import_graph
        if package_of(m) not in LAYERS.keys() | ENTRY_POINTS
    ]
    if messages:
        return sorted(set(messages))
    for module, names in import_graph.items():
        importer = package_of(module)
        if importer in ENTRY_POINTS:
            layer = 6 if module in PAGE_COMMANDS else 5
        else:
            layer = LAYERS[importer]
        for name in sorted(names):
            if name in ONLY_IN and importer not in ONLY_IN[name]:
                messages.append(f"{module} imports {name}")
            if not is_internal(name):
                continue
            for restricted, allowed in RESTRICTED.items():
                inside = f"{module}.".startswith(f"{restricted}.")
                if not f"{name}.".startswith(f"{restricted}.") or inside:
                    continue
                if not {module, importer} & allowed:
                    messages.append(f"{module} imports {name}, which is not for it")
            if imports_other_page(module, name):
                messages.append(f"{module} imports {name}, of another page")
            imported = package_of(name)
            if imported in ENTRY_POINTS:
                if importer not in ENTRY_POINTS:
                    messages.append(f"{module} imports {name}, an entry point")
            elif imported not in LAYERS:
                messages.append(f"{module} imports {name}, which has no layer")
            elif LAYERS[imported] > layer:
                messages.append(
                    f"{module} (layer {layer}) imports {name} (layer {LAYERS[imported]})"
                )
            if module.startswith(imports.UI) and name.startswith(imports.UI):
                importing_layer, imported_layer = (
                    imports.ui_layer(side, PAGES.values()) for side in (module, name)
                )
                if imported_layer > importing_layer:
                    messages.append(
                        f"{module} (layer {importing_layer} of ui) imports {name} "
                        f"(layer {imported_layer})"
                    )
        for forbidden in sorted(
            NEVER_REACHED.get(importer, set()) & {*imports.reachable_modules(module, import_graph)}
        ):
            messages.append(f"{module} reaches {forbidden}")
    for cycle in (
        imports.find_cycle(import_graph),
        imports.find_cycle(_grouped(import_graph, package_of)),
    ):
        if cycle:
            messages.append("cycle: " + " > ".join(cycle))
    analysis_graph = {
        m: n
        for m, n in import_graph.items()
        if package_of(m) == "transformer.analysis" and m != package_of(m)
    }
    subpackage_graph = _grouped(analysis_graph, lambda module: ".".join(module.split(".")[:3]))
    if cycle := imports.find_cycle(subpackage_graph):
        messages.append("cycle: " + " > ".join(cycle))
    return messages


def _grouped(import_graph: imports.Graph, group: Callable[[str], str]) -> imports.Graph:
    """Return each group of modules with the groups that it imports."""
    groups: imports.Graph = {}
    for module, names in import_graph.items():
        imported_groups = {group(name) for name in names if is_internal(name)} - {group(module)}
        groups.setdefault(group(module), set()).update(imported_groups)
    return groups


def test_imports_respect_the_layers() -> None:
    assert imports.sources(ROOT), "no source found"
    assert find_violations(ROOT) == []


FORBIDDEN_IMPORTS = {
    "upward": ({"text/a.py": "import transformer.model.b", "model/b.py": ""}, "layer 0"),
    "upward inside a function": (
        {
            "config.py": "def f():\n    from transformer.text import a",
            "ui/x.py": "",
            "text/a.py": "",
        }
        | {"model/b.py": "def f():\n    from transformer.ui import x"},
        "transformer.model.b (layer 1) imports transformer.ui.x (layer 6)",
    ),
    "relative upward": (
        {"hooks.py": "from .jobs import queue", "jobs/queue.py": ""},
        "transformer.hooks (layer 0) imports transformer.jobs.queue (layer 5)",
    ),
    "jobs import streamlit": ({"jobs/q.py": "import streamlit as st"}, "imports streamlit"),
    "figures import torch": (
        {"figures/f.py": "import torch.nn"},
        "transformer.figures.f reaches torch",
    ),
    "figures import torch through another package": (
        {"figures/f.py": "from transformer.text import a", "text/a.py": "import torch"},
        "transformer.figures.f reaches torch",
    ),
    "an unknown package": ({"attic/old.py": ""}, "transformer.attic has no layer"),
    "cycle of two files": (
        {"text/a.py": "from . import b", "text/b.py": "from transformer.text.a import c"},
        "cycle: transformer.text.a > transformer.text.b > transformer.text.a",
    ),
    "cycle through an __init__.py": (
        {"text/__init__.py": "from transformer.text.a import c", "text/a.py": "from . import d"},
        "cycle: transformer.text > transformer.text.a > transformer.text",
    ),
    "cycle of two packages": (
        {"analysis/a.py": "import transformer.training.a", "training/a.py": ""}
        | {"training/b.py": "import transformer.analysis.b", "analysis/b.py": ""},
        "cycle: transformer.analysis > transformer.training > transformer.analysis",
    ),
    "cycle of two packages of analysis": (
        {"analysis/x/a.py": "from transformer.analysis.y import a", "analysis/y/a.py": ""}
        | {"analysis/y/b.py": "from transformer.analysis.x import b", "analysis/x/b.py": ""},
        "cycle: transformer.analysis.x > transformer.analysis.y > transformer.analysis.x",
    ),
    "the analysis imports figures": (
        {"figures/words.py": "", "analysis/a.py": "from transformer.figures import words"},
        "transformer.analysis.a imports transformer.figures.words, which is not for it",
    ),
    "another module imports the fast backend": (
        {"inference/fast/a.py": "", "inference/b.py": "from transformer.inference.fast import a"},
        "transformer.inference.b imports transformer.inference.fast.a, which is not for it",
    ),
    "a page imports another page": (
        {
            "ui/pages/lab/a.py": "from transformer.ui.pages.training import b",
            "ui/pages/training/b.py": "",
        },
        "transformer.ui.pages.lab.a imports transformer.ui.pages.training.b, of another page",
    ),
    "a shared module imports a page": (
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
    "a service imports a widget": (
        {"ui/services/a.py": "from transformer.ui.widgets import b", "ui/widgets/b.py": ""},
        "transformer.ui.services.a (layer 3 of ui) imports transformer.ui.widgets.b (layer 5)",
    ),
    "state imports a service": (
        {"ui/state.py": "from transformer.ui.services.a import b", "ui/services/a.py": ""},
        "transformer.ui.state (layer 2 of ui) imports transformer.ui.services.a (layer 3)",
    ),
    "a module imports an entry point": (
        {"__init__.py": "", "model/a.py": "from transformer import Hooks"},
        "transformer.model.a imports transformer, an entry point",
    ),
    "the command line imports ui": (
        {"cli.py": "from transformer.ui import x", "ui/x.py": ""},
        "transformer.cli (layer 5) imports transformer.ui.x (layer 6)",
    ),
}


@pytest.mark.parametrize("case", FORBIDDEN_IMPORTS)
def test_a_forbidden_import_is_found(case: str, tmp_path: Path) -> None:
    files, message = FORBIDDEN_IMPORTS[case]
    for name, source in files.items():
        file = tmp_path / "transformer" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(source)
    assert message in "\n".join(find_violations(tmp_path))


def test_allowed_imports_give_no_message(tmp_path: Path) -> None:
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
    assert find_violations(tmp_path) == []


def test_no_module_imports_a_test_file() -> None:
    """Shared code belongs in a helper, so that test files can be split, renamed and merged."""
    pattern = re.compile(r"^ *(?:from|import)\b[^\n(]*(?:\([^)]*)?\btest_", re.M)
    assert pattern.search("import os\nfrom tests.ui import (\n    conftest,\n    test_gate,\n)\n")
    files = ROOT.glob("[a-z]*/**/*.py")
    assert [str(file) for file in files if pattern.search(file.read_text("utf-8"))] == []


def _loaded(program: str, path: str = "") -> set[str]:
    """Return the modules that are loaded after this program has run in a new process, whose
    `python` is the first on this PATH."""
    process = subprocess.run(
        ["python" if path else sys.executable, "-c", f"import sys; {program}; print(*sys.modules)"],
        cwd=ROOT,
        env={**os.environ, "PATH": path or os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=True,
    )
    return {*process.stdout.split()}


def test_importing_a_translator_loads_neither_pages_nor_plotly(warm_path: str) -> None:
    loaded = _loaded("from transformer import Hooks, Translator", warm_path)
    assert loaded & {"plotly", "streamlit", "sacrebleu", "scipy"} == set()
    assert {"torch", "transformer"} <= loaded


def test_pages_do_not_import_what_only_measurements_need(warm_path: str) -> None:
    loaded = _loaded("import transformer.ui.shell.asgi", warm_path)
    assert {"scipy.stats", "scipy.optimize"} & loaded == set()


def test_supervising_processes_do_not_import_torch() -> None:
    """Only the child processes that train or compute import torch."""
    supervisors = ("jobs.worker", "jobs.compute_process", "cluster.host")
    loaded = _loaded("; ".join(f"import transformer.{name}" for name in supervisors))
    assert "torch" not in loaded
    assert "transformer.jobs.worker" in loaded
