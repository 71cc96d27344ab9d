"""State of the process, of shared models and of child processes that a test must not change."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TypeVar

import psutil
import torch
from torch.nn.modules import module as torch_module

State = dict[str, object]
Model = TypeVar("Model", bound=torch.nn.Module)

shared_models: list[torch.nn.Module] = []


def share_model(model: Model) -> Model:
    """Put a model in evaluation mode for several tests to use; a test that changes it fails."""
    shared_models.append(model.eval())
    return model


def process_state() -> State:
    """Return settings that all threads of the app share."""
    state: State = {
        "working folder": os.getcwd(),
        "gradients enabled": torch.is_grad_enabled(),
        "default dtype": torch.get_default_dtype(),
        "torch threads": torch.get_num_threads(),
        "deterministic algorithms": torch.are_deterministic_algorithms_enabled(),
    }
    for hook_kind in ("forward_pre", "forward", "backward_pre", "backward"):
        state[f"global {hook_kind} hooks"] = len(
            getattr(torch_module, f"_global_{hook_kind}_hooks")
        )
    return state


def model_state(model: torch.nn.Module) -> State:
    """Return the state of a shared model that must not change; its weights are given as norms."""
    parts, weights = list(model.modules()), list(model.parameters())
    return {
        "modules in training mode": sum(part.training for part in parts),
        "forward hooks": sum(len(p._forward_hooks) + len(p._forward_pre_hooks) for p in parts),
        "gradients": sum(p.grad is not None for p in weights),
        "frozen weights": sum(not p.requires_grad for p in weights),
        "devices and types": {(str(p.device), p.dtype) for p in weights},
        "weights": torch.stack(torch._foreach_norm([p.detach() for p in weights])).tolist(),
    }


def changes(before: Mapping[str, object], after: Mapping[str, object]) -> list[str]:
    """Return a short description of each value that has changed."""
    return [
        f"{name} changed" if name == "weights" else f"{name}: {before[name]}, now {after[name]}"
        for name in before
        if before[name] != after[name]
    ]


def children() -> set[psutil.Process]:
    """Return the child processes that still run.

    The resource tracker of `multiprocessing` and the fork server of workers are not included,
    because they end with this process; nor are grandchildren, because a browser starts and ends
    processes for its tabs, except forked workers.
    """
    try:  # only on Linux, and much faster than to read the parent of every process
        tasks = Path("/proc/self/task").iterdir()
        if not any((task / "children").read_text() for task in tasks):
            return set()
    except OSError:
        pass
    alive = set()
    for child in psutil.Process().children():
        try:
            command = " ".join(child.cmdline())
            if "transformer.jobs.fork_server" in command:
                alive |= set(child.children())
            elif (
                child.status() != psutil.STATUS_ZOMBIE
                and "multiprocessing.resource_tracker" not in command
            ):
                alive.add(child)
        except psutil.NoSuchProcess:
            continue
    return alive


def stop(processes: Iterable[psutil.Process], timeout_seconds: float = 2.0) -> list[str]:
    """Wait for processes to end; after the timeout, kill the rest and return a message for each."""
    waiting, deadline = set(processes), time.monotonic() + timeout_seconds
    while waiting and time.monotonic() < deadline:
        time.sleep(0.02)
        waiting &= children()
    messages = []
    for process in waiting:
        with contextlib.suppress(psutil.NoSuchProcess):
            command = " ".join(process.cmdline())[-200:]
            process.kill()
            messages.append(f"process {process.pid} still ran: {command}")
    return messages
