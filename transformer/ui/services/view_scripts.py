"""The browser views' scripts at addresses of their own, so that a browser fetches each only once.

Streamlit would send a component's script with every new content, several times its length, and both
ends would hash it (`python -m benchmarks.app`). The address contains a hash of the script: a
browser may cache it indefinitely, and a changed script has another address.
"""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Callable, Mapping
from functools import cache, partial

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from transformer.figures.live_page import worker_scripts
from transformer.figures.trainer_page import trainer_files
from transformer.figures.views import COMPONENTS, served_script
from transformer.text.tasks import TASKS
from transformer.text.tasks.pair_data import pair_module

FOLDER = "_views"
CACHE_CONTROL = "public, max-age=31536000, immutable"
FRENCH_PAIRS = "training/french-pairs.js"
MISSING = "There is no such view script; reload the page to get the current ones.\n"


def route(prefix: str) -> Route:
    """Return the route of all scripts below the app's own path."""
    return Route(f"{prefix}/{FOLDER}/{{name:path}}", _script)


@cache
def path(view: str) -> str:
    """Return where the script of one of `COMPONENTS` is, below the app's own path."""
    return f"{FOLDER}/{view}-{hashlib.blake2b(served_script(view), digest_size=8).hexdigest()}.js"


def preload_links(page: str) -> str:
    """Return a `Link` header with what the client will load for a page, by its path, so that the
    browser requests it together with Streamlit's own scripts, not after them."""
    views = ["frame", "lesson", *([] if page else ["try"])]
    links = [f"<{path(view)}>; rel=modulepreload" for view in views]
    if not page:
        links.append("<api/models>; rel=preload; as=fetch; crossorigin=anonymous")
    return ", ".join(links)


@cache
def training_path(file: str) -> str:
    """Return where a file of the page that trains in a tab is, below the app's own path."""
    return f"{_folder('train', trainer_files())}/{file}"


@cache
def worker_folder() -> str:
    """Return where the scripts of the model in a worker are, below the app's own path."""
    return _folder("worker", _worker_files())


def _folder(name: str, files: Mapping[str, bytes]) -> str:
    digest = hashlib.blake2b(digest_size=8)
    for file, content in files.items():
        digest.update(file.encode() + b"\0" + content)
    return f"{FOLDER}/{name}-{digest.hexdigest()}"


@cache
def _worker_files() -> dict[str, bytes]:
    return {file: script.encode() for file, script in worker_scripts().items()}


@cache
def training_files() -> dict[str, bytes]:
    """Return the files of the page that trains in a tab, by their paths below one folder."""
    return {**trainer_files(), FRENCH_PAIRS: _french_pairs()}


@cache
def _french_pairs() -> bytes:
    return pair_module(TASKS["french"]).encode()


def _script(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in _files():
        return PlainTextResponse(MISSING, 404)
    compressed = _compressed(name)
    kind = "text/css" if name.endswith(".css") else "text/javascript"
    is_in_hash = not name.endswith(FRENCH_PAIRS)  # they are made from french.tsv
    headers = {"cache-control": CACHE_CONTROL if is_in_hash else "no-cache"}
    headers["vary"] = "accept-encoding"
    if "gzip" in request.headers.get("accept-encoding", ""):
        headers["content-encoding"] = "gzip"
        return Response(compressed, headers=headers, media_type=kind)
    return Response(gzip.decompress(compressed), headers=headers, media_type=kind)


@cache
def _files() -> dict[str, Callable[[], bytes]]:
    """Return what makes each file, by its name in an address."""
    training = {file: partial(trainer_files().__getitem__, file) for file in trainer_files()}
    addresses: dict[str, Callable[[], bytes]] = {
        **{path(view): partial(served_script, view) for view in COMPONENTS},
        **{training_path(file): make for file, make in training.items()},
        training_path(FRENCH_PAIRS): _french_pairs,
        **{
            f"{worker_folder()}/{file}": partial(_worker_files().__getitem__, file)
            for file in _worker_files()
        },
    }
    return {address.removeprefix(f"{FOLDER}/"): make for address, make in addresses.items()}


@cache
def _compressed(name: str) -> bytes:
    return gzip.compress(_files()[name](), mtime=0)
