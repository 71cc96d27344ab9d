"""What is pasted, linked to or laid into a folder: each may be refused in a sentence, and nothing
else may happen."""

from __future__ import annotations

import io
import json
import random
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from tests.attack.hostile import check_message, spoil, text
from tests.attack.training import small_checkpoint
from tests.checkpoint.models import tiny
from transformer import Trace
from transformer.analysis.corpora import Corpus
from transformer.checkpoint import CheckpointError, check_checkpoint, save_checkpoint
from transformer.exchange import export_marian, import_folder
from transformer.figures import explorer_data
from transformer.inference.trace_files import HEADER
from transformer.jobs.folder import JobFolder
from transformer.jobs.info import read_run_info
from transformer.text import Vocabulary
from transformer.text.tasks import TASKS
from transformer.training.estimate import workload
from transformer.training.recipe import make_run_config
from transformer.ui.pages.attention.trace_files import read_trace_file
from transformer.ui.pages.training.own_pairs import parse_own_pairs
from transformer.ui.services.uploads import decode_text
from transformer.ui.shell.registry import PAGES, make_view, parse_params
from transformer.ui.widgets.frame import plain
from transformer.ui.widgets.notable_heads import head_notices


def texts(chance: random.Random, folder: Path) -> None:
    """Pasted and uploaded text: pairs, corpora with gold links, what is shown of it."""
    brought = text(chance) + "\t" + text(chance)
    lines = "\n".join([brought] * chance.choice((1, 25)))
    raw = lines.encode("utf-8", "surrogatepass")
    for use in (
        lambda: workload(make_run_config(), parse_own_pairs(decode_text(raw, "x"), "x", 100_000)),
        lambda: Corpus.of_lines(lines.split("\n"), "x"),
    ):
        try:
            use()
        except ValueError as error:
            check_message(error)
    text_ = plain(brought)
    assert "<script>" not in text_


def links(chance: random.Random, folder: Path) -> None:
    """The URL of a view: any content gives a view whose own URL can be parsed again."""
    file = chance.choice([*PAGES])
    names = [name for page in PAGES.values() for name in page.view.fields()]
    params = {chance.choice([*names, text(chance)]): text(chance) for _ in range(6)}
    values, problems = parse_params(file, params)
    assert all(isinstance(problem, str) for problem in problems)
    view = make_view(PAGES[file].view, values)
    reparsed, worse = parse_params(file, view.to_params())
    assert make_view(PAGES[file].view, reparsed) == view
    assert not worse


def checkpoints(chance: random.Random, folder: Path) -> None:
    """A checkpoint with a wrong config, or with truncated or flipped weights."""
    checkpoint = folder / "checkpoint"
    if not checkpoint.exists():
        vocabulary = Vocabulary.from_symbols(TASKS["reverse"].symbols)
        save_checkpoint(checkpoint, tiny(len(vocabulary)), vocabulary, "# Card\n")
        shutil.copytree(checkpoint, folder / "whole")
    for name in ("config.json", "model.safetensors"):
        shutil.copy(folder / "whole" / name, checkpoint / name)
    if chance.random() < 0.5:
        config = json.loads((checkpoint / "config.json").read_text())
        (checkpoint / "config.json").write_text(spoil(chance, config))
    else:
        raw = bytearray((checkpoint / "model.safetensors").read_bytes())
        for _ in range(chance.randint(1, 4)):
            raw[chance.randrange(min(len(raw), 4000))] = chance.randrange(256)
        (checkpoint / "model.safetensors").write_bytes(raw[: chance.choice((len(raw), 100, 9, 0))])
    try:
        check_checkpoint(checkpoint)
    except CheckpointError as error:
        check_message(error)


def folders_of_others(chance: random.Random, folder: Path) -> None:
    """A folder of `transformers` with one spoilt file: a whole checkpoint comes of it, or none."""
    intact, brought, imported = (folder / name for name in ("whole", "brought", "made"))
    if not intact.exists():
        export_marian(small_checkpoint(folder), intact)
    shutil.rmtree(brought, ignore_errors=True)
    shutil.rmtree(imported, ignore_errors=True)
    shutil.copytree(intact, brought)
    name = chance.choice([path.name for path in sorted(intact.iterdir())])
    raw = (brought / name).read_bytes()
    if name.endswith(".json") and chance.random() < 0.7:
        (brought / name).write_text(spoil(chance, json.loads(raw)), encoding="utf-8")
    else:
        turned = bytearray(raw)
        for _ in range(chance.randint(1, 4)):
            turned[chance.randrange(min(len(raw), 4000))] = chance.randrange(256)
        (brought / name).write_bytes(turned[: chance.choice((len(raw), 100, 9, 0))])
    try:
        import_folder(brought, imported)
    except CheckpointError as error:
        check_message(error)
        assert not imported.exists()
    else:
        check_checkpoint(imported)


def traces(chance: random.Random, folder: Path) -> None:
    """A trace file with wrong labels, or truncated or flipped bytes: refused, or drawn
    as the explorer draws it."""
    path = folder / "trace.npz"
    if not path.exists():
        weights = [np.full((2, 3, 3), 1 / 3), np.full((2, 3, 3), 1 / 3)]
        Trace.from_weights(["a", "b", "c"], ["d", "e", "f"], cross=weights).save_npz(path)
    raw = bytearray(path.read_bytes())
    if chance.random() < 0.5:
        with np.load(path) as stored:
            arrays = {name: stored[name] for name in stored.files}
        spoilt = spoil(chance, json.loads(arrays[HEADER].tobytes()))
        arrays[HEADER] = np.frombuffer(spoilt.encode("utf-8", "replace"), np.uint8)
        out = io.BytesIO()
        np.savez_compressed(out, allow_pickle=False, **arrays)
        raw = bytearray(out.getvalue())
    else:
        for _ in range(chance.randint(1, 4)):
            raw[chance.randrange(len(raw))] = chance.randrange(256)
        raw = raw[: chance.choice((len(raw), len(raw), 100, 9, 0))]
    name = chance.choice(("t.npz", "../../t.npz", "a\0b", "", text(chance)))
    try:
        reading = read_trace_file(bytes(raw), name)
    except ValueError as error:
        check_message(error)
        return
    assert "/" not in reading.model
    assert explorer_data([reading.side], {}, [*reading.side.layers(range(2))])
    assert head_notices(reading) is not None


def runs(chance: random.Random, folder: Path) -> None:
    """A run folder with a spoilt file: it is listed, as failed if need be."""
    run = JobFolder(folder / "run")
    run.path.mkdir(exist_ok=True)
    files: dict[str, dict[str, Any]] = {
        "config.json": {
            **make_run_config("copy", title="A run").to_dict(),
            "owner": "me",
            "created": 1.0,
        },
        "state.json": {"status": "running", "reason": "", "step": 3, "seconds": 1.0},
        "job.json": {"turn": 1, "worker": "w", "address": "a", "shared": True},
        "control.json": {"command": "run", "learning_rate_factor": 1.0, "save": 0},
    }
    line = {"step": 3, "loss": 1.0, "share": 0.1, "seconds": 0.1, "tokens": 9}
    spoilt = chance.choice([*files, "metrics.jsonl"])
    for name, values in files.items():
        written = spoil(chance, values) if name == spoilt else json.dumps(values)
        (run.path / name).write_text(written, encoding="utf-8")
    last = spoil(chance, dict(line)) if spoilt == "metrics.jsonl" else json.dumps(line)
    (run.path / "metrics.jsonl").write_text(f"{json.dumps(line)}\n{last}\n", encoding="utf-8")
    info = read_run_info(run)
    assert info is None or (isinstance(info.title, str) and isinstance(info.step, int))
