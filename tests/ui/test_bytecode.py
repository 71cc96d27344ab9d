"""Pages compile while other threads parse: Streamlit's "script compilation error" of one
visitor in 190, while strangers wrote to the server.

Whenever nobody is connected Streamlit forgets the bytecode of its scripts. With "magic" on it then
parses them into objects of Python (`ast.parse`), which counts its depth for all threads together
before Python 3.11.8 (gh-106905): where a collection of garbage lets another thread parse meanwhile,
as `numpy.load` does with each header, SystemError. Our pages use no magic, and so it is off.
"""

from __future__ import annotations

import ast
import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from streamlit import config
from streamlit.runtime.scriptrunner.script_cache import ScriptCache

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ["app.py", *(f"pages/{path.name}" for path in sorted((ROOT / "pages").glob("*.py")))]


@contextmanager
def others_parse() -> Iterator[None]:
    """Let another thread parse during every garbage collection of this one."""
    begin, done, over = threading.Event(), threading.Event(), threading.Event()

    def parse() -> None:
        while begin.wait() and not over.is_set():
            begin.clear()
            ast.parse("1" + " + 1" * 40)
            done.set()

    parser, main_thread, busy = threading.Thread(target=parse), threading.current_thread(), [False]
    parser.start()

    def meanwhile(phase: str, _: object) -> None:
        if phase == "start" and threading.current_thread() is main_thread and not busy[0]:
            busy[0] = True  # the waiting thread creates garbage too
            begin.set()
            done.wait(5)
            done.clear()
            busy[0] = False

    before = gc.get_threshold()
    gc.callbacks.append(meanwhile)
    gc.set_threshold(20)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.callbacks.remove(meanwhile)
        over.set()
        begin.set()
        parser.join()


def test_pages_run_without_streamlit_magic() -> None:
    """No page has a bare expression, which Streamlit's magic would show."""
    assert config.get_option("runner.magicEnabled") is False
    for script in SCRIPTS:
        for node in ast.walk(ast.parse((ROOT / script).read_text(encoding="utf-8"))):
            if isinstance(node, ast.Expr):
                assert isinstance(node.value, ast.Call | ast.Constant), f"{script}:{node.lineno}"


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_page_compiles_while_other_threads_parse(script: str) -> None:
    with others_parse():
        ScriptCache().get_bytecode(str(ROOT / script))
