"""Pinned requirements are exact, installed and explained."""

from __future__ import annotations

import importlib.metadata
import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[1]


def pins(name: str) -> dict[str, Requirement]:
    """Return the requirements in a file by package name, without those of included files."""
    lines = (line.split("#")[0].strip() for line in (ROOT / name).read_text().splitlines())
    requirements = [Requirement(line) for line in lines if line and not line.startswith("-r ")]
    return {requirement.name: requirement for requirement in requirements}


EXTRAS = ("cluster", "widget")
"""Optional extras with their own requirements file; the others are in requirements-dev.txt."""
FILES = [
    "requirements.txt",
    *(f"requirements-{name}.txt" for name in (*EXTRAS, "dev", "docs")),
]


@pytest.mark.parametrize("name", FILES)
def test_every_requirement_is_pinned(name: str) -> None:
    for requirement in pins(name).values():
        assert re.fullmatch(r"==[\d.]+", str(requirement.specifier)), requirement


@pytest.mark.parametrize("name", FILES[:-1])
def test_installed_versions_equal_the_pinned_ones(name: str) -> None:
    for package, requirement in pins(name).items():
        assert requirement.specifier.contains(importlib.metadata.version(package)), package


def test_version_ranges_include_the_pinned_versions() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    for requirements, file in (
        (project["dependencies"], "requirements.txt"),
        *((extras[name], f"requirements-{name}.txt") for name in EXTRAS),
    ):
        ranges = {parsed.name: parsed for parsed in map(Requirement, requirements)}
        pinned = pins(file)
        assert ranges.keys() == pinned.keys()
        for name, requirement in pinned.items():
            (pin,) = requirement.specifier
            assert ranges[name].specifier.contains(pin.version), name
            operators = {part.operator for part in ranges[name].specifier}
            # Streamlit is pinned exactly, because the app uses its private names.
            assert operators == ({"=="} if name == "streamlit" else {">=", "<"}), name


def test_the_ranges_of_other_extras_include_installed_versions() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pinned = pins("requirements-dev.txt") | pins("requirements-docs.txt")
    extras = project["optional-dependencies"]
    for name in extras.keys() - {*EXTRAS}:
        for requirement in map(Requirement, extras[name]):
            (pin,) = pinned[requirement.name].specifier
            assert requirement.specifier.contains(pin.version), requirement
            assert {part.operator for part in requirement.specifier} == {">=", "<"}


def test_the_readme_gives_a_reason_for_each_package() -> None:
    table = (ROOT / "README.md").read_text(encoding="utf-8").split("\n| package | why |\n")[1]
    rows = re.findall(r"^\| ([\w-]+) \| .+ \|$", table.split("\n\n")[0], flags=re.M)
    assert sorted(rows) == sorted(pins("requirements.txt"))
