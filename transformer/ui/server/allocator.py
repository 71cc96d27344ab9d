"""Settings of the C library's memory allocator (glibc's `mallopt`); other libraries have none."""

from __future__ import annotations

import ctypes
import sys

# From malloc.h.
_MMAP_THRESHOLD, _ARENA_MAX = -3, -8


def return_freed_memory() -> bool:
    """Bound what a server with many threads keeps of freed memory.

    By default glibc gives every script thread one of eight arenas per processor, and each keeps
    what its largest rerun has freed. With two arenas, and every block above 128 kB in a mapping
    of its own, freed tensors return to the system. Returns whether the allocator accepted it.
    """
    return _set_options({_ARENA_MAX: 2, _MMAP_THRESHOLD: 1 << 17})


def _set_options(options: dict[int, int]) -> bool:
    if not sys.platform.startswith("linux"):
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):  # another C library, such as musl
        return False
    return all(mallopt(option, value) == 1 for option, value in options.items())
