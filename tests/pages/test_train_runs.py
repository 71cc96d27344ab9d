"""Runs on the page: their owners, their controls and their results."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from tests.pages.conftest import (
    Visit,
    button,
    messages,
    view,
    visible_text,
)
from tests.pages.train_visits import (
    OTHER_VISITOR,
    PAGE,
    labels,
    submit_run,
    write_checkpoint,
    write_run,
)
from transformer.figures.moments import MATRICES, NUMBERS
from transformer.jobs import JobError, Jobs
from transformer.training.recipe import make_run_config

TOKENS = {"src": ["a", "b"], "tgt": ["<s>", "b"], "predicted": ["b", "a"]}


def test_a_run_on_own_sentences_is_private_until_shared(visit: Visit, jobs: Jobs) -> None:
    """Another visitor could once read private sentences on the run's page."""
    secret = make_run_config(title="My diary", settings={"d_model": 16, "n_heads": 2, "d_ff": 16})
    name = jobs.submit(secret, OTHER_VISITOR, b"dear diary\tI know\n")
    write_checkpoint(write_run(jobs, name, "finished"))
    shared_run = submit_run(jobs)

    def hidden() -> list[bool]:
        """Return whether the list, the run's page and the model menu hide the run."""
        page, model = visit(PAGE, run=name), visit("pages/inside.py", model=name)
        return [
            not any("My diary" in link.proto.label for link in visit(PAGE).get("page_link")),
            "a b c" not in visible_text(page) and "is not shared" in messages(page)[0],
            f"no checkpoint '{name}'" in " ".join(messages(model)).replace("\\", ""),
        ]

    assert hidden() == [True, True, True]
    assert "A run" in visible_text(visit(PAGE, run=shared_run))
    with pytest.raises(JobError, match="is not your run"):
        jobs.share(name, "visitor-2", True)
    jobs.share(name, OTHER_VISITOR, True)
    assert hidden() == [False, False, False]
    jobs.share(name, OTHER_VISITOR, False)
    assert hidden() == [True, True, True]


def test_other_visitors_can_see_but_not_control_a_run(visit: Visit, jobs: Jobs) -> None:
    name = submit_run(jobs)
    app = visit(PAGE, run=name)
    assert "Someone else's run" in visible_text(app)
    assert not labels(app) & {"Pause", "Stop", "Save now", "Resume", "Delete it"}
    write_run(jobs, name, "failed", "out of memory")
    app = visit(PAGE, run=name)
    assert "Out of memory." in messages(app)
    assert not labels(app) & {"Resume", "Delete it"}
    app = visit(PAGE)
    assert "Other visitors' runs" in visible_text(app)
    assert OTHER_VISITOR not in visible_text(app)


def test_own_runs_are_paused_resumed_stopped_and_deleted(visit: Visit, jobs: Jobs) -> None:
    app = visit(PAGE)
    app.button("train-reverse").click().run()
    name = view(app).run
    button(app, "Pause").click().run()
    assert jobs.run(name).status == "paused"
    button(app, "Resume").click().run()
    assert jobs.run(name).status == "queued"
    with jobs.folder(name).locked():  # as its trainer does
        write_run(jobs, name, "running")
        app.run()
        assert "Save now" in labels(app)
        button(app, "Save now").click().run()
        assert jobs.folder(name).control().save == 1
        app.select_slider[0].set_value(0.5).run()
        assert jobs.folder(name).control().learning_rate_factor == 0.5
    write_run(jobs, name, "queued")
    button(app, "Stop").click().run()
    app.run()
    assert jobs.run(name).status == "cancelled"
    button(app, "Resume").click().run()
    assert jobs.run(name).status == "queued"
    resume_file = jobs.folder(name).path / "resume.safetensors"
    write_run(jobs, name, "failed", f"{resume_file} cannot be written")
    (message,) = messages(visit(PAGE, run=name))
    assert message.replace("\\", "") == f"runs/{name}/resume.safetensors cannot be written."
    write_run(jobs, name, "failed", "process 1 was killed")
    app.run()
    assert "Process 1 was killed." in messages(app)
    button(app, "Delete it").click().run()
    assert not jobs.runs()
    assert "run" not in app.query_params
    assert not messages(app)
    assert app.button("train-reverse")


def test_the_owner_is_not_in_the_address_and_differs_between_visitors(
    visit: Visit, jobs: Jobs
) -> None:
    owners = []
    for _ in range(2):
        app = visit(PAGE)
        app.button("train-reverse").click().run()
        owners.append(app.session_state["visitor"])
        assert set(app.query_params) == {"run"}
    [run] = jobs.runs()  # the same run was submitted twice
    assert run.holders == tuple(owners)
    assert len(set(owners)) == 2
    assert all(len(owner) == 32 for owner in owners)


def test_metrics_examples_and_status_come_from_the_folder(visit: Visit, jobs: Jobs) -> None:
    name = submit_run(jobs)
    path = write_run(jobs, name, "running")
    lines: list[dict[str, Any]] = [
        {"step": n, "loss": 2 / n, "seconds": 0.5, "tokens": 100, "share": n / 10} for n in (1, 2)
    ]
    lines += [{"step": 2, "valid_loss": 1.25, "sequence_accuracy": 0.5, "token_accuracy": 1.0}]
    (path / "metrics.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    write_checkpoint(path)
    with jobs.folder(name).locked():  # as its trainer does
        app = visit(PAGE, run=name)
    figures = {metric.label: metric.value for metric in app.metric}
    assert figures["Loss"] == "1.000"
    assert figures["Validation loss"] == "1.250"
    assert figures["Sequence accuracy"] == "50%"
    assert figures["Tokens per second"] == "200"
    assert "Step 2, about 4 s left" in visible_text(app)
    assert ">a b c</th><td>c b a</td><td></td><td>wrong</td>" in visible_text(app)


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("metrics.jsonl", {"step": 1, "loss": "x", "sequence_accuracy": [1], "tokens": 10**400}),
        ("metrics.jsonl", {"step": "x", "valid_loss": 1.0}),
        ("examples.jsonl", {"step": 1, "examples": ["x"]}),
        ("examples.jsonl", {"step": 1, "examples": [{"src": 1, "tgt": "", "output": ""}]}),
        ("snapshots/labels.json", [{"src": "x"}]),
        ("inspect.json", {"name": "x", "t": "x", "before": 1}),
        ("inspect.json", dict.fromkeys(("name", *NUMBERS, *MATRICES), 1)),
        ("state.json", {"status": "finished", "reason": 1, "step": "x", "threads": 2, "torch": 1}),
    ],
)
def test_files_of_the_wrong_shape_are_ignored(
    visit: Visit, jobs: Jobs, file: str, content: object
) -> None:
    """Such as those that somebody has edited; the page once stayed empty without a reason."""
    name = submit_run(jobs)
    path = write_run(jobs, name, "finished")
    write_checkpoint(path)
    jobs.folder(name).write_snapshot(2, {"0.cross": np.full((2, 4, 2, 2), 0.5)}, [TOKENS])
    (path / file).write_text(f"{json.dumps(content)}\n")
    for app in (visit(PAGE, run=name), visit(PAGE)):
        assert not app.exception
    assert "A run" in " ".join(link.proto.label for link in app.get("page_link"))


def test_scores_on_few_held_out_pairs_have_a_warning_and_no_meaningless_bleu(
    visit: Visit, jobs: Jobs
) -> None:
    """A run of an earlier version has BLEU 0.0 and a sequence accuracy of 100%."""
    name = submit_run(jobs)
    path = write_run(jobs, name, "finished")
    line = {"step": 2, "valid_loss": 0.1, "sequence_accuracy": 1.0, "bleu": 0.0, "sequences": 1}
    (path / "metrics.jsonl").write_text(f"{json.dumps(line)}\n")
    app = visit(PAGE, run=name)
    assert [metric.label for metric in app.metric] == ["Validation loss", "Sequence accuracy"]
    assert "Measured on 1 held-out pair: too few" in visible_text(app)
    larger_run = submit_run(jobs)
    more_pairs = {**line, "bleu": 31.2, "sequences": 90}
    (write_run(jobs, larger_run, "finished") / "metrics.jsonl").write_text(
        f"{json.dumps(more_pairs)}\n"
    )
    app = visit(PAGE, run=larger_run)
    assert "BLEU" in [metric.label for metric in app.metric]
    assert "too few" not in visible_text(app)


def test_a_runs_model_is_offered_with_its_example_sentences(visit: Visit, jobs: Jobs) -> None:
    app = visit(PAGE)
    app.button("train-reverse").click().run()
    name = view(app).run
    write_checkpoint(write_run(jobs, name, "finished"))
    app.run()
    app.button("go-try").click().run()
    assert not messages(app)
    assert dict(app.query_params) == {"model": name, "text": "a b c"}
    app.switch_page("pages/inside.py").run()
    assert view(app).text == "a b c"
    model = next(box for box in app.selectbox if box.label == "Model")
    names = [option.split(" · ")[0] for option in model.options]  # without the number of weights
    assert names == ["tiny", f"Reverse a… ({name[-6:]})"]
    model.select("tiny").run()
    assert view(app).text == "I am a student."
    model = next(box for box in app.selectbox if box.label == "Model")
    model.select(name).run()
    assert view(app).text == "a b c"
    assert not messages(app)


def test_models_of_others_are_not_listed_but_open_by_a_link(visit: Visit, jobs: Jobs) -> None:
    name = submit_run(jobs)
    write_checkpoint(write_run(jobs, name, "finished"))
    app = visit("pages/inside.py")
    assert not [box for box in app.selectbox if box.label == "Model"]
    app = visit("pages/inside.py", model=name)
    assert not messages(app)
    assert view(app).text == "a b c"
    jobs.delete(name, OTHER_VISITOR)
    app.run()
    assert len(messages(app)) == 1
    assert "There is no checkpoint" in messages(app)[0]
