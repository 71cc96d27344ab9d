"""The fixture that checks for leaks reports each kind of leak."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

LEAKS = {
    "working folder": "import os; os.chdir('/')",
    "gradients enabled": "torch.set_grad_enabled(False)",
    "torch threads": "torch.set_num_threads(2)",
    "default dtype": "torch.set_default_dtype(torch.float64)",
    "global forward hooks": "module.register_module_forward_hook(print)",
    "modules in training mode": "tiny_model.train()",
    "shared model, forward hooks": "tiny_model.register_forward_hook(print)",
    "weights changed": "tiny_model.embedding.weight.data[0, 0] += 1",
    "devices and types": "tiny_model.half()",
    "still ran": "import subprocess; subprocess.Popen(['sleep', '60'])",
}


@pytest.mark.slow
def test_each_leak_fails_only_the_test_that_caused_it(tmp_path: Path) -> None:
    """Each leaking test is followed by a clean one, which must pass."""
    tests = ["import torch", "from torch.nn.modules import module"]
    for number, leak in enumerate(LEAKS.values()):
        tests.append(f"def test_{number}(tiny_model):\n    {leak}")
        tests.append(f"def test_{number}_next(tiny_model):\n    pass")
    test_file = tmp_path / "test_it.py"
    test_file.write_text("\n\n".join(tests))
    options = (
        f"-p tests.conftest -c {ROOT}/pyproject.toml --rootdir {tmp_path} -W ignore {test_file}"
    )
    run = subprocess.run(
        [sys.executable, "-m", "pytest", *options.split()],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={**os.environ, "COLUMNS": "1000"},
    )
    errors = [line for line in run.stdout.splitlines() if line.startswith("ERROR ")]
    assert len(errors) == len(LEAKS), run.stdout + run.stderr
    for number, (name, error) in enumerate(zip(LEAKS, errors, strict=True)):
        assert f"::test_{number} - Failed: the test changed shared state: " in error
        assert name in error
    assert f"{2 * len(LEAKS)} passed" in run.stdout
