"""The number of glibc's memory arenas in a process with many threads is limited."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

GLIBC = platform.libc_ver()[0] == "glibc"
# Twelve threads allocate memory at the same time; prints the number of arenas.
PROGRAM = """
import ctypes, sys, threading
from transformer.ui.server import allocator
if sys.argv[1] == "limited":
    assert allocator.return_freed_memory()
barrier = threading.Barrier(12)
def allocate():
    barrier.wait()
    blocks = [bytearray(50_000) for _ in range(100)]
    barrier.wait()
threads = [threading.Thread(target=allocate) for _ in range(12)]
for thread in threads: thread.start()
for thread in threads: thread.join()
libc = ctypes.CDLL(None)
libc.fopen.restype = ctypes.c_void_p
stream = ctypes.c_void_p(libc.fopen(b"/dev/stdout", b"w"))
libc.malloc_info(0, stream)
libc.fclose(stream)
"""


@pytest.mark.skipif(not GLIBC, reason="only glibc has arenas")
@pytest.mark.parametrize("setting", ["default", "limited"])
def test_threads_share_two_memory_arenas(setting: str) -> None:
    process = subprocess.run(
        [sys.executable, "-c", PROGRAM, setting], capture_output=True, text=True, check=True
    )
    arenas = process.stdout.count("<heap nr=")
    assert (arenas <= 2) == (setting == "limited"), arenas


@pytest.mark.skipif(not GLIBC, reason="only glibc returns free pages on request")
def test_free_pages_between_blocks_are_returned() -> None:
    program = """
from pathlib import Path
from transformer.ui.server import allocator
def megabytes():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6
assert allocator.return_freed_memory()
blocks = [bytearray(20_000) for _ in range(10_000)]
blocks = blocks[::100]
before = megabytes()
assert allocator.trim()
print(before - megabytes())
"""
    process = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert float(process.stdout) > 100
