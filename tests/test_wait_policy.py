"""OpenMP threads sleep while they wait, in every process that loads torch through this package."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
POLICY = re.compile(r"OMP_WAIT_POLICY\s*=\s*'(\w+)'")


def policy(program: str, **environment: str) -> str:
    """Return the wait policy that the OpenMP runtime prints when this program loads it."""
    inherited = {name: value for name, value in os.environ.items() if name != "OMP_WAIT_POLICY"}
    process = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env={**inherited, "OMP_DISPLAY_ENV": "TRUE", **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    match = POLICY.search(process.stderr)
    if match is None:
        pytest.skip("this build of torch uses no OpenMP runtime that prints its settings")
    return match[1]


def test_the_openmp_runtime_waits_passively() -> None:
    assert policy("from transformer import Translator") == "PASSIVE"


# Ends the program when it imports torch, because the import takes a second.
STOP_AT_TORCH = """
import os, sys
class Finder:
    def find_spec(self, name, path, target=None):
        if name == "torch":
            print("policy:", os.environ.get("OMP_WAIT_POLICY"), flush=True)
            os._exit(0)
sys.meta_path.insert(0, Finder())
"""


def policy_before_torch(program: str, **environment: str) -> str:
    """Return the wait policy in the environment when this program imports torch."""
    inherited = {name: value for name, value in os.environ.items() if name != "OMP_WAIT_POLICY"}
    process = subprocess.run(
        [sys.executable, "-c", f"{STOP_AT_TORCH}\n{program}"],
        cwd=ROOT,
        env={**inherited, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return process.stdout.strip()


@pytest.mark.parametrize("program", ["import transformer.cli; import torch", "import app"])
def test_the_policy_is_set_before_torch_is_imported(program: str) -> None:
    assert policy_before_torch(program) == "policy: PASSIVE"
