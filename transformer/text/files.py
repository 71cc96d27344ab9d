"""Writing a file so that nobody ever sees half of it."""

import os
import secrets
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
    # A name of its own, for two processes or threads may be writing the same file.
    temporary = final.with_name(f".{final.name}.{secrets.token_hex(4)}.tmp")
    try:
        yield temporary
        os.replace(temporary, final)
    finally:
        temporary.unlink(missing_ok=True)
