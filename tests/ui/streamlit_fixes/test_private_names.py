"""Private names of Streamlit are in the fixes only; the checks fail if used elsewhere."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.private_names import main, private_names, private_names_by_file
from transformer.ui import streamlit_fixes

ROOT = Path(__file__).resolve().parents[3]
FOLDER = Path(streamlit_fixes.__file__).parent


def test_private_names_are_only_in_the_fixes() -> None:
    files = private_names_by_file(ROOT)
    assert {file.parent for file in files} == {FOLDER}
    assert {file.stem for file in files} == {*streamlit_fixes.FIXES}
    assert len(files) <= 4


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("from streamlit.runtime import Runtime", "streamlit.runtime.Runtime"),
        ("from streamlit import runtime", "streamlit.runtime"),
        ("import streamlit.web.cli", "streamlit.web.cli"),
        ("from streamlit.navigation.page import _create_page", None),
        ("from starlette._utils import is_async_callable", None),
        ("import asyncio\nasyncio.base_events._set_nodelay", "asyncio.base_events._set_nodelay"),
        ("import streamlit as st\nst._config", "st._config"),
        ("def f(session): return session._scriptrunner", "session._scriptrunner"),
        ("def _old(): ...\nsetattr(module, '_old', _old)", "module._old"),
    ],
)
def test_the_check_reports_private_names(source: str, expected: str | None) -> None:
    names = private_names(source)
    assert len(names) == 1
    assert expected in (None, *names)


def test_public_and_own_names_are_allowed() -> None:
    assert not private_names("import streamlit as st\nfrom starlette.routing import Route\nst.App")
    own_names = "class A:\n  def __init__(self): self._b = 1\ndef f(a: A): return a._b, a.__dict__"
    assert not private_names(own_names)


def test_the_command_prints_private_names(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "app.py").write_text("import streamlit.runtime\n")
    monkeypatch.setattr(sys, "argv", ["private_names", str(tmp_path)])
    main()
    assert capsys.readouterr().out == "app.py: streamlit.runtime\n1 private names in 1 files\n"


@pytest.mark.parametrize(
    ("file", "banned"),
    [("shell/page.py", True), ("streamlit_fixes/stale_fragment_reruns.py", False)],
)
def test_ruff_bans_private_modules_outside_the_fixes(file: str, banned: bool) -> None:
    modules = ["runtime", "web", "proto", "cli_util", "net_util", "file_util"]
    command = ["-m", "ruff", "check", "--output-format", "concise", "--select", "TID251"]
    result = subprocess.run(
        [sys.executable, *command, "--stdin-filename", f"transformer/ui/{file}", "-"],
        input="".join(f"import streamlit.{module}\n" for module in modules),
        text=True,
        capture_output=True,
        cwd=ROOT,
        check=False,
    )
    lines = [line for line in result.stdout.splitlines() if "TID251" in line]
    assert [f":{n}:" in line for n, line in enumerate(lines, 1)] == [True] * len(lines), lines
    assert len(lines) == (len(modules) if banned else 0), result.stdout
    assert result.returncode == int(banned)
