"""Pages compile while other threads parse.

Under load, one visitor in 190 got Streamlit's "script compilation error". Streamlit forgets the
bytecode of its scripts when nobody is connected. With "magic" on, it then calls `ast.parse`, which
before Python 3.11.8 counts its recursion depth for all threads together (gh-106905). If a garbage
collection lets another thread parse meanwhile, as `numpy.load` does with each header, the result is
a SystemError. Our pages use no magic, so it is off.
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
def parsing_in_another_thread() -> Iterator[None]:
    """Let another thread parse during every garbage collection of this one."""
    parse_requested, parse_finished, test_ended = (
        threading.Event(),
        threading.Event(),
        threading.Event(),
    )

    def parse() -> None:
        while parse_requested.wait() and not test_ended.is_set():
            parse_requested.clear()
            ast.parse("1" + " + 1" * 40)
            parse_finished.set()

    parser, main_thread, is_waiting = (
        threading.Thread(target=parse),
        threading.current_thread(),
        [False],
    )
    parser.start()

    def parse_during_collection(phase: str, _: object) -> None:
        if phase == "start" and threading.current_thread() is main_thread and not is_waiting[0]:
            is_waiting[0] = True  # the waiting thread creates garbage too
            parse_requested.set()
            parse_finished.wait(5)
            parse_finished.clear()
            is_waiting[0] = False

    thresholds = gc.get_threshold()
    gc.callbacks.append(parse_during_collection)
    gc.set_threshold(20)
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)
        gc.callbacks.remove(parse_during_collection)
        test_ended.set()
        parse_requested.set()
        parser.join()


def test_pages_run_without_streamlit_magic() -> None:
    assert config.get_option("runner.magicEnabled") is False


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_page_compiles_while_other_threads_parse(script: str) -> None:
    with parsing_in_another_thread():
        ScriptCache().get_bytecode(str(ROOT / script))
