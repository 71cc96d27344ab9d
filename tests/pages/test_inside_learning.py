"""Inside: how it learns, and BLEU by hand, every figure against another way to it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import sacrebleu
import torch
from streamlit.testing.v1 import AppTest

from tests.pages.conftest import Visit, view
from tests.pages.test_inside import numbers
from transformer import Translator
from transformer.training.schedule import paper_rate
from transformer.ui.address import View

PAGE = "pages/inside.py"
TEXT = "The baker paints a boat."


def charts(app: AppTest) -> list[dict[str, object]]:
    return [json.loads(chart.proto.spec) for chart in app.get("plotly_chart")]


def html(app: AppTest) -> str:
    return "\n".join(element.proto.body for element in app.get("html"))


def told(app: AppTest) -> str:
    return "\n".join(box.value for box in app.markdown)


def test_the_rate_is_equation_3_and_its_sliders_stand_in_the_address(visit: Visit) -> None:
    app = visit(PAGE, text=TEXT, section="learning", d="128", warmup="400")
    drawn = charts(app)[0]["data"][0]  # type: ignore[index]
    steps, rate = numbers(drawn["x"]), numbers(drawn["y"])
    assert rate.max() == pytest.approx((128 * 400) ** -0.5)
    assert steps[rate.argmax()] == 400
    for step, one in list(zip(steps, rate, strict=True))[::50]:
        assert one == pytest.approx(paper_rate(int(step), 128, 400))
    app.select_slider(key=f"{PAGE}:warmup").set_value(1000).run()
    assert not app.exception
    assert view(app).warmup == 1000
    assert app.query_params["warmup"] == "1000"
    assert f"{(128 * 1000) ** -0.5:.3g}" in told(app)


def test_dropout_hides_other_numbers_at_another_step(visit: Visit) -> None:
    app = visit(PAGE, text=TEXT, section="learning", dropout="0.5", layer="1")

    def gone() -> str:
        (line,) = [one for one in told(app).split("\n") if "numbers are gone" in one]
        return line

    first = gone()
    count, of = map(int, re.findall(r"\d+", first)[:2])
    assert 0 < count < of
    app.button[-1].click().run()
    assert not app.exception
    assert view(app).seed == View().seed + 1
    assert gone() != first
    app.slider(key=f"{PAGE}:dropout").set_value(0.0).run()
    assert "Nothing is dropped" in told(app)


def test_the_loss_of_a_smoothed_target_is_torchs(visit: Visit, checkpoints: Path) -> None:
    app = visit(PAGE, text=TEXT, section="learning", smoothing="0.2", row="1")
    trace = Translator.load(checkpoints / "tiny", device="cpu").trace(TEXT)
    logits = torch.tensor(trace["hook_logits"])[1].double()
    gold = torch.tensor(trace.predicted_ids[1])
    shown = re.findall(r"<td>([\d.]+)</td>", html(app).split("The loss of this place")[1])
    for value, smoothing in ((shown[0], 0.0), (shown[2], 0.2)):
        wanted = torch.nn.functional.cross_entropy(logits, gold, label_smoothing=smoothing)
        assert float(value) == pytest.approx(wanted.item(), abs=1e-4)
    app.selectbox(key="learning-target").set_value(0).run()
    assert not app.exception
    assert view(app).row == 0


@pytest.mark.parametrize("target", ["Le boulanger peint.", "a b c d e f g"])
def test_bleu_is_sacrebleus(visit: Visit, checkpoints: Path, target: str) -> None:
    app = visit(PAGE, text=TEXT, section="bleu")
    assert "Write what would be right" in app.info[0].value
    output = Translator.load(checkpoints / "tiny", device="cpu").translate(TEXT).text
    reference = f"{target} {' '.join(output.split()[:3])}"
    app.text_input[1].set_value(reference).run()
    assert not app.exception
    assert not app.info
    wanted = sacrebleu.sentence_bleu(output, [reference])
    (last,) = [box.value for box in app.latex if "mathbf" in box.value]
    assert float(re.findall(r"mathbf\{([\d.]+)\}", last)[0]) == pytest.approx(
        wanted.score, abs=0.05
    )
    for matched, total in zip(wanted.counts, wanted.totals, strict=True):
        assert f"<td>{matched} / {total}</td>" in html(app)


def test_nothing_in_common_is_0(visit: Visit) -> None:
    app = visit(PAGE, text=TEXT, section="bleu", target="0123456789")
    assert not app.exception
    assert any(r"\mathrm{BLEU} = 0" in box.value for box in app.latex)
