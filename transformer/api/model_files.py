"""The files of a checkpoint with which a browser runs the model itself, as on the static site.

They are the checkpoint's own files. An address contains a hash of the content, so that a browser
loads each file once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse, Response
from starlette.routing import Route

from transformer.api import models
from transformer.api.model_description import run_config
from transformer.api.visitors import sent_id
from transformer.checkpoint import VOCABULARY, WEIGHTS
from transformer.text.files import Stamp, file_stamp
from transformer.text.pair_pieces import MAGIC
from transformer.training.run_config import TaskRun

FOLDER = "_models"
BROWSER_FILES = (WEIGHTS, VOCABULARY)
HASH_DIGITS = 12
"""Hexadecimal digits of the hash in an address, which `client/engine/model-files.js` appends."""
HEADERS = {
    "cache-control": "private, max-age=31536000, immutable",
    # Streamlit would compress the weights again for every student, to hardly fewer bytes.
    "content-encoding": "identity",
}
MISSING = "There is no such model file; reload the page to get the current ones.\n"
FORBIDDEN = "Only students of a class whose browsers run the models can load model files.\n"


def browser_files(name: str, path: Path) -> list[dict[str, Any]] | None:
    """Return path below the app's own, size and hash of each file; None if a browser cannot run
    the model. Raises OSError."""
    with (path / VOCABULARY).open("rb") as file:
        has_pair = file.read(len(MAGIC)) == MAGIC
    if has_pair or isinstance(run_config(path), TaskRun):
        return None
    return [
        {
            "path": f"{FOLDER}/{quote(name, safe='')}/{file}",
            "bytes": (path / file).stat().st_size,
            "sha256": _sha256(path / file, file_stamp(path / file)),
        }
        for file in BROWSER_FILES
    ]


def route(prefix: str, may_load: Callable[[str], bool]) -> Route:
    """Return the route of all files below the app's own path; `may_load` says which visitors may
    load them."""

    def send(request: Request) -> Response:
        visitor = sent_id(request.scope["headers"])
        if not may_load(visitor):
            return PlainTextResponse(FORBIDDEN, 403)
        listed = models.list_models(visitor).get(request.path_params["name"])
        file = request.path_params["file"]
        if listed is None or file not in BROWSER_FILES:
            return PlainTextResponse(MISSING, 404)
        path = listed.path / file
        stamp = file_stamp(path)
        if stamp is None or request.url.query != _sha256(path, stamp)[:HASH_DIGITS]:
            return PlainTextResponse(MISSING, 404)
        return FileResponse(path, headers=HEADERS, media_type="application/octet-stream")

    return Route(f"{prefix}/{FOLDER}/{{name}}/{{file}}", send)


@lru_cache(maxsize=1024)
def _sha256(path: Path, _: Stamp | None) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
