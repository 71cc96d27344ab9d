"""The PyTorch script that the page "Train in this tab" exports."""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.figures.deno import deno
from transformer.config import ModelConfig
from transformer.figures.modules import CLIENT
from transformer.figures.trainer_page import SCORE_RACE, WARMUP_RACE
from transformer.model.attention import MultiHeadAttention
from transformer.text import tasks

TASKS = [name for name in tasks.TASKS if name != "french"]
PAIRS = [["I see .", "ich sehe ."], ["you see .", "du siehst ."]]


def script(link: str, pairs: object = None) -> str:
    """Return the script of the run of a link."""
    code = f"""
import {{ allSettings, readLink }} from "{(CLIENT / "app/trainer/link.js").as_uri()}";
import {{ scriptFor }} from "{(CLIENT / "app/trainer/script.js").as_uri()}";
console.log(scriptFor(allSettings(readLink({json.dumps(link)}), 0), {json.dumps(pairs)}));
"""
    return deno("eval", "--no-lock", code)


def load(folder: Path, link: str, pairs: object = None) -> dict[str, Any]:
    """Return the names that the script of a link defines."""
    file = folder / "train.py"
    file.write_text(script(link, pairs), encoding="utf-8")
    return runpy.run_path(str(file))


@pytest.mark.parametrize("task", TASKS)
def test_every_task_trains(task: str, tmp_path: Path) -> None:
    module = load(tmp_path, f"task={task};steps=2;batch=4;d_model=32;d_ff=32")
    assert len((tmp_path / "train.py").read_text("utf-8").splitlines()) <= 200
    source, target = module["example"]()
    assert source
    assert {*source, *target} <= {*module["SYMBOLS"]}
    module["main"]()


@pytest.mark.parametrize("options", ["key=1", "key=77"])
def test_the_script_replaces_letters_as_the_page_does(options: str, tmp_path: Path) -> None:
    link = f"task=cipher;steps=2;option.{options}"
    code = f"""
import {{ allSettings, readLink }} from "{(CLIENT / "app/trainer/link.js").as_uri()}";
import {{ makeData }} from "{(CLIENT / "training/data.js").as_uri()}";
const {{ symbols, train }} = makeData(allSettings(readLink({json.dumps(link)}), 0));
console.log(JSON.stringify(train.slice(0, 500).flatMap(({{ src, tgt }}) =>
  src.map((id, i) => [symbols[id], symbols[tgt[i]]]))));
"""
    in_page = {tuple(pair) for pair in json.loads(deno("eval", "--no-lock", code))}
    example = load(tmp_path, link)["example"]
    in_script = {pair for _ in range(500) for pair in zip(*example(), strict=True)}
    assert in_script == in_page - {("</s>", "</s>")}


def test_numbers_to_add_have_each_count_of_digits_equally_often(tmp_path: Path) -> None:
    example = load(tmp_path, "task=addition;steps=2")["example"]
    lengths = [len("".join(example()[0]).split("+")[0]) for _ in range(3000)]
    for count in (1, 2, 3):
        assert abs(lengths.count(count) / 3000 - 1 / 3) < 0.05  # 5.8 standard deviations


def test_pairs_of_the_subtraction_are_held_out(tmp_path: Path) -> None:
    example = load(tmp_path, "task=modular;steps=2")["example"]
    trained = {tuple(example()[0]) for _ in range(5000)}
    held_out = {tuple(example(held_out=True)[0]) for _ in range(5000)}
    assert not trained & held_out
    assert len(held_out) / len(trained | held_out) == pytest.approx(0.3, abs=0.06)


def test_a_recurrent_model_is_no_transformer() -> None:
    with pytest.raises(AssertionError, match="Only a Transformer can be exported as a script"):
        script("task=reverse;model=gru")


def test_the_app_links_to_the_race_of_the_trainer() -> None:
    code = f"""
import {{ SCORE_RACE }} from "{(CLIENT / "app/trainer/races.js").as_uri()}";
console.log(SCORE_RACE);
"""
    assert deno("eval", "--no-lock", code).strip() == SCORE_RACE


@pytest.mark.parametrize("link", [SCORE_RACE, WARMUP_RACE])
def test_the_links_of_races_are_valid(link: str) -> None:
    assert "STEPS, BATCH = 0.0" in script(link)


def test_a_link_needs_only_the_task() -> None:
    code = f"""
import {{ allSettings, readLink }} from "{(CLIENT / "app/trainer/link.js").as_uri()}";
import {{ TASKS }} from "{(CLIENT / "training/tasks.js").as_uri()}";
const opened = Object.keys(TASKS).map((task) => allSettings(readLink(`task=${{task}}`), 0));
console.log(opened.map(({{ task }}) => task).join());
"""
    assert {*deno("eval", "--no-lock", code).strip().split(",")} == {*TASKS, "french"}


def test_the_script_learns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "train.py"
    text = script("task=reverse;steps=200;option.longest=3;option.letters=4")
    file.write_text(text, encoding="utf-8")
    runpy.run_path(str(file), run_name="__main__")
    right = re.findall(r"([\d.]+)% of the outputs right", capsys.readouterr().out)
    assert float(right[-1]) > 90


def test_settings_and_heads_switched_off_reach_the_model(tmp_path: Path) -> None:
    link = "positions=learned;score=dot;causal=false;off=c1.0,e0.2;n_layers=2;steps=2"
    module, text = load(tmp_path, link), script(link)
    model = module["Transformer"]()
    assert model.decoder[1].cross_attention.off == [0]
    assert model.encoder[0].self_attention.off == [2]
    assert len(model.learned) == 2
    for absent in ("/ math.sqrt(D_MODEL // HEADS)", ".tril()", ".sin()"):
        assert absent not in text
        assert absent in script("steps=2")
    module["main"]()


@pytest.mark.parametrize("score", ["scaled_dot", "dot", "additive"])
def test_the_script_has_the_attention_of_the_run(score: str, tmp_path: Path) -> None:
    module = load(tmp_path, f"score={score};d_model=32;n_heads=2;steps=2")
    torch.manual_seed(2)
    attention = module["Attention"]("cross", 0)
    expected = MultiHeadAttention(ModelConfig(9, d_model=32, n_heads=2, score=score))
    weights = {
        "w_qkv": torch.cat([attention.q.weight, attention.k.weight, attention.v.weight]),
        "w_o": attention.o.weight,
        **({"score.v": attention.score} if score == "additive" else {}),
    }
    expected.load_state_dict(weights)
    x, memory, mask = torch.randn(2, 4, 32), torch.randn(2, 5, 32), torch.rand(2, 1, 1, 5) < 0.7
    mask[..., 0] = True
    torch.testing.assert_close(attention(x, memory, mask), expected(x, memory, mask))


def test_the_script_of_a_model_without_positions_has_none(tmp_path: Path) -> None:
    load(tmp_path, "positions=none;steps=2")["main"]()
    assert "encoding" not in (tmp_path / "train.py").read_text("utf-8")


def test_own_pairs_are_in_the_script(tmp_path: Path) -> None:
    module = load(tmp_path, "task=pairs;steps=2", {"train": PAIRS})
    assert {" ".join(source) for source, _ in [module["example"]() for _ in range(40)]} == {
        source for source, _ in PAIRS
    }
    module["main"]()
