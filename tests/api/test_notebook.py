"""The page Try as a notebook widget: answers equal those of the translator; its state in Python."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import traitlets
from hypothesis import given
from hypothesis import strategies as st

from tests.hostile import JSON_VALUES, check_message
from tests.notebook import connection, notebook_comms
from transformer import Translator
from transformer.analysis.interventions.switching import switched_off
from transformer.api.notebook import TryWidget
from transformer.figures.packing import unpack
from transformer.model import Transformer
from transformer.text import Vocabulary

TEXT = "The baker paints a boat."


@pytest.fixture(autouse=True)
def _notebook() -> Iterator[None]:
    with notebook_comms():
        yield


@pytest.fixture
def own(tiny_model: Transformer, vocabulary: Vocabulary) -> Translator:
    """Return a translator whose weights a test may change."""
    model = Transformer(tiny_model.config).eval()
    model.load_state_dict(tiny_model.state_dict())
    return Translator(model, vocabulary)


def ask(widget: TryWidget, kind: object, request: object) -> tuple[str, bytes]:
    """Return the problem and the answer of a request."""
    message = {"method": "custom", "content": {"id": "1", "kind": kind, "request": request}}
    [(reply, [data])] = connection(widget).receive(message)
    assert reply["content"]["id"] == "1"
    return reply["content"].get("problem", ""), data


def translated(widget: TryWidget, **request: Any) -> dict[str, Any]:
    problem, data = ask(widget, "translate", {"text": TEXT, **request})
    assert not problem
    return json.loads(data)


def test_answers_are_those_of_the_translator(translator: Translator) -> None:
    widget = translator.explore(TEXT)
    expected = translator.translate(TEXT)
    assert translated(widget)["text"] == expected.text
    beam = translated(widget, method="beam", beam_size=3, length_penalty=0.6)
    options = {"method": "beam", "beam_size": 3, "length_penalty": 0.6}
    assert beam["score"] == pytest.approx(translator.translate(TEXT, **options).score, abs=1e-4)
    hooks = switched_off(translator.model.config, [("cross", 1, 1)])
    forced = {"method": "forced", "target": expected.text, "off": "c1.1"}
    score = translator.translate(TEXT, target=expected.text, hooks=hooks).score
    assert translated(widget, **forced)["score"] == pytest.approx(score, abs=1e-4)


def test_the_explorer_gets_the_weights(translator: Translator) -> None:
    widget = translator.explore(TEXT)
    problem, data = ask(widget, "ask/explore", {"text": TEXT})
    assert not problem
    header, _ = unpack(data)
    trace = translator.trace(TEXT)
    assert header["sides"][0]["tgt"] == [*trace.tgt_tokens]
    name = "0.query.cross.1.1"
    _, parts = unpack(ask(widget, "ask/part", {"text": TEXT, "name": name})[1])
    query = trace["decoder.layers.1.cross_attn.hook_query"][1]
    assert next(iter(parts.values())).array == pytest.approx(query, abs=1e-4)


def test_the_client_gets_one_model_and_all_methods(translator: Translator) -> None:
    data = json.loads(ask(translator.explore(), "models", {})[1])
    [model] = data["models"].values()
    assert model["config"]["n_heads"] == translator.model.config.n_heads
    assert {*data["methods"]} == {"greedy", "beam", "sample", "forced"}
    assert data["files"] == ["html", "npz"]


@pytest.mark.parametrize("edit", ["in place", "data"])
def test_changed_weights_are_seen_by_the_next_request(own: Translator, edit: str) -> None:
    widget = own.explore(TEXT)
    target = {"method": "forced", "target": "un bateau"}
    before = translated(widget, **target)["score"]
    weight = own.model.decoder.layers[0].ffn.w_1.weight
    if edit == "data":
        weight.data *= 3
    else:
        with torch.no_grad():
            weight.copy_(weight.flip(0))
    after = translated(widget, **target)["score"]
    assert after != before
    assert after == pytest.approx(own.translate(TEXT, target="un bateau").score, abs=1e-4)


def test_a_wrong_request_is_answered_with_a_sentence(translator: Translator) -> None:
    widget = translator.explore()
    for kind, request, says in [
        ("ask/glance", {"text": " "}, "Type a few words"),
        ("ask/glance", None, "An object is needed"),
        ("ask/nothing", {}, 'There is no request "ask/nothing"'),
        ("ask/cells", {"text": "a", "head": {"kind": "cross", "layer": 9, "head": 0}}, "layer"),
    ]:
        problem, data = ask(widget, kind, request)
        assert says in problem
        check_message(ValueError(problem))
        assert not data


@given(
    kind=st.sampled_from(["ask/glance", "ask/part", "models"]) | JSON_VALUES, request=JSON_VALUES
)
def test_any_message_is_answered(widget: TryWidget, kind: object, request: object) -> None:
    problem, data = ask(widget, kind, request)
    assert bool(problem) != bool(data)


@pytest.fixture(scope="module")
def widget(translator: Translator) -> TryWidget:
    with notebook_comms():
        return translator.explore()


def test_an_interrupted_or_failed_computation_is_answered(own: Translator) -> None:
    widget = own.explore(TEXT)

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    def fail(*_: object) -> None:
        raise RuntimeError("out of memory")

    for stop, says in ((interrupt, "was interrupted."), (fail, "RuntimeError: Out of memory.")):
        hook = own.model.encoder.register_forward_pre_hook(stop)
        problem, _ = ask(widget, "translate", {"text": TEXT})
        hook.remove()
        assert problem.endswith(says)
    assert translated(widget)["text"] == own.translate(TEXT).text


def test_the_state_of_the_page_is_read_in_python(translator: Translator) -> None:
    widget = translator.explore(TEXT, depth="off")
    assert (widget.state["text"], widget.state["depth"], widget.state["kind"]) == (
        TEXT,
        "off",
        "cross",
    )
    changes: list[Any] = []
    widget.observe(changes.append, names=["address"])
    update = {"address": {"text": "A boat.", "layer": "1", "head": "0", "off": "c1.0"}}
    connection(widget).receive({"method": "update", "state": update, "buffer_paths": []})
    assert widget.state["depth"] == "bands"
    assert (widget.state["layer"], widget.state["head"], widget.state["off"]) == (1, 0, "c1.0")
    assert [change["new"]["text"] for change in changes] == ["A boat."]


def test_a_wrong_value_is_refused_and_the_old_one_stays(translator: Translator) -> None:
    widget = translator.explore(TEXT, exact=True)
    assert widget.address == {"exact": 1, "text": TEXT}
    for address, says in (
        ({"dept": "off"}, "The page Try has no 'dept'.*did you mean 'depth'"),
        ({"depth": "deep"}, "depth must be one of bands, heads, steps, off, not 'deep'"),
        ({"off": "x1"}, "off must be"),
    ):
        with pytest.raises(traitlets.TraitError, match=says):
            widget.address = address
        with pytest.raises(ValueError, match=says):
            translator.explore(**address)
    assert widget.address == {"exact": 1, "text": TEXT}


def test_without_a_text_it_opens_with_an_example_of_the_model(
    translator: Translator, checkpoints: Path
) -> None:
    assert Translator.load(checkpoints / "tiny").explore().state["text"] == "I am a student."
    symbols = Vocabulary.from_symbols(["a", "b", "c"])
    config = replace(translator.model.config, vocab_size=len(symbols))
    widget = Translator(Transformer(config).eval(), symbols).explore()
    assert widget.state["text"] == "a b c"
    assert not ask(widget, "ask/glance", {"text": "a b c"})[0]


def test_without_anywidget_an_error_says_how_to_install_it(
    translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "transformer.api.notebook")
    monkeypatch.setitem(sys.modules, "anywidget", None)
    with pytest.raises(ImportError, match=r'pip install "heads-up\[widget\]"'):
        translator.explore()
