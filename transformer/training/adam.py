"""PyTorch's Adam without the import of its compiler."""

from __future__ import annotations

import inspect
from typing import Any

import torch


class Adam(torch.optim.Adam):
    """`torch.optim.Adam`, with these methods without their decorators.

    The decorators tell `torch.compile` about the optimizer, for which they import `torch._dynamo`:
    70 MB and seconds in every process that trains, and nothing here is compiled
    (torch/optim/optimizer.py of PyTorch 2.13, `_use_grad_for_differentiable`).
    """

    add_param_group: Any = inspect.unwrap(torch.optim.Adam.add_param_group)
    zero_grad: Any = inspect.unwrap(torch.optim.Adam.zero_grad)
    state_dict: Any = inspect.unwrap(torch.optim.Adam.state_dict)
    load_state_dict: Any = inspect.unwrap(torch.optim.Adam.load_state_dict)
    step: Any = torch.no_grad()(inspect.unwrap(torch.optim.Adam.step))
