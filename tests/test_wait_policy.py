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
    """The policy that the OpenMP runtime prints when this program loads it."""
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


@pytest.mark.parametrize(
    "program",
    [
        "from transformer import Translator",
        "import transformer.cli; import torch",
        "import app; import torch",
    ],
)
def test_the_openmp_runtime_waits_passively(program: str) -> None:
    assert policy(program) == "PASSIVE"


def test_a_wait_policy_set_by_the_user_is_kept() -> None:
    assert policy("import transformer, torch", OMP_WAIT_POLICY="ACTIVE") == "ACTIVE"
