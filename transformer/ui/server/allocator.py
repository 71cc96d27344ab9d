"""Settings of the C library's memory allocator (glibc's `mallopt`); other libraries have none."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable

# From malloc.h.
_MMAP_THRESHOLD, _ARENA_MAX = -3, -8


def return_freed_memory() -> bool:
    """Bound what a server with many threads keeps of freed memory.

    By default glibc gives every script thread one of eight arenas per processor, and each keeps
    what its largest rerun has freed. With two arenas, and every block above 128 kB in a mapping
    of its own, freed tensors return to the system. Returns whether the allocator accepted it.
    """
    return _set_options({_ARENA_MAX: 2, _MMAP_THRESHOLD: 1 << 17})


def trim() -> bool:
    """Return the free pages between the allocated blocks of all arenas to the system.

    They take tens of megabytes after many reruns. Returns whether the C library can do so.
    """
    malloc_trim = _function("malloc_trim")
    if malloc_trim is None:
        return False
    malloc_trim(0)
    return True


def _set_options(options: dict[int, int]) -> bool:
    mallopt = _function("mallopt")
    if mallopt is None:
        return False
    return all(mallopt(option, value) == 1 for option, value in options.items())


def _function(name: str) -> Callable[..., int] | None:
    """Return a function of glibc, or None with another C library, such as musl."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        function: Callable[..., int] = getattr(ctypes.CDLL(None), name)
    except (OSError, AttributeError):
        return None
    return function
