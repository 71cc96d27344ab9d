"""`auto` chooses the fastest available kind of device; others must be available."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from transformer.inference.device import choose_device

PretendDevices = Callable[[int, bool], None]


@pytest.fixture
def pretend_devices(monkeypatch: pytest.MonkeyPatch) -> PretendDevices:
    """Return a function that fakes the number of CUDA devices and whether MPS is available."""

    def pretend(gpus: int, mps: bool) -> None:
        monkeypatch.setattr(torch.cuda, "is_available", lambda: gpus > 0)
        monkeypatch.setattr(torch.cuda, "device_count", lambda: gpus)
        monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)

    return pretend


@pytest.mark.real_device
@pytest.mark.parametrize(
    ("gpus", "mps", "expected"), [(0, False, "cpu"), (0, True, "mps"), (2, False, "cuda")]
)
def test_auto_chooses_the_best_device(
    pretend_devices: PretendDevices, gpus: int, mps: bool, expected: str
) -> None:
    pretend_devices(gpus, mps)
    assert choose_device() == choose_device("auto") == torch.device(expected)
    assert choose_device(expected) == torch.device(expected)
    assert choose_device(f"{expected}:0") == torch.device(expected, 0)
    assert choose_device("cpu") == torch.device("cpu")


@pytest.mark.parametrize("name", ["cuda", "mps", "cuda:0"])
def test_missing_devices_are_refused_with_the_available_ones(
    pretend_devices: PretendDevices, name: str
) -> None:
    pretend_devices(0, False)
    kind = name.split(":")[0]
    with pytest.raises(ValueError, match=rf"no {kind} device, .* it has cpu$"):
        choose_device(name)


@pytest.mark.parametrize("name", ["", "gpu", "cuda:one"])
def test_unknown_names_are_refused_with_the_known_ones(
    pretend_devices: PretendDevices, name: str
) -> None:
    pretend_devices(2, True)
    with pytest.raises(ValueError, match=rf"one of auto, cpu, cuda, mps .*, not '{name}'$"):
        choose_device(name)
