"""PyTorch's Adam without the import of its compiler."""

from __future__ import annotations

import inspect
from typing import Any

import torch


class Adam(torch.optim.Adam):
    """`torch.optim.Adam`, with these methods without their decorators.

    The decorators tell `torch.compile` about the optimizer, for which they import `torch._dynamo`:
    70 MB and seconds in every process that trains, and nothing here is compiled
    (torch/optim/optimizer.py, `torch._disable_dynamo` and `_use_grad_for_differentiable`).
    A method without decorators stays as it is. Checked with PyTorch 2.13: the steps equal those of
    `torch.optim.Adam` (`tests/training/test_learner.py`), and `tests/test_loaded_modules.py` fails
    if the compiler is imported. Delete this file when PyTorch's own optimizer no longer imports it.
    """

    add_param_group: Any = inspect.unwrap(torch.optim.Adam.add_param_group)
    zero_grad: Any = inspect.unwrap(torch.optim.Adam.zero_grad)
    state_dict: Any = inspect.unwrap(torch.optim.Adam.state_dict)
    load_state_dict: Any = inspect.unwrap(torch.optim.Adam.load_state_dict)
    step: Any = torch.no_grad()(inspect.unwrap(torch.optim.Adam.step))
