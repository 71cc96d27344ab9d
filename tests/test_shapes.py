"""The shape checker: what it refuses, and when it stops checking."""

from __future__ import annotations

import jaxtyping
import pytest
import torch
from jaxtyping import Float, TypeCheckError
from torch import Tensor

from tests.shapes import MAX_CHECKS, check_again, checked


@jaxtyping.jaxtyped(typechecker=checked)
def square(x: Float[Tensor, "n n"]) -> Float[Tensor, "n"]:
    return x.sum(0)


def test_shapes_are_checked_a_limited_number_of_times() -> None:
    right, wrong = torch.ones(2, 2), torch.ones(2, 3)
    for _ in range(3):
        square(right)
        with pytest.raises(TypeCheckError):
            square(wrong)
    for _ in range(MAX_CHECKS):
        square(right)
    assert square(wrong).shape == (3,)
    check_again(square)
    with pytest.raises(TypeCheckError):
        square(wrong)
