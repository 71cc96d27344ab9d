"""The explorer as a notebook widget: its traits in Python, and its module as a browser loads it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import traitlets

from tests.figures.fake_traces import FakeTrace, fake_trace
from transformer.figures import PackedTrace
from transformer.figures.packing import unpack
from transformer.figures.state import DEFAULTS
from transformer.figures.widget import ExplorerWidget
from transformer.inference.trace import Trace
from transformer.inference.translator import Translator

SRC, TGT = ["▁the", "▁cat", "s", "</s>"], ["<s>", "▁les", "▁chats"]
TRAITS = {"view", "kind", "layer", "head", "pin"}


@pytest.fixture
def trace() -> FakeTrace:
    return fake_trace(SRC, TGT, vectors=True)


@pytest.fixture
def widget(trace: FakeTrace) -> ExplorerWidget:
    return ExplorerWidget([PackedTrace(trace)], {"kind": "encoder", "layer": 1, "head": 2})


def test_traits_have_the_initial_state(trace: FakeTrace, widget: ExplorerWidget) -> None:
    assert (widget.view, widget.kind, widget.layer, widget.head) == ("heads", "encoder", 1, 2)
    side = PackedTrace(trace)
    clearest = ExplorerWidget([side], {})
    assert (clearest.layer, clearest.head) == side.clearest(clearest.kind)
    synced = {name for name in widget.keys if name in TRAITS | {"_data", "_esm", "_css"}}
    assert synced == TRAITS | {"_data", "_esm", "_css"}


def test_the_browser_gets_the_data_of_a_page(trace: FakeTrace, widget: ExplorerWidget) -> None:
    head, parts = unpack(widget._data)
    assert head["start"] == {**DEFAULTS, "kind": "encoder", "layer": 1, "head": 2, "exact": 1}
    weights = {name for name in parts if name.startswith("0.weights.")}
    assert {f"0.weights.encoder.{n}" for n in range(3)} <= weights
    assert not any(name.startswith("0.query.") for name in parts)
    widget.view = "query-key"
    _, parts = unpack(widget._data)
    query = trace["encoder.layers.1.self_attn.hook_query"][3]
    assert (parts["0.query.encoder.1.3"].array == query).all()
    widget.layer = 0
    assert "0.query.encoder.0.3" in unpack(widget._data)[1]


def test_the_browsers_selection_is_read_in_python(widget: ExplorerWidget) -> None:
    """Through the message that a notebook's front end sends."""
    changes: list[Any] = []
    widget.observe(changes.append, names=["head"])
    widget.set_state({"kind": "cross", "layer": 0, "head": 3, "pin": "s2", "view": "model"})
    assert (widget.kind, widget.layer, widget.head, widget.view) == ("cross", 0, 3, "model")
    assert [change["new"] for change in changes] == [3]
    assert widget.pinned_word == "cats"
    for pin, word in (("t1", "les"), ("s3", None), ("s99", None), ("", None)):
        widget.pin = pin
        assert widget.pinned_word == word


@pytest.mark.parametrize(
    ("trait", "value", "says"),
    [
        ("head", 4, "head must be 0 to 3, not 4"),
        ("head", -1, "head must be 0 to 3, not -1"),
        ("layer", 3, "layer must be 0 to 2, not 3"),
        ("kind", "cros", "kind must be one of encoder, decoder, cross, not 'cros'"),
        ("view", "map", "view must be one of heads, heatmap, model"),
        ("pin", "x1", "pin must be s or t and a position"),
    ],
)
def test_a_wrong_value_is_refused_and_the_old_one_stays(
    widget: ExplorerWidget, trait: str, value: object, says: str
) -> None:
    before = getattr(widget, trait)
    with pytest.raises(traitlets.TraitError, match=says):
        setattr(widget, trait, value)
    assert getattr(widget, trait) == before


def test_a_trace_opens_it_and_two_are_compared(translator: Translator) -> None:
    trace = translator.trace("She finds bread.", max_len=6)
    assert trace.widget(layer=1, head=3).head == 3
    assert trace.widget(trace, view="compare").view == "compare"
    with pytest.raises(ValueError, match="no layer 2; the layers are 0 to 1"):
        trace.widget(layer=2)
    alone = Trace.from_weights(trace.src_tokens, encoder=trace.all_weights("encoder"))
    with pytest.raises(traitlets.TraitError, match="kind must be one of encoder, which this trace"):
        alone.widget().kind = "cross"


def test_without_anywidget_an_error_says_how_to_install_it(
    translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = translator.trace("She finds bread.", max_len=6)
    monkeypatch.delitem(sys.modules, "transformer.figures.widget")
    monkeypatch.setitem(sys.modules, "anywidget", None)
    with pytest.raises(ImportError, match=r'pip install "heads-up\[widget\]"'):
        trace.widget()


def test_the_module_loads_and_exports_a_render_function(tmp_path: Path) -> None:
    """In Deno, as a browser imports it: one file that imports nothing."""
    (tmp_path / "widget.js").write_text(ExplorerWidget._esm, encoding="utf-8")
    (tmp_path / "load.js").write_text(
        'const { default: made } = await import("./widget.js");\n'
        "console.log(Object.keys(made).join(), typeof made.render);\n"
    )
    deno = Path(sys.executable).with_name("deno")
    command = [deno, "run", "--quiet", f"--allow-read={tmp_path}", tmp_path / "load.js"]
    process = subprocess.run(
        command, capture_output=True, encoding="utf-8", timeout=60, check=False
    )
    assert (process.stdout, process.stderr) == ("render function\n", "")
    assert ".hu {" in ExplorerWidget._css
    assert ".hu-widget {" in ExplorerWidget._css
