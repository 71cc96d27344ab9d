"""Choice of device: CPU, NVIDIA GPU or Apple GPU; what numbers are computed with."""

from __future__ import annotations

from collections.abc import Mapping

import torch

DEVICES = ("auto", "cpu", "cuda", "mps")


def choose_device(name: str = "auto") -> torch.device:
    """Return a device: `auto` selects CUDA, else MPS, else the CPU; `cuda:1` is the second GPU.
    Raises ValueError for an unknown name, or a device this machine does not have."""
    kind, colon, number = str(name).partition(":")
    if kind not in DEVICES or (colon and (kind == "auto" or not number.isdecimal())):
        raise ValueError(f"device must be one of {', '.join(DEVICES)} (or cuda:1), not {name!r}")
    count = {
        "cuda": torch.cuda.device_count() if torch.cuda.is_available() else 0,
        "mps": int(torch.backends.mps.is_available()),
        "cpu": 1,
    }
    available = [kind for kind in count if count[kind]]
    if kind == "auto":
        return torch.device(available[0])
    if not count[kind]:
        raise ValueError(
            f"this machine has no {kind} device, or this torch cannot use it; "
            f"it has {', '.join(available)}"
        )
    if colon and int(number) >= count[kind]:
        raise ValueError(
            f"there is no {name}: this machine has {count[kind]} {kind} device(s), numbered from 0"
        )
    return torch.device(name)


def computed_with(weights: torch.Tensor) -> dict[str, str | int]:
    """Return what the numbers of a model with these weights depend on: "precision", "device" and
    "threads" (of this process)."""
    return {
        "precision": str(weights.dtype).removeprefix("torch."),
        "device": str(weights.device),
        "threads": torch.get_num_threads(),
    }


def describe_computed(computed: Mapping[str, object]) -> str:
    """Return one line with the values of `computed_with`."""
    return "computed in {precision} on {device}, threads: {threads}".format_map(computed)
