"""The Train page without a browser: what it offers, what it refuses, whose run is whose."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from tests.jobs.conftest import Still
from tests.pages.conftest import Visit, messages, shown, view
from transformer.checkpoint import save_checkpoint
from transformer.config import ModelConfig
from transformer.jobs import JobError, Jobs, Limits, count_parameters
from transformer.jobs.races import RACES
from transformer.model import Transformer
from transformer.run_config import INSPECT
from transformer.text import Vocabulary
from transformer.text.tasks import TASKS
from transformer.training.estimate import Estimate
from transformer.training.recipe import DEFAULTS, defaults, describe
from transformer.ui import live_jobs
from transformer.ui.kit.uploads import decoded
from transformer.ui.pages import PAGES
from transformer.ui.training import draft, ideas, own_pairs, setup

PAGE = "pages/train.py"
OTHER = "o" * 32
PAIRS = [(f"cat {n}", f"chat {n}") for n in range(30)]
TSV = "".join(f"{src}\t{tgt}\n" for src, tgt in PAIRS)


@pytest.fixture
def jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Jobs:
    """Jobs of the visited server whose runs wait for ever, with a limit to run into."""
    limits = Limits(parameters=1_000_000, upload_bytes=2000, runs_per_visitor=3)
    made = Jobs(tmp_path / "runs", limits, executor=lambda queue, limits: Still())
    monkeypatch.setattr(live_jobs, "jobs", lambda: made)
    monkeypatch.setattr(live_jobs, "estimated", lambda config, pairs=(): Estimate(7, 8, 9.0))
    return made


def button(app: AppTest, label: str, number: int = 0) -> Any:
    return [one for one in app.button if one.label == label][number]


def labels(app: AppTest) -> set[str]:
    return {one.label for one in app.button}


def told(app: AppTest) -> str:
    """All that is written on the page, tables included."""
    parts = [*app.markdown, *app.caption, *app.header, *app.subheader, *app.info, *app.warning]
    text = [one.value for one in parts] + [one.proto.body for one in app.get("html")]
    return "\n".join(text).replace("\\", "")


def form(app: AppTest, task: str) -> AppTest:
    app.button(f"change-{task}").click().run()
    assert not app.exception
    return app


def number(app: AppTest, label: str) -> Any:
    return next(one for one in app.number_input if one.label == label)


def put(jobs: Jobs, owner: str = OTHER, **more: Any) -> str:
    return jobs.submit(describe("reverse", title="A run", **more), owner)


def stand(jobs: Jobs, name: str, status: str, reason: str = "") -> Path:
    """The run stands so, without anybody having trained it."""
    path = jobs.folder(name).path
    state = {"status": status, "reason": reason, "step": 2, "seconds": 3.0}
    (path / "state.json").write_text(json.dumps(state))
    return path


def trained(path: Path) -> None:
    """A checkpoint of the reverse task and the sources of its examples, as a run leaves them."""
    vocabulary = Vocabulary.of_symbols(TASKS["reverse"].symbols)
    config = ModelConfig.preset("tiny", vocab_size=len(vocabulary))
    save_checkpoint(path / "checkpoint", Transformer(config), vocabulary, "# A run\n")
    examples = [{"src": s, "tgt": s[::-1], "output": "", "right": False} for s in ("a b c", "d d")]
    (path / "examples.jsonl").write_text(json.dumps({"step": 1, "examples": examples}) + "\n")


def test_it_opens_by_its_address_with_ideas_and_says_what_to_do_first(
    visit: Visit, jobs: Jobs
) -> None:
    app = visit(PAGE)
    ways = [link.proto.label for link in app.get("page_link")]
    assert ways[: len(PAGES)] == [one.title for one in PAGES.values()]
    for idea in ideas.IDEAS:
        assert idea.title in told(app)
        assert app.button(f"train-{idea.task}")
    assert told(app).count("steps, about 9 s") == len(ideas.IDEAS)
    assert "press **Train** on one of the cards" in told(app)
    assert not messages(app)
    assert not jobs.runs()


@pytest.mark.parametrize(
    ("found", "written"),
    [
        (None, "estimating the time …"),
        ("a step needs more than the 3.0 GB", "a step needs more than the 3.0 GB"),
        (Estimate(7, 8, 9.0), "about **9 s** here"),
    ],
)
def test_the_form_is_there_whether_or_not_the_time_is_known(
    visit: Visit, jobs: Jobs, monkeypatch: pytest.MonkeyPatch, found: Any, written: str
) -> None:
    monkeypatch.setattr(live_jobs, "estimated", lambda config, pairs=(): found)
    app = form(visit(PAGE), "reverse")
    assert written in told(app)
    assert not button(app, "Train").disabled


@pytest.mark.parametrize("idea", ideas.IDEAS, ids=lambda idea: idea.task)
def test_one_click_on_an_idea_puts_its_run_in_line_and_shows_it(
    visit: Visit, jobs: Jobs, idea: ideas.Idea
) -> None:
    app = visit(PAGE)
    app.button(f"train-{idea.task}").click().run()
    assert not app.exception
    assert not messages(app)
    (run,) = jobs.runs()
    assert run.status == "queued"
    assert app.query_params["run"] == run.name == view(app).run
    assert "Next in line" in told(app)
    config = jobs.folder(run.name).config().to_dict()
    assert config["data"]["task"] == idea.task
    assert config["training"]["steps"] == defaults(idea.task)["steps"]
    assert config["training"]["minutes"] == jobs.limits.minutes


def test_the_french_idea_watches_adjectives_after_their_noun_and_before_it() -> None:
    found = ideas.config_of(next(idea for idea in ideas.IDEAS if idea.task == "french")).probes
    links = {e.src: dict(e.alignment or ()) for e in TASKS["french"].pairs(400, seed=11)}
    places = [[links[src][n] for n in range(len(src.split()))] for src, _ in found]
    in_order = [where == sorted(where) for where in places]
    assert in_order == [False, False, True, True]


def test_the_race_of_the_front_door_is_the_one_of_scores(
    visit: Visit, jobs: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = visit(PAGE)
    app.button("start-idea-race").click().run()  # 27 runs, and 3 are allowed
    assert "3" in messages(app)[0]
    assert not jobs.runs()
    object.__setattr__(jobs.limits, "runs_per_visitor", 100)
    app.button("start-idea-race").click().run()
    race = RACES[ideas.RACE]
    assert len(jobs.runs()) == len(race.entries) * len(race.seeds)
    assert app.query_params["race"]
    app = visit(PAGE)
    assert "Nothing trained yet" in told(app), "its runs are listed as a race"


def test_a_run_on_somebodys_sentences_is_theirs_until_they_share_it(
    visit: Visit, jobs: Jobs
) -> None:
    """Another visitor once read a diary on the run's page."""
    secret = describe(title="My diary", settings={"d_model": 16, "n_heads": 2, "d_ff": 16})
    name = jobs.submit(secret, OTHER, {"pairs.tsv": b"dear diary\tI know\n"})
    trained(stand(jobs, name, "finished"))
    public = put(jobs)

    def refused() -> list[bool]:
        page, model = visit(PAGE, run=name), visit("pages/translate.py", model=name)
        return [
            not any("My diary" in link.proto.label for link in visit(PAGE).get("page_link")),
            "a b c" not in told(page) and "who has not shared it" in messages(page)[0],
            f"no checkpoint '{name}'" in " ".join(messages(model)).replace("\\", ""),
        ]

    assert refused() == [True, True, True]
    assert "A run" in told(visit(PAGE, run=public))
    with pytest.raises(JobError, match="is not your run"):
        jobs.share(name, "somebody else", True)
    jobs.share(name, OTHER, True)
    assert refused() == [False, False, False]
    jobs.share(name, OTHER, False)
    assert refused() == [True, True, True]


def test_the_form_opens_with_the_idea_filled_in_and_trains_what_it_says(
    visit: Visit, jobs: Jobs
) -> None:
    app = form(visit(PAGE), "sort")
    assert TASKS["sort"].explanation in told(app)
    assert TASKS["sort"].look_for in told(app)
    assert number(app, "Steps").value == DEFAULTS["sort"]["steps"]
    number(app, "Steps").set_value(30).run()
    number(app, "Longest").set_value(4).run()
    number(app, "Learning rate").set_value(0.001).run()
    next(s for s in app.selectbox if s.label == "Score function").select("additive").run()
    button(app, "Train").click().run()
    config = jobs.folder(jobs.runs()[0].name).config().to_dict()
    assert config["training"]["steps"] == 30
    assert config["training"]["learning_rate"] == 0.001
    assert config["data"]["options"]["longest"] == 4
    assert config["model"]["score"] == "additive"
    assert config["model"]["d_model"] == 64


def test_what_the_form_says_once_more_when_it_is_closed_does_not_open_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As a slow browser does, with its first look at the run."""
    said: dict[str, Any] = {"task-1": "copy"}
    monkeypatch.setattr(st, "session_state", said)
    setup._another("task-1")
    assert draft.now() is None
    draft.begin("reverse")
    setup._another("task-1")
    assert said["draft"] == draft.Draft("copy", turn=2)


def test_every_control_goes_back_to_its_default_alone_and_with_all_others(
    visit: Visit, jobs: Jobs
) -> None:
    app = form(visit(PAGE), "reverse")
    steps = DEFAULTS["reverse"]["steps"]
    assert "Everything back to its default" not in labels(app)
    number(app, "Steps").set_value(31).run()
    number(app, "Heads").set_value(8).run()
    button(app, f"Back to {steps}").click().run()
    assert number(app, "Steps").value == steps
    assert number(app, "Heads").value == 8
    number(app, "Letters").set_value(5).run()
    button(app, "Everything back to its default").click().run()
    assert number(app, "Heads").value == 4
    assert number(app, "Letters").value == 10
    assert "Everything back to its default" not in labels(app)


def test_the_matrix_to_watch_is_one_that_the_model_will_have(visit: Visit, jobs: Jobs) -> None:
    app = form(visit(PAGE), "reverse")
    config = describe("reverse").model
    real = {name for name, weight in Transformer(config).named_parameters() if weight.dim() == 2}
    app.selectbox(key="set-1-inspect").set_value("encoder.layers.1.ffn.w_2.weight").run()
    assert not messages(app)
    assert set(setup._matrix(draft.Draft("reverse")).labels) <= real
    number(app, "Layers").set_value(1).run()
    assert not app.exception
    button(app, "Train").click().run()
    assert jobs.folder(jobs.runs()[0].name).config().to_dict()["inspect"] == INSPECT


def test_what_is_chosen_is_still_there_after_a_look_at_another_page(
    visit: Visit, jobs: Jobs
) -> None:
    app = form(visit(PAGE), "reverse")
    number(app, "Steps").set_value(33).run()
    app.switch_page("pages/translate.py").run()
    app.switch_page(PAGE).run()
    assert number(app, "Steps").value == 33


@pytest.mark.parametrize(
    ("label", "value", "words"),
    [
        ("Heads", 7, "d_model 64 must be a multiple of n_heads 7."),
        ("Size, d_model", 512, "this app allows at most 1,000,000."),
        ("Batch", 65_536, "A step would have 65,536 positions; this app allows at most 16,384."),
    ],
)
def test_what_cannot_be_trained_is_one_sentence_beside_a_button_that_waits(
    visit: Visit, jobs: Jobs, label: str, value: int, words: str
) -> None:
    app = form(visit(PAGE), "reverse")
    assert not button(app, "Train").disabled
    number(app, label).set_value(value).run()
    assert len(messages(app)) == 1
    assert messages(app)[0].endswith(words)
    assert button(app, "Train").disabled


def test_the_cost_stands_there_before_the_click(visit: Visit, jobs: Jobs) -> None:
    put(jobs)
    app = form(visit(PAGE), "reverse")
    weights = count_parameters(describe("reverse").model)
    assert f"**{round(weights, -3):,}** weights · **600** steps · about **9 s** here" in told(app)
    assert "here, after 1 other in line" in told(app)
    config = describe("reverse").model
    assert count_parameters(config) == sum(w.numel() for w in Transformer(config).parameters())


def test_own_pairs_are_seen_before_they_are_learned_from(visit: Visit, jobs: Jobs) -> None:
    app = form(visit(PAGE), "own")
    assert "Bring some pairs first" in messages(app)[0]
    assert button(app, "Train").disabled
    app.text_area[0].set_value(TSV).run()
    assert not messages(app)
    assert "30 pairs, of which 1 are set aside" in told(app)
    assert "<td>cat 5</td><td>chat 5</td>" in told(app)
    button(app, "Train").click().run()
    (run,) = jobs.runs()
    assert jobs.folder(run.name).config().to_dict()["data"] == {"pairs": "pairs.tsv"}
    assert (jobs.folder(run.name).path / "pairs.tsv").read_text() == TSV


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("cat chat\n" * 30, "line 1 has no tab"),
        (TSV + "cat\t\n", "line 31 has an empty target"),
        (TSV + "\tchat\n", "line 31 has an empty source"),
        (TSV * 10, "bytes; this app allows at most 2,000."),
        ("cat\tchat\n" * 3, "The text has 3 pairs; at least 20 are needed"),
    ],
)
def test_pairs_that_cannot_be_are_refused_in_a_sentence(
    visit: Visit, jobs: Jobs, text: str, words: str
) -> None:
    app = form(visit(PAGE), "own")
    app.text_area[0].set_value(text).run()
    assert any(words in message for message in messages(app))
    assert button(app, "Train").disabled


def test_a_file_is_utf_8_or_refused_and_a_csv_is_read() -> None:
    assert decoded(b"\xef\xbb\xbfcaf\xc3\xa9", "a.csv") == "café"
    with pytest.raises(ValueError, match=r"a.csv, line 2 is not UTF-8 \(byte 0xe9\)"):
        decoded(b"cat\ncaf\xe9", "a.csv")
    with pytest.raises(ValueError, match="NUL"):
        decoded("cat\tchat".encode("utf-16-le"), "a.tsv")
    for separator in ",;":
        rows = "".join(f'"one{separator} {n}"{separator}un {n}\n' for n in range(20))
        assert own_pairs.parsed(rows, "a.csv", 5000)[3] == (f"one{separator} 3", "un 3")
    with pytest.raises(ValueError, match="row 2 has an empty source"):
        own_pairs.parsed("a,b\n,c\n", "a.csv", 5000)
    for rows, row in (("a,b\nc\n", "row 2 has 1 cell;"), ("a,b,c\nd,e\n", "row 1 has 3 cells;")):
        with pytest.raises(ValueError, match=rf"a\.csv, {row} every row needs two"):
            own_pairs.parsed(rows, "a.csv", 5000)
        with pytest.raises(ValueError, match="line 1 has no tab"):  # any text may hold commas
            own_pairs.parsed(rows, "The text", 5000)
    assert own_pairs.parsed(own_pairs.tsv(PAIRS).decode(), "x", 5000) == PAIRS


def test_a_run_that_there_is_not_is_a_message_with_a_way_back(visit: Visit, jobs: Jobs) -> None:
    for name in ("nowhere", "../../etc", "x" * 500):
        app = visit(PAGE, run=name)
        assert len(messages(app)) == 1
        assert "There is no run" in messages(app)[0]
        assert "All runs" in app.get("page_link")[len(PAGES)].proto.label


def test_others_may_look_at_a_run_and_not_touch_it(visit: Visit, jobs: Jobs) -> None:
    name = put(jobs)
    app = visit(PAGE, run=name)
    assert "Someone else's run" in told(app)
    assert not labels(app) & {"Pause", "Stop", "Save now", "Resume", "Delete it"}
    stand(jobs, name, "failed", "out of memory")
    app = visit(PAGE, run=name)
    assert "Out of memory." in messages(app)
    assert not labels(app) & {"Resume", "Delete it"}
    app = visit(PAGE)
    assert "Runs of others" in told(app)
    assert OTHER not in told(app)


def test_own_runs_are_paused_resumed_stopped_and_deleted(visit: Visit, jobs: Jobs) -> None:
    app = visit(PAGE)
    app.button("train-reverse").click().run()
    name = view(app).run
    button(app, "Pause").click().run()
    assert jobs.run(name).status == "paused"
    button(app, "Resume").click().run()
    assert jobs.run(name).status == "queued"
    stand(jobs, name, "running")
    app.run()
    assert "Save now" in labels(app)
    button(app, "Save now").click().run()
    assert jobs.folder(name).control().save == 1
    app.select_slider[0].set_value(0.5).run()
    assert jobs.folder(name).control().learning_rate_factor == 0.5
    stand(jobs, name, "queued")
    button(app, "Stop").click().run()
    app.run()
    assert jobs.run(name).status == "cancelled"
    button(app, "Resume").click().run()
    assert jobs.run(name).status == "queued"
    full = jobs.folder(name).path / "resume.safetensors"
    stand(jobs, name, "failed", f"{full} cannot be written")
    (message,) = messages(visit(PAGE, run=name))
    assert message.replace("\\", "") == f"runs/{name}/resume.safetensors cannot be written."
    stand(jobs, name, "failed", "process 1 was killed")
    app.run()
    assert "Process 1 was killed." in messages(app)
    button(app, "Delete it").click().run()
    assert not jobs.runs()
    assert "run" not in app.query_params
    assert not messages(app)
    assert app.button("train-reverse")


def test_the_owner_is_no_part_of_the_address_and_differs_from_visit_to_visit(
    visit: Visit, jobs: Jobs
) -> None:
    found = []
    for _ in range(2):
        app = visit(PAGE)
        app.button("train-reverse").click().run()
        found.append(app.session_state["visitor"])
        assert set(app.query_params) == {"run"}
    assert len({run.owner for run in jobs.runs()}) == len(set(found)) == 2
    assert all(len(one) == 32 for one in found)


def test_a_limit_that_is_passed_by_the_click_is_said(visit: Visit, jobs: Jobs) -> None:
    app = visit(PAGE)
    for _ in range(3):
        app.button("train-reverse").click().run()
        app.query_params.clear()
        app.run()
    app.button("train-reverse").click().run()
    assert messages(app) == ["You keep 3 runs and this app allows 3: delete one first."]
    assert len(jobs.runs()) == 3


def test_figures_examples_and_status_are_those_of_the_folder(visit: Visit, jobs: Jobs) -> None:
    name = put(jobs)
    path = stand(jobs, name, "running")
    lines: list[dict[str, Any]] = [
        {"step": n, "loss": 2 / n, "seconds": 0.5, "tokens": 100, "share": n / 10} for n in (1, 2)
    ]
    lines += [{"step": 2, "valid_loss": 1.25, "sequence_accuracy": 0.5, "token_accuracy": 1.0}]
    (path / "metrics.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    trained(path)
    app = visit(PAGE, run=name)
    figures = {metric.label: metric.value for metric in app.metric}
    assert figures["Loss"] == "1.000"
    assert figures["Validation loss"] == "1.250"
    assert figures["Sequences right"] == "50 %"
    assert figures["Tokens a second"] == "200"
    assert "Step 2, about 4 s left" in told(app)
    assert "<td>a b c</td><td>c b a</td><td></td><td>wrong</td>" in told(app)


def test_a_runs_model_is_offered_with_texts_that_it_knows(visit: Visit, jobs: Jobs) -> None:
    app = visit(PAGE)
    app.button("train-reverse").click().run()
    name = view(app).run
    trained(stand(jobs, name, "finished"))
    app.run()
    app.button("go-pages/translate.py").click().run()
    assert not messages(app)
    assert view(app).model == name
    assert app.text_input[0].label == "Source"
    assert app.text_input[0].value == "a b c"
    assert shown(app)[0]["source_tokens"] == ["▁a", "▁b", "▁c", "</s>"]
    app.switch_page("pages/translate.py").run()  # AppTest itself stays on the page it was on
    app.text_input[0].set_value("a cat <b>").run()
    assert "It never saw cat, <b> and reads “▯”, an unknown piece, there." in told(app)
    app.text_input[0].set_value("a b c").run()
    assert "never saw" not in told(app)
    model = next(box for box in app.selectbox if box.label == "Model")
    assert model.options == ["tiny", f"run: Reverse a sequence ({name})"]
    model.select("tiny").run()
    assert app.text_input[0].label == "English"
    assert app.text_input[0].value == "I am a student."
    model = next(box for box in app.selectbox if box.label == "Model")
    model.select(name).run()
    assert app.text_input[0].value == "a b c"
    app.switch_page("app.py").run()
    assert not messages(app)
    assert shown(app)[0]["text"] == "a b c"


def test_others_runs_are_not_offered_but_open_by_a_link(visit: Visit, jobs: Jobs) -> None:
    name = put(jobs)
    trained(stand(jobs, name, "finished"))
    app = visit("pages/translate.py")
    assert not [box for box in app.selectbox if box.label == "Model"]
    app = visit("pages/translate.py", model=name)
    assert not messages(app)
    assert app.text_input[0].value == "a b c"
    jobs.delete(name, OTHER)
    app.run()
    assert len(messages(app)) == 1
    assert "There is no checkpoint" in messages(app)[0]
    assert app.text_input[0].label == "English"


def test_curves_are_laid_over_those_of_another_run(visit: Visit, jobs: Jobs) -> None:
    names = [put(jobs), put(jobs)]
    for scale, name in enumerate(names, start=1):
        lines = [{"step": n, "loss": scale * n, "seconds": 0.1} for n in (1, 2, 3)]
        text = "".join(f"{json.dumps(line)}\n" for line in lines)
        (stand(jobs, name, "finished") / "metrics.jsonl").write_text(text)
    app = visit(PAGE, run=names[0])

    def losses() -> list[list[float]]:
        spec = json.loads(app.get("plotly_chart")[0].proto.spec)
        return [trace["y"] for trace in spec["data"]]

    assert len(losses()) == 1
    app.multiselect[0].select(names[1]).run()
    assert len(losses()) == 2
    jobs.delete(names[1], OTHER)
    app.run()
    assert len(losses()) == 1
    assert not app.exception


def test_a_limits_file_that_cannot_be_read_is_a_message(
    visit: Visit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "limits.toml").write_text("workers = 'many'\n")
    monkeypatch.setenv("HEADS_UP_LIMITS", str(tmp_path / "limits.toml"))
    began = time.monotonic()
    app = visit(PAGE)
    assert "workers must be a whole number" in messages(app)[0]
    assert time.monotonic() - began < 60
