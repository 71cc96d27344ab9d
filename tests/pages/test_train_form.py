"""The form of the Train page: its defaults, invalid values, and own sentence pairs."""

from __future__ import annotations

import pytest

from tests.pages.conftest import Visit, button, messages, visible_text
from tests.pages.train_visits import (
    PAGE,
    PAIRS,
    TSV,
    number_field,
)
from transformer.jobs import Jobs
from transformer.text.tasks import TASKS
from transformer.training.recipe import default_settings
from transformer.ui.pages.training import own_pairs
from transformer.ui.services.uploads import decode_text


def test_the_form_opens_with_the_tasks_settings_and_trains_them(visit: Visit, jobs: Jobs) -> None:
    app = visit(PAGE, form="sort")
    assert TASKS["sort"].explanation in visible_text(app)
    assert TASKS["sort"].look_for in visible_text(app)
    assert number_field(app, "Steps").value == default_settings("sort")["steps"]
    number_field(app, "Steps").set_value(30)
    number_field(app, "Longest").set_value(4)
    number_field(app, "Learning rate").set_value(0.001)
    next(menu for menu in app.selectbox if menu.label == "Score function").select("additive")
    button(app, "Train").click().run()
    config = jobs.folder(jobs.runs()[0].name).config().to_dict()
    assert config["training"]["steps"] == 30
    assert config["training"]["learning_rate"] == 0.001
    assert config["data"]["options"]["longest"] == 4
    assert config["model"]["score"] == "additive"
    assert config["model"]["d_model"] == 64
    assert app.query_params["run"] == jobs.runs()[0].name
    assert "form" not in app.query_params


def test_the_form_without_changes_trains_the_run_of_the_card(visit: Visit, jobs: Jobs) -> None:
    """Equal runs of two visitors are trained once."""
    for task in ("reverse", "french"):
        visit(PAGE).button(f"train-{task}").click().run()
        button(visit(PAGE, form=task), "Train").click().run()
    assert [len(run.holders) for run in jobs.runs()] == [2, 2]


def test_another_task_opens_its_form(visit: Visit, jobs: Jobs) -> None:
    app = visit(PAGE, form="reverse")
    app.selectbox[0].select("addition").run()
    assert app.query_params["form"] == "addition"
    assert TASKS["addition"].explanation in visible_text(app)
    button(app, "Train").click().run()
    assert [run.task for run in jobs.runs()] == ["addition"]
    app = visit(PAGE, form="no such task")
    assert "it must be one of" in messages(app)[0]
    assert app.button("train-reverse")


@pytest.mark.parametrize(
    ("label", "value", "message"),
    [
        ("Heads", 7, "d_model 64 must be a multiple of n_heads 7."),
        ("Size, d_model", 512, "this app allows at most 1,000,000."),
        ("Batch", 65_536, "A step would have 65,536 positions; this app allows at most 16,384."),
    ],
)
def test_invalid_settings_are_reported_and_stay_in_the_form(
    visit: Visit, jobs: Jobs, label: str, value: int, message: str
) -> None:
    app = visit(PAGE, form="reverse")
    number_field(app, label).set_value(value)
    button(app, "Train").click().run()
    assert len(messages(app)) == 1
    assert messages(app)[0].endswith(message)
    assert number_field(app, label).value == value
    assert not jobs.runs()


def test_own_pairs_are_previewed_before_training(visit: Visit, jobs: Jobs) -> None:
    app = visit(PAGE, form="own")
    button(app, "Train").click().run()
    assert "Add sentence pairs first" in messages(app)[0]
    app.text_area[0].set_value(TSV).run()
    assert not messages(app)
    assert "30 pairs (a tab between source and target), 1 of them held out" in visible_text(app)
    assert ">cat 2</th><td>chat 2</td>" in visible_text(app)
    assert '<tbody translate="no">' in visible_text(app)
    assert "Held-out pairs with words that no training pair has: 1;" in visible_text(app)
    button(app, "Train").click().run()
    (run,) = jobs.runs()
    assert jobs.folder(run.name).config().to_dict()["data"] == {"pairs": "pairs.tsv"}
    assert (jobs.folder(run.name).path / "pairs.tsv").read_text() == TSV


def test_steps_that_fit_many_pairs_are_estimated_from_some() -> None:
    few, many = PAIRS * 100, PAIRS * 1000
    assert own_pairs.fitting_steps(few, 20_000) == own_pairs.fitting_steps(many, 200_000)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cat chat\n" * 31, "line 1 has no tab"),
        ('[\n  {"en": "cat", "fr": "chat"}\n]', "The text is JSON; extract its sentences"),
        (TSV * 10, "bytes; this app allows at most 2,000."),
        ("cat\tchat\n" * 3, "The text has 3 pairs; at least 20 are needed"),
        ("cat\tchat\n" * 30, "The text has 30 pairs with the same source; at least 2 sources"),
    ],
)
def test_invalid_pairs_are_rejected_in_one_sentence(
    visit: Visit, jobs: Jobs, text: str, message: str
) -> None:
    app = visit(PAGE, form="own")
    app.text_area[0].set_value(text).run()
    assert any(message in displayed for displayed in messages(app))
    button(app, "Train").click().run()
    assert any(message in displayed for displayed in messages(app))
    assert not jobs.runs()


def test_the_page_asks_for_columns_that_are_not_clear(visit: Visit, jobs: Jobs) -> None:
    app = visit(PAGE, form="own")
    rows = [f"{n}\tcat {n}\tKatze {n}\tchat {n}\n" for n in range(30)]
    app.text_area[0].set_value("".join(rows).replace(" ", " the ")).run()
    reason = "3 columns have texts and no header says which two to use"
    assert any(reason in message for message in messages(app))
    source = next(box for box in app.selectbox if box.label == "Column of the source")
    assert source.options == ["1: 0", "2: cat the 0", "3: Katze the 0", "4: chat the 0"]
    source.select_index(1).run()
    assert messages(app)
    next(b for b in app.selectbox if b.label == "Column of the target").select_index(3).run()
    assert not messages(app)
    assert "30 pairs (a tab between source and target; columns 2 and 4)" in visible_text(app)
    button(app, "Train").click().run()
    (run,) = jobs.runs()
    stored = (jobs.folder(run.name).path / "pairs.tsv").read_text()
    assert stored.startswith("cat the 0\tchat the 0\n")


def test_a_file_must_be_utf_8_and_the_layout_is_named() -> None:
    assert decode_text(b"\xef\xbb\xbfcaf\xc3\xa9", "a.csv") == "café"
    with pytest.raises(ValueError, match=r"a.csv, line 2 is not UTF-8 \(byte 0xe9"):
        decode_text(b"cat\ncaf\xe9", "a.csv")
    with pytest.raises(ValueError, match="line 2 has an empty source"):
        own_pairs.read_with_layout("a,b\n,c\n", "a.csv", 5000)
    for rows, row in (("a,b\nc\n", "line 2 has 1 part;"), ("d,e\na,b\n1,2,3\n", "line 3 has 3 pa")):
        with pytest.raises(ValueError, match=rf"a\.csv, {row}.* every line needs two.*in quotes"):
            own_pairs.read_with_layout(rows, "a.csv", 5000)
    pairs, layout = own_pairs.read_with_layout(own_pairs.tsv(PAIRS).decode(), "x", 5000)
    assert (pairs, layout) == (PAIRS, "a tab between source and target")


def test_few_pairs_get_few_steps(visit: Visit, jobs: Jobs) -> None:
    """Twenty pairs once got 3,000 steps, each of which trained on all of them."""
    app = visit(PAGE, form="own")
    assert number_field(app, "Steps").value == own_pairs.MAX_STEPS
    app.text_area[0].set_value(TSV).run()
    assert number_field(app, "Steps").value == own_pairs.MIN_STEPS
    button(app, "Train").click().run()
    (run,) = jobs.runs()
    assert run.steps == own_pairs.MIN_STEPS
