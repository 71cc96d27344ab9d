"""The files with which a browser runs a model."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from transformer.api import model_files, routes
from transformer.api.visitors import COOKIE, new_id
from transformer.app_folders import CHECKPOINTS_VARIABLE
from transformer.checkpoint import VOCABULARY, WEIGHTS

STUDENT = new_id()


@pytest.fixture
def tiny(checkpoints: Path, tmp_path: Path) -> Path:
    """Return a checkpoint that a test may change."""
    return Path(shutil.copytree(checkpoints / "tiny", tmp_path / "checkpoints" / "tiny"))


@pytest.fixture
def client(tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TestClient:
    monkeypatch.setenv(CHECKPOINTS_VARIABLE, str(tiny.parent))
    monkeypatch.setenv("HEADS_UP_RUNS", str(tmp_path / "runs"))
    own_routes = [
        routes.route("/heads"),
        model_files.route("/heads", lambda visitor: visitor == STUDENT),
    ]
    return TestClient(
        Starlette(routes=own_routes), "http://localhost/heads", cookies={COOKIE: STUDENT}
    )


def listed(client: TestClient) -> list[dict[str, Any]]:
    files: list[dict[str, Any]] = client.get("api/models").json()["models"]["tiny"]["files"]
    return files


def address(file: dict[str, Any]) -> str:
    """Return what `client/engine/model-files.js` requests."""
    return f"{file['path']}?{file['sha256'][:12]}"


def test_the_files_are_those_of_the_checkpoint(client: TestClient, tiny: Path) -> None:
    for file, name in zip(listed(client), (WEIGHTS, VOCABULARY), strict=True):
        content = (tiny / name).read_bytes()
        assert file["bytes"] == len(content)
        assert file["sha256"] == hashlib.sha256(content).hexdigest()
        answer = client.get(address(file))
        assert (answer.status_code, answer.content) == (200, content)
        assert answer.headers["cache-control"] == "private, max-age=31536000, immutable"
        rest = client.get(address(file), headers={"Range": "bytes=1000-"})
        assert (rest.status_code, rest.content) == (206, content[1000:])


def test_a_changed_file_has_another_address(client: TestClient, tiny: Path) -> None:
    before = address(listed(client)[1])
    with (tiny / VOCABULARY).open("ab") as file:
        file.write(b"\0")
    assert client.get(before).status_code == 404
    assert client.get(address(listed(client)[1])).status_code == 200


def test_others_cannot_load_files(client: TestClient) -> None:
    file = listed(client)[0]
    for visitor in ("", new_id()):
        client.cookies.set(COOKIE, visitor)
        answer = client.get(address(file))
        assert (answer.status_code, answer.text) == (403, model_files.FORBIDDEN)
        assert "cache-control" not in answer.headers


@pytest.mark.parametrize(
    "path",
    [
        f"nothing/{WEIGHTS}",
        "tiny/config.json",
        f"tiny/{WEIGHTS}",  # without its hash
        f"../tiny/{WEIGHTS}",
        f"%2e%2e/{WEIGHTS}",
        f"tiny%2f..%2ftiny/{WEIGHTS}",
        "tiny/..%2f..%2f..%2fetc%2fpasswd",
        f"tiny/{WEIGHTS}%00",
        f"{'a' * 9000}/{WEIGHTS}",
    ],
)
def test_other_paths_are_not_found(client: TestClient, path: str) -> None:
    answer = client.get(f"{model_files.FOLDER}/{path}")
    assert answer.status_code == 404
    assert "cache-control" not in answer.headers
