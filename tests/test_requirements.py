"""Pinned requirements are exact, installed, used and explained."""

from __future__ import annotations

import importlib.metadata
import re
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from streamlit.web import bootstrap

from tests import imports
from transformer.training.run_log import TRACKERS

ROOT = Path(__file__).resolve().parents[1]


def pins(name: str) -> dict[str, Requirement]:
    """The packages that a requirements file names itself, without those it takes from another."""
    lines = (line.split("#")[0].strip() for line in (ROOT / name).read_text().splitlines())
    named = [Requirement(line) for line in lines if line and not line.startswith("-r ")]
    return {requirement.name: requirement for requirement in named}


EXTRAS = ("cluster", "widget")
"""Optional extras with a requirements file of their own; the others are in requirements-dev.txt."""
ONE_MODULE = {
    "hub": (("huggingface_hub",), "transformer.exchange.hub"),
    "widget": (("anywidget", "traitlets"), "transformer.figures.widget"),
    "xarray": (("xarray",), "transformer.inference.xarray_dataset"),
}
"""Extras that one module alone needs: the packages it imports, and the module."""
FILES = [
    "requirements.txt",
    *(f"requirements-{name}.txt" for name in (*EXTRAS, "dev", "docs", "benchmarks")),
]


@pytest.mark.parametrize("name", FILES)
def test_every_requirement_is_pinned(name: str) -> None:
    for requirement in pins(name).values():
        assert re.fullmatch(r"==[\d.]+", str(requirement.specifier)), requirement


@pytest.mark.parametrize("name", FILES[:-2])
def test_installed_versions_equal_the_pinned_ones(name: str) -> None:
    for package, requirement in pins(name).items():
        assert requirement.specifier.contains(importlib.metadata.version(package)), package


def test_the_packages_ranges_include_the_pinned_versions() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    for requirements, file in (
        (project["dependencies"], "requirements.txt"),
        *((extras[name], f"requirements-{name}.txt") for name in EXTRAS),
    ):
        ranges = {parsed.name: parsed for parsed in map(Requirement, requirements)}
        exact = pins(file)
        assert ranges.keys() == exact.keys()
        for name, requirement in exact.items():
            (pin,) = requirement.specifier
            assert ranges[name].specifier.contains(pin.version), name
            operators = {part.operator for part in ranges[name].specifier}
            # Streamlit: the one release whose private names the fixes were tested with.
            assert operators == ({"=="} if name == "streamlit" else {">=", "<"}), name


def test_the_ranges_of_other_extras_include_installed_versions() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    exact = pins("requirements-dev.txt") | pins("requirements-docs.txt")
    extras = project["optional-dependencies"]
    assert {*EXTRAS, *ONE_MODULE, *TRACKERS, "docs"} == {*extras}
    for name in {*ONE_MODULE, "tensorboard", "docs"}.difference(
        EXTRAS
    ):  # trackio and wandb are tested with fakes
        for requirement in map(Requirement, extras[name]):
            (pin,) = exact[requirement.name].specifier
            assert requirement.specifier.contains(pin.version), requirement
            assert {part.operator for part in requirement.specifier} == {">=", "<"}


def test_imported_packages_are_pinned() -> None:
    links = imports.graph(ROOT)
    internal = {"app", "pages", "transformer", "__future__"}
    foreign = {name for names in links.values() for name in names if "." not in name}
    foreign -= internal | sys.stdlib_module_names
    # uvloop is not imported: Streamlit uses it if installed (its extra "performance").
    optional = {"distributed"} | pins("requirements-widget.txt").keys()
    optional |= {package for packages, _ in ONE_MODULE.values() for package in packages}
    assert foreign == (pins("requirements.txt").keys() | optional) - {"uvloop"}


def test_the_server_uses_the_pinned_event_loop() -> None:
    if sys.platform == "win32":
        pytest.skip("uvloop does not support Windows")
    run = bootstrap._get_uvloop_loop_factory()
    assert run is not None
    loop = run()
    loop.close()
    assert type(loop).__module__.startswith("uvloop")


def test_only_the_cluster_imports_its_extra() -> None:
    links = imports.graph(ROOT)
    extra = {name for name, needed in links.items() if "distributed" in needed}
    assert extra
    assert {name.rpartition(".")[0] for name in extra} == {"transformer.cluster"}


@pytest.mark.parametrize(("packages", "module"), ONE_MODULE.values(), ids=ONE_MODULE.keys())
def test_each_other_extra_is_imported_by_one_module(packages: tuple[str, ...], module: str) -> None:
    links = imports.graph(ROOT)
    assert [name for name, needed in links.items() if {*packages} & needed] == [module]


def test_the_readme_gives_a_reason_for_each_package() -> None:
    table = (ROOT / "README.md").read_text(encoding="utf-8").split("\n| package | why |\n")[1]
    rows = re.findall(r"^\| ([\w-]+) \| .+ \|$", table.split("\n\n")[0], flags=re.M)
    assert sorted(rows) == sorted(pins("requirements.txt"))
