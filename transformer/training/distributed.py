"""Data-parallel training: each process computes a part of every batch, and gradients are summed.

`torchrun --nproc-per-node=2 -m transformer train …` starts the processes; torchrun sets RANK,
WORLD_SIZE and the rendezvous address. The backend is Gloo on CPUs and NCCL on GPUs.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import Tensor

# The others wait while the first process encodes a corpus; torchrun ends them if it fails.
PROCESS_GROUP_TIMEOUT = timedelta(days=2)


@dataclass(frozen=True)
class World:
    """Rank of this process and number of processes."""

    rank: int = 0
    size: int = 1

    @property
    def is_main(self) -> bool:
        """Whether this is the first process, which writes files and messages."""
        return self.rank == 0

    def all_reduce(self, tensors: list[Tensor]) -> None:
        """Replace every tensor by its sum over all processes, in one exchange."""
        if self.size == 1:
            return
        flat = torch.cat([tensor.flatten() for tensor in tensors])
        dist.all_reduce(flat)
        offset = 0
        for tensor in tensors:
            tensor.copy_(flat[offset : offset + tensor.numel()].view_as(tensor))
            offset += tensor.numel()

    def broadcast(self, values: list[float], device: torch.device) -> list[float]:
        """Return the first process's values on every process."""
        if self.size == 1:
            return values
        shared = torch.tensor(values, dtype=torch.float64)
        shared = shared.to(device) if device.type == "cuda" else shared
        dist.broadcast(shared, src=0)
        return [float(value) for value in shared]

    def barrier(self) -> None:
        """Wait for all processes."""
        if self.size > 1:
            dist.barrier()


def process_device(device: torch.device) -> torch.device:
    """Return the device of this process: under torchrun, each process has its own GPU.

    Raises ValueError if several processes would have to share a GPU.
    """
    if device.type == "cpu" or int(os.environ.get("WORLD_SIZE", "1")) == 1:
        return device
    if device.type == "mps":
        raise ValueError("several processes train on cpu or cuda, not on mps; give --device cpu")
    processes = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    if processes > 1 and device.index is not None:
        raise ValueError(f"{processes} processes cannot share {device}; give --device cuda")
    if processes > torch.cuda.device_count():
        raise ValueError(
            f"{processes} processes need one GPU each, this machine has {torch.cuda.device_count()}"
        )
    return torch.device("cuda", device.index or int(os.environ.get("LOCAL_RANK", "0")))


@contextmanager
def join_world(device: torch.device) -> Iterator[World]:
    """Join the process group of torchrun, or yield a world of this process alone.

    `device` is the device of this process (`process_device`).
    """
    size = int(os.environ.get("WORLD_SIZE", "1"))
    if size == 1:
        yield World()
        return
    if device.type == "cuda":
        torch.cuda.set_device(device)
    backend = "nccl" if device.type == "cuda" else "gloo"
    dist.init_process_group(backend, timeout=PROCESS_GROUP_TIMEOUT)
    try:
        yield World(dist.get_rank(), size)
    finally:
        dist.destroy_process_group()
