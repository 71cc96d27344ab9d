"""The engines "worker" and "server" give the same answers to the same requests."""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from starlette.applications import Starlette

from tests.figures.deno import SCRIPTS, deno
from transformer.api import models, routes
from transformer.app_folders import APP_FOLDER, CHECKPOINTS_VARIABLE
from transformer.figures.live_page import worker_scripts
from transformer.ui.site.static_site import copy_models

COUNT = 200
SENTENCES = {
    "en-fr": ("I am a student.", "Who gave you that red umbrella?", "She ate 3 naïve apples €."),
    "en-de": ("He says that he has bought a house.", "I have never seen the sea.", "No"),
}
CHANGES = (
    {"off": "c0.1"},
    {"off": "e0,d1.0", "ablation": "uniform"},
    {"off": "c1.0,c1.1,e0.3", "ablation": "mean"},
    {"masked_tokens": "1"},
    {"edited_row": "c1.1.0:0x70,1x30"},
    {"patch": "encoder.hook_memory:0:1"},
    {"patch": "no.site:0:0"},
    {},
)
KINDS = (
    *("glance", "explore", "part", "change", "lesson") * 4,
    *("cells", "importance"),
)
LESSONS = ("umbrella", "row", "steps", "meeting", "back", "rest", "ahead", "crossing", "self")


@pytest.mark.slow
def test_both_engines_give_the_same_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CHECKPOINTS_VARIABLE, str(APP_FOLDER / "checkpoints"))
    listed = models.list_models("")
    loaded = [models.load(name, listed[name].path) for name in SENTENCES]
    requests = [_request(random.Random(number), number) for number in range(COUNT)]
    (tmp_path / "site.json").write_text(json.dumps(copy_models(tmp_path, loaded)))
    (tmp_path / "requests.json").write_text(json.dumps(requests))
    for path, script in worker_scripts().items():
        file = tmp_path / "scripts" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(script, encoding="utf-8")
    with _server() as address:
        script = str(SCRIPTS / "engines.js")
        arguments = ("run", "--quiet", "--allow-read", "--allow-net", script, str(tmp_path))
        reports = json.loads(deno(*arguments, address))
    assert len(reports) == COUNT
    for request, differences in zip(requests, reports, strict=True):
        assert not differences, (request, *differences)


def _request(rng: random.Random, number: int) -> dict[str, Any]:
    """Return a request of any kind, the same for the same number."""
    model = rng.choice([*SENTENCES])
    kind = KINDS[number % len(KINDS)]
    text = rng.choice(SENTENCES[model])
    request: dict[str, Any] = {"kind": kind, "model": model}
    if kind == "lesson":
        return {**request, "lesson": rng.choice(LESSONS), "texts": list(SENTENCES[model])}
    request["text"] = text
    if rng.random() < 0.2:
        request["method"] = "beam"
    elif kind != "glance" and rng.random() < 0.2:
        request |= {"method": "forced", "target": rng.choice(SENTENCES[model])}
    if kind == "glance":
        off = {"off": "c0.1"} if rng.random() < 0.5 else {}
        return {**request, **off, "with_alternatives": rng.random() < 0.5}
    if kind == "cells":
        return {
            **request,
            "head": {"kind": "cross", "layer": 1, "head": 1},
            "row": rng.randrange(2),
        }
    if kind == "importance":
        return {**request, "step": rng.randrange(-1, 2)}
    if kind == "change":
        return {**request, **rng.choice(CHANGES), "other": rng.choice(SENTENCES[model])}
    compared = rng.choice(("force", "other", "changes"))
    if compared == "force":
        request["force"] = f"{rng.randrange(4)}:{rng.randrange(4, 16)}"
    elif compared == "other":
        request["other"] = rng.choice(SENTENCES[model])
        if rng.random() < 0.3:
            request["other_model"] = rng.choice([*SENTENCES])
    else:  # a change that does not fit is refused by the server, and ignored by the worker
        request |= rng.choice([change for change in CHANGES if "no.site" not in str(change)])
    if kind == "part":
        vector = rng.choice(("query", "key", "value", "scores", "heads"))
        attention = rng.choice(("encoder", "decoder", "cross"))
        request["name"] = f"0.{vector}.{attention}.{rng.randrange(2)}.{rng.randrange(2)}"
    return request


@contextmanager
def _server() -> Iterator[str]:
    """Serve the routes; yield the address."""
    app = Starlette(routes=[routes.route("")])
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning", lifespan="off"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}/"
    finally:
        server.should_exit = True
        thread.join(10)
