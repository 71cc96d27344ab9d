"""The Dockerfile, checked without Docker: copied files, user, volume, health check."""

from __future__ import annotations

import re
import textwrap
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import pytest

from transformer.jobs import Limits
from transformer.jobs.limits import KEY_FILES

ROOT = Path(__file__).resolve().parents[1]
LINES = re.sub(r"\\\n\s*", "", (ROOT / "Dockerfile").read_text(encoding="utf-8")).splitlines()
STEPS = [line.split(None, 1) for line in LINES if line and not line.startswith(("#", " "))]


def arguments_of(instruction: str) -> list[str]:
    return [arguments for name, arguments in STEPS if name == instruction]


def is_in_build_context(path: str) -> bool:
    """Return whether a file is in Docker's build context: the last matching line of .dockerignore
    decides."""
    included = True
    for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            parts = [path, *map(str, Path(path).parents)]
            if any(fnmatch(part, line.removeprefix("!").removeprefix("**/")) for part in parts):
                included = line.startswith("!")
    return included


def test_the_build_context_has_only_the_contents_of_the_wheel() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    included = project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    expected = {*included, "transformer/app_folders.py", "pyproject.toml", "requirements.txt"}
    expected |= {project["project"]["readme"], *project["project"]["license-files"]}
    assert all(is_in_build_context(path) and (ROOT / path).exists() for path in expected)
    for path in (".git/config", ".venv/bin/python", "runs/a/config.json", "tests/leaks.py"):
        assert not is_in_build_context(path)
    assert not is_in_build_context(".streamlit/secrets.toml")


def test_every_copied_file_exists() -> None:
    for arguments in arguments_of("COPY"):
        if not arguments.startswith("--from="):
            for path in arguments.split()[:-1]:
                assert (ROOT / path).exists(), path


@pytest.mark.parametrize("variable", ["HEADS_UP_RUNS", "PYTHONPYCACHEPREFIX"])
def test_all_written_files_are_in_the_volume(variable: str) -> None:
    settings = dict(word.split("=", 1) for line in arguments_of("ENV") for word in line.split())
    assert settings[variable].startswith("/data/")


def test_the_limits_of_the_cluster_are_valid(tmp_path: Path) -> None:
    text = (ROOT / "compose.cluster.yaml").read_text(encoding="utf-8")
    limits = tomllib.loads(textwrap.dedent(text.partition("content: |\n")[2]))
    assert limits.pop("cluster_keys") == "/keys"
    for name in KEY_FILES:
        (tmp_path / name).touch()
        assert text.count(f"/keys/{name}") == 2  # of the scheduler, of the workers
    assert Limits(**limits, cluster_keys=str(tmp_path)).executor == "dask"
    assert is_in_build_context("requirements-cluster.txt")
