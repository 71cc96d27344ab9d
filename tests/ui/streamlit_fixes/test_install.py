"""`install` accepts the tested Streamlit and exits with one sentence for any other."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import streamlit

from transformer.ui.base import streamlit_fixes
from transformer.ui.base.streamlit_fixes import FIXES, interrupted_callbacks
from transformer.ui.base.streamlit_fixes.checks import changed_signatures, missing_attributes

ROOT = Path(__file__).resolve().parents[3]
FOLDER = Path(streamlit_fixes.__file__).parent
install = streamlit_fixes.install.__wrapped__  # without the cache, so that every test runs it


def test_the_tested_release_is_the_pinned_one() -> None:
    pinned = re.search(r'"streamlit==(.+)\.\*"', (ROOT / "pyproject.toml").read_text("utf-8"))
    assert pinned
    assert pinned[1] == streamlit_fixes.TESTED_RELEASE
    exact = re.search(r"^streamlit==(.+)$", (ROOT / "requirements.txt").read_text("utf-8"), re.M)
    assert exact
    assert exact[1] == streamlit_fixes.TESTED_VERSION


@pytest.mark.parametrize("version", ["1.66.1", "1.66.2.dev20261026", "1.68.0", "2.0.0"])
def test_another_release_exits_with_one_sentence(
    version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streamlit, "__version__", version)
    with pytest.raises(SystemExit) as exit_info:
        install()
    assert str(exit_info.value) == (
        f"Heads Up works with Streamlit 1.67, and {version} is installed: run "
        'python -m pip install "streamlit==1.67.*".'
    )


def test_a_changed_signature_exits_with_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interrupted_callbacks, "changes", lambda: ["Some.method(a) was (b)"])
    with pytest.raises(SystemExit, match=r"^Streamlit .*Some\.method\(a\) was \(b\).*1\.67\.0"):
        install()


class Example:
    def __init__(self) -> None:
        self._present = 1

    def run(self, data: int) -> None: ...


def test_changed_signatures_and_missing_attributes_are_reported() -> None:
    assert changed_signatures(Example, run="self, data") == []
    assert changed_signatures(Example, run="self") == ["Example.run(self, data) was (self)"]
    assert missing_attributes(Example, "_present", "run", "_missing") == [
        "Example._missing is missing"
    ]


def test_every_fix_is_installed_and_tested() -> None:
    files = {path.stem for path in FOLDER.glob("*.py")} - {"__init__", "checks"}
    assert files == {*FIXES}
    assert all(Path(__file__).with_name(f"test_{name}.py").is_file() for name in FIXES)
