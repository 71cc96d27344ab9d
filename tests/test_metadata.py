"""Metadata of the package, and its citation file."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from transformer.app_folders import named_checkpoints

ROOT = Path(__file__).resolve().parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]


def test_the_licences_are_those_of_code_and_checkpoints() -> None:
    licences = set(PROJECT["license"].split(" AND "))
    assert licences == {"MIT", "CC-BY-2.0"}
    image = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    assert f'image.licenses="{PROJECT["license"]}"' in image
    for name in ("en-de", "en-fr"):
        card = named_checkpoints()[name] / "README.md"
        licence = re.search(r"^license: (\S+)$", card.read_text(encoding="utf-8"), flags=re.M)
        assert licence is not None
        assert licence[1].upper() in licences
        assert card.relative_to(ROOT).as_posix() in PROJECT["license-files"]


def test_the_long_description_has_no_relative_links() -> None:
    """A package index shows only this file, so relative images and links would not work there."""
    text = (ROOT / PROJECT["readme"]).read_text(encoding="utf-8")
    assert "![" not in text
    assert "<img" not in text
    assert all(link.startswith("https://") for link in re.findall(r"\]\((.*?)\)", text))
    assert (
        f"/{PROJECT['readme']}"
        in PYPROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    )


def test_the_files_with_the_public_address_exist() -> None:
    """CONTRIBUTING.md lists the files that publishers of a copy must change."""
    section = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split("\n## Publish\n")[1]
    assert "[project.urls]" in section
    assert PROJECT["urls"]
    assert all(url.startswith("https://") for url in PROJECT["urls"].values())
    for name in re.findall(r"^\| .*?`(\w+\.?\w+)`", section, flags=re.M):
        assert (ROOT / name).is_file(), name
    assert "YOUR-NAME" in (ROOT / "README.md").read_text(encoding="utf-8")
