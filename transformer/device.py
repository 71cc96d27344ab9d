"""Where a model runs: the CPU, an NVIDIA GPU, or Apple's GPU."""

from __future__ import annotations

import torch

DEVICES = ("auto", "cpu", "cuda", "mps")


def choose_device(name: str = "auto") -> torch.device:
    """`auto` takes CUDA if there is one, else MPS, else the CPU.

    Raises:
        ValueError: for a name that is none of `DEVICES`, or a device this machine lacks.
    """
    kind, _, number = name.partition(":")
    if kind not in DEVICES or (number and not number.isdigit()):
        raise ValueError(f"device must be one of {', '.join(DEVICES)}, not {name!r}")
    there = {
        "cuda": torch.cuda.is_available(),
        "mps": torch.backends.mps.is_available(),
        "cpu": True,
    }
    if kind == "auto":
        return torch.device(next(device for device, found in there.items() if found))
    if not there[kind]:
        has = ", ".join(device for device, found in there.items() if found)
        raise ValueError(f"this machine has no {kind} device (or this torch cannot use it): {has}")
    return torch.device(name)
