"""Methods of a trace that open an attention explorer."""

from __future__ import annotations

import pytest

from transformer.figures import ExplorerView
from transformer.inference.trace import Trace
from transformer.inference.translator import Translator

TEXT = "The baker sells the lamp again."


@pytest.fixture(scope="module")
def trace(translator: Translator) -> Trace:
    return translator.trace(TEXT, max_len=8)


def test_each_method_opens_its_view(trace: Trace) -> None:
    for explorer, view in (
        (trace.explore(), "heads"),
        (trace.model(), "model"),
        (trace.heatmap(layer=1, head=3, exact=False), "heatmap"),
        (trace.explore(view="query-key"), "query-key"),
    ):
        assert isinstance(explorer, ExplorerView)
        assert explorer.state["view"] == view
        assert [side.traced for side in explorer.sides] == [trace]
    assert trace.heatmap().state["exact"] == 1


def test_a_trace_without_all_weights_shows_the_kinds_it_has(translator: Translator) -> None:
    names = [f"decoder.layers.{n}.cross_attn.hook_weights" for n in range(2)]
    trace = translator.trace(TEXT, max_len=8, names=names)
    explorer = trace.heatmap(layer=1)
    assert explorer.sides[0].kinds == ["cross"]
    parts = [part.name for part in explorer.sides[0].parts]
    assert parts == ["weights.cross.0", "weights.cross.1"]
    with pytest.raises(ValueError, match="no weights of kind 'encoder'; it has cross"):
        trace.heatmap(kind="encoder")
    with pytest.raises(ValueError, match="no layer 2; the layers are 0 to 1"):
        trace.heatmap(layer=2)
    trace_without_weights = translator.trace(TEXT, max_len=8, names=[])
    with pytest.raises(ValueError, match="no attention to show"):
        trace_without_weights.explore()
