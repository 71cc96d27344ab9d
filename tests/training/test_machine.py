"""The choice of a precision by its measured speed."""

from __future__ import annotations

import pytest
import torch

from transformer.training import machine
from transformer.training.machine import choose_precision, fastest_precision

CPU = torch.device("cpu")


@pytest.mark.parametrize(
    ("bf16", "fp32", "expected_name"),
    [(0.2, 1.0, "bf16"), (0.95, 1.0, "fp32"), (1.5, 1.0, "fp32"), (float("inf"), 1.0, "fp32")],
)
def test_auto_chooses_bf16_if_clearly_faster(
    bf16: float, fp32: float, expected_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds = {torch.bfloat16: bf16, torch.float32: fp32}
    monkeypatch.setattr(machine, "_matmul_seconds", lambda device, dtype: seconds[dtype])
    expected = torch.bfloat16 if expected_name == "bf16" else torch.float32
    assert fastest_precision(CPU) == expected
    assert choose_precision("auto", CPU) == (expected_name, expected)
    assert choose_precision("bf16", CPU) == ("bf16", torch.bfloat16)
    assert choose_precision("fp32", CPU) == ("fp32", torch.float32)


def test_unsupported_dtype_takes_infinite_time() -> None:
    assert machine._matmul_seconds(torch.device("meta"), torch.float32) == float("inf")
    assert 0 < machine._matmul_seconds(CPU, torch.float32) < 60
