"""The wheel, installed without the checkout: its commands work and serve the app in any folder."""

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

from tests.browser.home_page import expected_words
from tests.live_app import streamlit_server
from transformer import Translator

ROOT = Path(__file__).resolve().parents[2]
TEXT = "I am a student."
APP_FILES = ("app.py", "pages", "checkpoints", "limits.toml", ".streamlit")
PIP = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    build = ["wheel", str(ROOT), "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder)]
    subprocess.run([*PIP, *build], check=True)
    (built,) = folder.iterdir()
    return built


@pytest.fixture(scope="module")
def commands(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of commands of a new environment with the wheel and its dependencies."""
    environment = tmp_path_factory.mktemp("fresh")
    venv.create(environment, symlinks=True)
    python = next(environment.glob("[bS]*/python*"))
    dependencies = Path(sysconfig.get_path("purelib"))  # those of the tests' own environment
    (packages,) = environment.glob("[lL]ib/**/site-packages")
    (packages / "dependencies.pth").write_text(f"{dependencies}\n")
    install = ["install", "--no-deps", "--no-index", str(wheel)]
    subprocess.run([*PIP, "--python", str(python), *install], check=True)
    return python.parent


def files_below(path: Path) -> list[Path]:
    """Return the files below this folder, or this file, without Python's compiled files."""
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    return [file for file in files if file.suffix != ".pyc"]


def test_the_wheel_has_the_files_of_the_checkout_and_its_commands_work_anywhere(
    wheel: Path, commands: Path, page: Page, tmp_path: Path, en_fr: Translator
) -> None:
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    paths = [path for name in ("transformer", *APP_FILES) for path in files_below(ROOT / name)]
    tracked = [path.relative_to(ROOT).as_posix() for path in paths]
    expected = {n if n.startswith("transformer/") else f"transformer/app/{n}" for n in tracked}
    assert packed == expected

    home, work_folder = tmp_path / "home", tmp_path / "here"
    home.mkdir()
    work_folder.mkdir()
    with streamlit_server(
        [str(commands / "heads-up")],
        folder=work_folder,
        HOME=str(home),
        PYTHONPATH="",
        HEADS_UP_RUNS="",
    ) as (address, _):
        page.goto(f"{address}/?text={quote_plus(TEXT)}")
        translated_words = page.locator(".hu-glance-row").last.locator("button")
        expect(translated_words).to_have_text(expected_words(en_fr, TEXT))
        page.goto(f"{address}/train?run=toy-reverse")
        expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()
        page.goto("about:blank")
    assert not [*work_folder.iterdir()]
    assert [path.name for path in home.iterdir()] == [".heads-up"]

    command = [str(commands / "heads-up"), "translate", TEXT]
    result = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True)
    assert result.stdout == f"{en_fr.translate(TEXT).text}\n"
