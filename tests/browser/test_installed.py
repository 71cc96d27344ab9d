"""The wheel: installed beside nothing of ours, `heads-up` serves the app from any folder."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path
from urllib.parse import quote_plus

import pytest
from playwright.sync_api import Page, expect

from benchmarks.browser import started
from transformer import Translator

ROOT = Path(__file__).resolve().parents[2]
TEXT = "I am a student."
INTO_IT = ("app.py", "pages", "checkpoints", "limits.toml", ".streamlit")
PIP = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    build = ["wheel", str(ROOT), "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder)]
    subprocess.run([*PIP, *build], check=True)
    (found,) = folder.iterdir()
    return found


@pytest.fixture(scope="module")
def commands(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of commands of a fresh environment that has the wheel, and what it needs."""
    made = tmp_path_factory.mktemp("fresh")
    venv.create(made, symlinks=True)
    python = next(made.glob("[bS]*/python*"))
    needed = Path(sysconfig.get_path("purelib"))  # as pip would fetch it
    (packages,) = made.glob("[lL]ib/**/site-packages")
    (packages / "needed.pth").write_text(f"{needed}\n")
    install = ["install", "--no-deps", "--no-index", str(wheel)]
    subprocess.run([*PIP, "--python", str(python), *install], check=True)
    return python.parent


def every(path: Path) -> list[Path]:
    """The files below, or this one; without what Python compiled."""
    files = [path] if path.is_file() else [one for one in path.rglob("*") if one.is_file()]
    return [one for one in files if one.suffix != ".pyc"]


def test_the_wheel_has_what_the_checkout_has_and_nothing_else(wheel: Path) -> None:
    held = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    found = [path for name in ("transformer", *INTO_IT) for path in every(ROOT / name)]
    kept = [path.relative_to(ROOT).as_posix() for path in found]
    ours = {n if n.startswith("transformer/") else f"transformer/app/{n}" for n in kept}
    assert held == ours


def test_the_command_serves_the_app_from_any_folder(
    commands: Path, page: Page, tmp_path: Path, en_fr: Translator
) -> None:
    home, here = tmp_path / "home", tmp_path / "here"
    home.mkdir()
    here.mkdir()
    with started(
        [str(commands / "heads-up")], folder=here, HOME=str(home), PYTHONPATH="", HEADS_UP_RUNS=""
    ) as (address, _):
        page.goto(f"{address}/translate?text={quote_plus(TEXT)}")
        expect(page.locator(".hu-text")).to_have_text(en_fr.translate(TEXT).text)
        page.goto(f"{address}/train?run=toy-reverse")
        expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()
        page.goto("about:blank")
    assert not [*here.iterdir()]
    assert [path.name for path in home.iterdir()] == [".heads-up"]


def test_every_command_is_there(commands: Path, tmp_path: Path, en_fr: Translator) -> None:
    asked = [str(commands / "heads-up"), "translate", TEXT]
    found = subprocess.run(asked, cwd=tmp_path, check=True, capture_output=True, text=True)
    assert found.stdout == f"{en_fr.translate(TEXT).text}\n"
