"""Switch off heads: changes are stored in the address, and their effects equal `compare`'s."""

from __future__ import annotations

import json
from functools import partial

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.conftest import (
    Visit,
    browser_views,
    button,
    component_data,
    messages,
    run_program,
    view,
    visible_text,
)
from transformer import Translator
from transformer.analysis.corpora import Corpus
from transformer.analysis.importance.by_gradient import gradient_importances
from transformer.analysis.interventions.blanking import blank_cells
from transformer.analysis.interventions.comparison import Comparison, compare
from transformer.analysis.interventions.patches import (
    masked_tokens,
    patched,
    replaced_row,
)
from transformer.analysis.interventions.switching import switched_off, to_mean, uniform
from transformer.api.model_description import EXAMPLES
from transformer.figures.packing import unpack
from transformer.inference import Trace
from transformer.measures.head_codes import write_heads
from transformer.ui.pages.home import ABLATIONS, switch_changes

PAGE, TEXT = "app.py?depth=off", "The baker hides books."
# A short forced translation: the tiny model never stops, and long outputs take time.
FORCED_TARGET = "Elle cache."
OFF = [("encoder", 1, 2), *(("cross", 1, head) for head in range(4))]
main_text = partial(visible_text, kinds=("markdown", "caption", "info"))


def open_switches(visit: Visit, **params: str) -> AppTest:
    fields = {
        "text": TEXT,
        "method": "forced",
        "target": FORCED_TARGET,
        "exact": "1",
    }
    return visit(PAGE, **{**fields, **params})


def original_trace(translator: Translator) -> Trace:
    """Return the unchanged trace of the sentence and the forced translation."""
    return translator.trace(TEXT, FORCED_TARGET)


def attention_changes(app: AppTest) -> dict[str, np.ndarray]:
    """Return every head's change in attention, as sent to the browser."""
    for element in browser_views(app):
        if element.proto.component_name.endswith("headgrid"):
            kinds = json.loads(element.proto.json)["kinds"]
            return {kind: np.square(grid["levels"]) for kind, grid in kinds.items()}
    return {}


def check_comparison(app: AppTest, comparison: Comparison) -> None:
    """Check that the page shows this comparison."""
    assert not messages(app)
    changes = attention_changes(app)
    for kind, values in changes.items():
        np.testing.assert_allclose(values, comparison.attention(kind), atol=1e-5)
    assert changes
    table = comparison.probabilities
    token = table.iloc[int((table.after - table.before).abs().to_numpy().argmax())]
    if abs(token.after - token.before) >= 0.005:
        assert f"from **{100 * token.before:.0f}%** to" in main_text(app)
        assert f"** to **{100 * token.after:.0f}%**" in main_text(app)
    if comparison.original.translation.method == "forced":
        assert "without forced decoding, the changed model writes" in main_text(app)
    else:
        assert ("the translation becomes" in main_text(app)) == comparison.changed


def test_a_slider_switches_off_the_least_important_heads(
    visit: Visit, translator: Translator
) -> None:
    corpus = Corpus.of_text(TEXT)
    order = gradient_importances(translator, corpus)["sentence"].normalised().order()
    app = open_switches(visit)
    assert "Switch off a head below" in main_text(app)
    assert component_data(app)[0]["off"] == ""
    assert not attention_changes(app)
    assert button(app, "Restore everything").disabled
    app.slider(key="pruned-heads").set_value(3).run()
    assert view(app).off == write_heads(order[:3])
    assert "After the change:" in main_text(app)
    assert attention_changes(app)
    assert app.slider(key="pruned-heads").value == 3
    button(app, "Restore everything").click().run()
    assert view(app).off == ""
    assert app.slider(key="pruned-heads").value == 0
    for other_heads in (order[1:3], order[-1:], [*order[:2], order[-1]]):
        app = open_switches(visit, off=write_heads(other_heads))
        assert app.slider(key="pruned-heads").value == 0


@pytest.mark.parametrize("ablation", ABLATIONS)
def test_switched_off_heads(visit: Visit, translator: Translator, ablation: str) -> None:
    replaced = ablation != "zero"
    app = open_switches(
        visit, off="e1.2,c1", ablation=ablation, method="forced" if replaced else "greedy"
    )
    config = translator.model.config
    hooks = {
        "zero": lambda: switched_off(config, OFF),
        "uniform": lambda: uniform(config, OFF),
        "mean": lambda: to_mean(config, OFF, [translator.trace(text) for text in EXAMPLES]),
    }[ablation]()
    check_comparison(
        app,
        compare(translator, TEXT, hooks, original=original_trace(translator) if replaced else None),
    )
    assert "these 5 heads" in main_text(app)


def test_an_edited_row(visit: Visit, translator: Translator) -> None:
    app = open_switches(visit, kind="cross", layer="0", head="1", edited_row="c0.1.2:1x30,2x90")
    trace = original_trace(translator)
    row = [0.0, 30, 90] + [0] * (len(trace.src_tokens) - 3)
    check_comparison(
        app,
        compare(
            translator,
            TEXT,
            replaced_row(trace, ("cross", 0, 1), 2, row),
            original=original_trace(translator),
        ),
    )
    assert app.multiselect(key="switch-keys").value == [1, 2]
    assert [slider.value for slider in app.slider[1:]] == [30, 90]
    app.slider[1].set_value(80).run()
    assert view(app).edited_row == "c0.1.2:1x80,2x90"
    app.multiselect(key="switch-keys").set_value([2, 0]).run()
    assert view(app).edited_row == "c0.1.2:0x50,2x90"
    app.selectbox(key="switch-query").set_value(3).run()
    assert (view(app).edited_row, view(app).row) == ("", 3)
    app.multiselect(key="switch-keys").set_value([4]).run()
    assert view(app).edited_row == "c0.1.3:4x50"
    app.multiselect(key="switch-keys").set_value([]).run()
    assert view(app).edited_row == ""


def test_masked_source_tokens(visit: Visit, translator: Translator) -> None:
    app = open_switches(visit, masked_tokens="1,2")
    trace = original_trace(translator)
    check_comparison(
        app,
        compare(
            translator, TEXT, masked_tokens(trace, [1, 2]), original=original_trace(translator)
        ),
    )
    app.multiselect(key="switch-masked").set_value([2]).run()
    assert view(app).masked_tokens == "2"


def test_activations_of_another_sentence(visit: Visit, translator: Translator) -> None:
    site, other_sentence = "encoder.layers.0.ffn_norm.hook_output", "She paints a boat."
    app = open_switches(visit, other=other_sentence, patch=f"{site}:1,2:0,3")
    trace, donor = original_trace(translator), translator.trace(other_sentence)
    hooks = patched(trace, donor, site, [1, 2], donor_positions=[0, 3])
    check_comparison(app, compare(translator, TEXT, hooks, original=original_trace(translator)))
    app.multiselect(key="switch-there").set_value([1]).run()
    assert view(app).patch == f"{site}:1,2:1"
    assert "must be equal" in " ".join(messages(app))
    app.multiselect(key="switch-here").set_value([3]).run()
    assert not messages(app)
    hooks = patched(trace, donor, site, [3], donor_positions=[1])
    check_comparison(app, compare(translator, TEXT, hooks, original=original_trace(translator)))


def test_all_changes_at_once_and_the_same_from_python(visit: Visit) -> None:
    site = "decoder.layers.0.ffn_norm.hook_output"
    app = open_switches(
        visit,
        off="d0.1",
        ablation="mean",
        masked_tokens="1",
        edited_row="e0.1.0:0x1",
        patch=f"{site}:1:1",
    )
    assert not messages(app)
    assert "with a token of the source masked, with an edited row and with" in main_text(app)
    namespace = run_program(app.code[0].value)
    for kind, values in attention_changes(app).items():
        np.testing.assert_allclose(values, namespace["comparison"].attention(kind), atol=1e-5)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"off": "c9.1"}, "This model has no c9.1; it has layers 0 to 1 of heads 0 to 3"),
        ({"edited_row": "c0.1.900:0x1"}, "There is no position 900"),
        (
            {"edited_row": "d0.1.1:5x1", "kind": "decoder", "layer": "0", "head": "1"},
            "Query 1 has no key 5; its keys are 0 to 1",
        ),
        ({"other": "the lamp " * 600}, "tokens"),
        ({"masked_tokens": "700"}, "There is no position 700"),
        ({"patch": "encoder.nothing:1:1"}, "'encoder.nothing'"),
        ({"off": "<b>"}, "it must be e, d or c and layer.head or a layer"),
        ({"text": " "}, "There is no text to translate"),
    ],
)
def test_impossible_changes_are_reported(
    visit: Visit, params: dict[str, str], message: str
) -> None:
    app = open_switches(visit, **params)
    assert message in " ".join(messages(app))


@pytest.mark.parametrize("text", ["hides the lamp ||| books", "<script>books</script>"])
def test_a_sentence_is_not_read_as_a_file(visit: Visit, translator: Translator, text: str) -> None:
    """Its importances are those of the whole text, whatever format it would have as a file."""
    corpus = Corpus.of_text(text)
    order = gradient_importances(translator, corpus)["sentence"].normalised().order()
    app = open_switches(visit, text=text)
    assert not messages(app)
    app.slider(key="pruned-heads").set_value(3).run()
    assert view(app).off == write_heads(order[:3])


def test_limits_for_a_long_text_and_an_unusual_text(visit: Visit) -> None:
    app = open_switches(visit, text="hides books the lamp " * 16)
    assert "heads can be switched off for up to 128" in main_text(app)
    app = open_switches(visit, text="hides books the lamp " * 6, off="c1", blank="all")
    assert "All cells can be blanked for up to 48 tokens" in main_text(app)
    assert "without forced decoding, the changed model writes" in main_text(app)
    assert "None: the change affects no later head" in main_text(app)
    app = open_switches(
        visit, text="<b>x</b> 👩🏽‍🚀", off="c1", kind="encoder", row="0", column="0"
    )
    assert not messages(app)
    assert attention_changes(app)


def test_blanking_a_selected_cell_and_all_cells(visit: Visit, translator: Translator) -> None:
    params = {"kind": "cross", "layer": "1", "head": "2", "row": "1", "column": "3"}
    app = open_switches(visit, **params)
    trace = original_trace(translator)
    cells = blank_cells(translator, trace, ("cross", 1, 2))
    index = cells.cells.index((1, 3))
    numbers = [metric.value.replace("−", "-") for metric in app.metric]
    assert numbers[:2] == [f"{cells.weights[index]:.3f}", f"{cells.norms[index]:.3f}"]
    assert float(numbers[2].removesuffix(" nats")) == pytest.approx(cells.total[index], abs=1e-4)
    assert "rank correlation" not in main_text(app)
    app = open_switches(visit, **params, blank="all")
    ranks = cells.correlations()
    for name in ("weight_effect", "norm_effect"):
        assert f"**{ranks[name]:.2f}**".replace("-", "−") in main_text(app)
    assert f"{len(cells.cells)} cells" in main_text(app)
    header, parts = next(
        unpack(element.proto.bytes)
        for element in browser_views(app)
        if unpack(element.proto.bytes)[0].get("shown") == ["weight", "effect"]
    )
    assert header["cell"] == [1, 3]
    expected = cells.total.reshape(len(trace.tgt_tokens), -1)
    np.testing.assert_allclose(parts["effect"].array, expected, atol=1e-4)


def test_rows_and_patches_round_trip_through_the_address() -> None:
    row = switch_changes.EditedRow(("decoder", 1, 0), 7, {3: 40, 0: 60})
    assert switch_changes.parse_row(row.code()) == row
    patch = switch_changes.Patch("encoder.hook_memory", (2, 1), ())
    assert switch_changes.parse_patch(patch.code()) == patch
    assert switch_changes.parse_row("") is None
    assert switch_changes.parse_patch("") is None
