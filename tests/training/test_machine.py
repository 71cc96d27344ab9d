"""What the machine does fast is measured, and every process of a run goes by the same answer."""

from __future__ import annotations

import platform
import sys

import pytest
import torch

from transformer.training import machine
from transformer.training.distributed import World
from transformer.training.machine import choose_precision, fastest_precision, keep_freed_memory

CPU = torch.device("cpu")


@pytest.mark.parametrize(
    ("bf16", "fp32", "chosen"),
    [(0.2, 1.0, "bf16"), (0.95, 1.0, "fp32"), (1.5, 1.0, "fp32"), (float("inf"), 1.0, "fp32")],
)
def test_auto_takes_bf16_where_it_is_clearly_faster(
    bf16: float, fp32: float, chosen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    took = {torch.bfloat16: bf16, torch.float32: fp32}
    monkeypatch.setattr(machine, "_seconds", lambda device, dtype: took[dtype])
    expected = torch.bfloat16 if chosen == "bf16" else torch.float32
    assert fastest_precision(CPU) == expected
    assert choose_precision("auto", CPU, World()) == (chosen, expected)
    assert choose_precision("bf16", CPU, World()) == ("bf16", torch.bfloat16)
    assert choose_precision("fp32", CPU, World()) == ("fp32", torch.float32)


@pytest.mark.parametrize("first", [0.0, 1.0])
def test_the_first_process_decides_for_all(first: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "fastest_precision", lambda device: torch.bfloat16)
    monkeypatch.setattr(World, "broadcast", lambda self, values, device: [first])
    chosen, _ = choose_precision("auto", CPU, World(rank=1, size=2))
    assert chosen == ("bf16" if first else "fp32")


def test_what_a_device_cannot_do_takes_for_ever() -> None:
    assert machine._seconds(torch.device("meta"), torch.float32) == float("inf")
    assert 0 < machine._seconds(CPU, torch.float32) < 60


def test_memory_is_kept_where_the_c_library_is_glibc(monkeypatch: pytest.MonkeyPatch) -> None:
    assert keep_freed_memory() == (platform.libc_ver()[0] == "glibc")
    monkeypatch.setattr(sys, "platform", "darwin")
    assert not keep_freed_memory()
