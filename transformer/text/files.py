"""Writing a file so that nobody ever sees half of it."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary name beside `path`, and rename it to `path` once the block ends well.

    On any error, a keyboard interrupt included, the temporary file is removed and whatever stood
    at `path` before stays as it was. The folder is made if it is missing.
    """
    final = Path(path)
    final.parent.mkdir(parents=True, exist_ok=True)
    # The process number keeps two processes that build the same file from sharing one name.
    temporary = final.with_name(f".{final.name}.{os.getpid()}.tmp")
    try:
        yield temporary
        os.replace(temporary, final)
    finally:
        temporary.unlink(missing_ok=True)
