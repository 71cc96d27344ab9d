"""Two libraries for one product: the same numbers, and gradients where they are asked for."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from transformer.inference.fast import products

EPS = 2**-23


@pytest.fixture
def by_onednn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every product that may be is oneDNN's."""
    monkeypatch.setattr(products, "WIDE", 0)
    monkeypatch.setattr(products, "BLOCKS", (7, 2))
    monkeypatch.setattr(products, "onednn_is_faster", lambda: True)


@pytest.fixture
def measured_anew() -> Iterator[None]:
    products.onednn_is_faster.cache_clear()
    yield
    products.onednn_is_faster.cache_clear()


def made(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


@pytest.mark.usefixtures("by_onednn")
@settings(max_examples=60, deadline=None)
@given(
    leading=st.lists(st.integers(1, 5), min_size=1, max_size=3),
    wide=st.integers(1, 40),
    out=st.integers(1, 40),
    bias=st.booleans(),
    layout=st.sampled_from(["as made", "transposed", "a part", "repeated"]),
)
def test_a_product_is_that_of_double_precision(
    leading: list[int], wide: int, out: int, bias: bool, layout: str
) -> None:
    x, weight = made(*leading, wide), made(2 * out, wide, seed=1)[out:]
    b = made(out, seed=2) if bias else None
    if layout == "transposed":
        x = x.transpose(0, -1).contiguous().transpose(0, -1)
    elif layout == "a part":
        x = torch.cat([x, x], -1)[..., :wide]
    elif layout == "repeated":
        x = x[:1].expand(3, *x.shape[1:])
    with torch.no_grad():
        found = products.linear(x, weight, b)
    right = x.double() @ weight.double().t() + (0 if b is None else b.double())
    size = x.double().abs() @ weight.double().abs().t() + (0 if b is None else b.double().abs())
    assert found.shape == right.shape
    assert ((found - right).abs() <= (wide + 2) * EPS * size).all()


@pytest.mark.usefixtures("by_onednn")
def test_who_asks_for_gradients_has_them() -> None:
    layer, x = torch.nn.Linear(6, 4), made(3, 6)
    with products.onednn_products():
        layer(x).sum().backward()
    assert layer.weight.grad is not None
    torch.testing.assert_close(layer.weight.grad, x.sum(0).expand(4, 6))


@pytest.mark.usefixtures("by_onednn")
@torch.no_grad()
def test_other_numbers_stay_what_they_are() -> None:
    x, weight = made(3, 6), made(4, 6, seed=1)
    assert products.linear(x.double(), weight.double()).dtype == torch.float64
    with torch.autocast("cpu", torch.bfloat16):
        assert products.linear(x, weight).dtype == torch.bfloat16


@torch.no_grad()
def test_bfloat16_rounds_once() -> None:
    x, weight = made(9, 64).bfloat16(), made(24, 64, seed=1)
    right = x.double() @ weight.bfloat16().double().t()
    size = x.double().abs() @ weight.bfloat16().double().abs().t()
    found = products.bf16_product(weight)(x)
    assert found.dtype == torch.bfloat16
    assert ((found - right).abs() <= 2**-8 * right.abs() + 66 * EPS * size).all()


def _missing(*given: object) -> Tensor:
    raise RuntimeError("this processor has none")


@pytest.mark.usefixtures("measured_anew")
@torch.no_grad()
def test_where_there_is_no_onednn_torch_multiplies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(products, "_onednn", _missing)
    monkeypatch.setattr(products, "WIDE", 0)
    x, weight = made(70, 64), made(16, 64, seed=1)
    assert not products.onednn_is_faster()
    assert torch.equal(products.linear(x, weight), x @ weight.t())
    monkeypatch.setattr(products, "onednn_is_faster", lambda: True)  # and no room is left now
    assert torch.equal(products.linear(x, weight), x @ weight.t())
    half = products.bf16_product(weight)
    torch.testing.assert_close(half(x.bfloat16()), x.bfloat16() @ weight.bfloat16().t())


@pytest.mark.usefixtures("measured_anew")
@pytest.mark.parametrize("slower", ["onednn", "torch"])
def test_the_faster_one_is_taken(slower: str, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr("time.perf_counter", lambda: clock[0])

    def taking(seconds: float) -> Tensor:
        clock[0] += seconds
        return torch.empty(0)

    seconds = {"onednn": 1.0, "torch": 1.0, slower: 2.0}
    monkeypatch.setattr(products, "_onednn", lambda *given: taking(seconds["onednn"]))
    monkeypatch.setattr(torch.nn.functional, "linear", lambda *given: taking(seconds["torch"]))
    assert products.onednn_is_faster() == (slower == "torch")


@pytest.mark.usefixtures("by_onednn")
@torch.no_grad()
def test_inside_the_context_every_linear_layer_takes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    layer, x, calls = torch.nn.Linear(6, 4), made(9, 6), []
    real = products._onednn
    monkeypatch.setattr(products, "_onednn", lambda *given: calls.append(1) or real(*given))
    layer(x)
    assert not calls
    with products.onednn_products():
        inside = layer(x)
    assert calls
    torch.testing.assert_close(inside, layer(x))
    assert products.linear is not torch.nn.functional.linear
