"""Matrix products by oneDNN or torch: equal results, and gradients where they are enabled."""

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
def always_onednn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use oneDNN for every product that it can compute."""
    monkeypatch.setattr(products, "MIN_WEIGHT_ENTRIES", 0)
    monkeypatch.setattr(products, "ROW_BLOCKS", (7, 2))
    monkeypatch.setattr(products, "onednn_is_faster", lambda: True)


@pytest.fixture
def uncached_measurement() -> Iterator[None]:
    products.onednn_is_faster.cache_clear()
    yield
    products.onednn_is_faster.cache_clear()


def random_tensor(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


@pytest.mark.usefixtures("always_onednn")
@settings(max_examples=60, deadline=None)
@given(
    leading=st.lists(st.integers(1, 5), min_size=1, max_size=3),
    n_in=st.integers(1, 40),
    n_out=st.integers(1, 40),
    bias=st.booleans(),
    layout=st.sampled_from(["contiguous", "transposed", "sliced", "expanded"]),
)
def test_products_equal_double_precision_up_to_rounding(
    leading: list[int], n_in: int, n_out: int, bias: bool, layout: str
) -> None:
    x, weight = random_tensor(*leading, n_in), random_tensor(2 * n_out, n_in, seed=1)[n_out:]
    b = random_tensor(n_out, seed=2) if bias else None
    if layout == "transposed":
        x = x.transpose(0, -1).contiguous().transpose(0, -1)
    elif layout == "sliced":
        x = torch.cat([x, x], -1)[..., :n_in]
    elif layout == "expanded":
        x = x[:1].expand(3, *x.shape[1:])
    with torch.no_grad():
        product = products.linear(x, weight, b)
    expected = x.double() @ weight.double().t() + (0 if b is None else b.double())
    magnitude = x.double().abs() @ weight.double().abs().t() + (
        0 if b is None else b.double().abs()
    )
    assert product.shape == expected.shape
    assert ((product - expected).abs() <= (n_in + 2) * EPS * magnitude).all()


@pytest.mark.usefixtures("always_onednn")
def test_gradients_are_computed() -> None:
    layer, x = torch.nn.Linear(6, 4), random_tensor(3, 6)
    with products.onednn_products():
        layer(x).sum().backward()
    assert layer.weight.grad is not None
    torch.testing.assert_close(layer.weight.grad, x.sum(0).expand(4, 6))


@pytest.mark.usefixtures("always_onednn")
@torch.no_grad()
def test_other_dtypes_are_kept() -> None:
    x, weight = random_tensor(3, 6), random_tensor(4, 6, seed=1)
    assert products.linear(x.double(), weight.double()).dtype == torch.float64
    with torch.autocast("cpu", torch.bfloat16):
        assert products.linear(x, weight).dtype == torch.bfloat16


@torch.no_grad()
def test_bfloat16_rounds_once() -> None:
    x, weight = random_tensor(9, 64).bfloat16(), random_tensor(24, 64, seed=1)
    expected = x.double() @ weight.bfloat16().double().t()
    magnitude = x.double().abs() @ weight.bfloat16().double().abs().t()
    product = products.bf16_product(weight)(x)
    assert product.dtype == torch.bfloat16
    assert ((product - expected).abs() <= 2**-8 * expected.abs() + 66 * EPS * magnitude).all()


def raise_unavailable(*args: object) -> Tensor:
    raise RuntimeError("oneDNN is not available")


@pytest.mark.usefixtures("uncached_measurement")
@torch.no_grad()
def test_torch_multiplies_without_onednn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(products, "_onednn", raise_unavailable)
    monkeypatch.setattr(products, "MIN_WEIGHT_ENTRIES", 0)
    x, weight = random_tensor(70, 64), random_tensor(16, 64, seed=1)
    assert not products.onednn_is_faster()
    assert torch.equal(products.linear(x, weight), x @ weight.t())
    # As if an earlier measurement were cached.
    monkeypatch.setattr(products, "onednn_is_faster", lambda: True)
    assert torch.equal(products.linear(x, weight), x @ weight.t())
    product = products.bf16_product(weight)
    torch.testing.assert_close(product(x.bfloat16()), x.bfloat16() @ weight.bfloat16().t())


@pytest.mark.usefixtures("uncached_measurement")
@pytest.mark.parametrize("slower", ["onednn", "torch"])
def test_the_faster_library_is_chosen(slower: str, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr("time.perf_counter", lambda: clock[0])

    def advance_clock(seconds: float) -> Tensor:
        clock[0] += seconds
        return torch.empty(0)

    seconds = {"onednn": 1.0, "torch": 1.0, slower: 2.0}
    monkeypatch.setattr(products, "_onednn", lambda *args: advance_clock(seconds["onednn"]))
    monkeypatch.setattr(
        torch.nn.functional, "linear", lambda *args: advance_clock(seconds["torch"])
    )
    assert products.onednn_is_faster() == (slower == "torch")


@pytest.mark.usefixtures("always_onednn")
@torch.no_grad()
def test_the_context_applies_to_every_linear_layer(monkeypatch: pytest.MonkeyPatch) -> None:
    layer, x, calls = torch.nn.Linear(6, 4), random_tensor(9, 6), []
    original = products._onednn
    monkeypatch.setattr(products, "_onednn", lambda *args: calls.append(1) or original(*args))
    layer(x)
    assert not calls
    with products.onednn_products():
        product_in_context = layer(x)
    assert calls
    torch.testing.assert_close(product_in_context, layer(x))
    assert products.linear is not torch.nn.functional.linear
