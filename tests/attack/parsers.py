"""Functions that parse pasted text, URLs, checkpoints, traces and run folders. They must accept an
input or reject it with one sentence."""

from __future__ import annotations

import io
import json
import random
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from tests.attack.random_input import check_message, corrupt_json, random_text
from tests.attack.short_runs import small_checkpoint
from tests.checkpoint.models import tiny_transformer
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


def texts(rng: random.Random, folder: Path) -> None:
    """Attack with pasted and uploaded text: pairs, corpora with gold links, and displayed text."""
    line = random_text(rng) + "\t" + random_text(rng)
    lines = "\n".join([line] * rng.choice((1, 25)))
    raw = lines.encode("utf-8", "surrogatepass")
    for function in (
        lambda: workload(make_run_config(), parse_own_pairs(decode_text(raw, "x"), "x", 100_000)),
        lambda: Corpus.from_lines(lines.split("\n"), "x"),
    ):
        try:
            function()
        except ValueError as error:
            check_message(error)
    assert "<script>" not in plain(line)


def links(rng: random.Random, folder: Path) -> None:
    """Attack with URL parameters: all of them give a view whose URL can be parsed again."""
    file = rng.choice([*PAGES])
    names = [name for page in PAGES.values() for name in page.view.fields()]
    params = {rng.choice([*names, random_text(rng)]): random_text(rng) for _ in range(6)}
    values, problems = parse_params(file, params)
    assert all(isinstance(problem, str) for problem in problems)
    view = make_view(PAGES[file].view, values)
    reparsed, new_problems = parse_params(file, view.to_params())
    assert make_view(PAGES[file].view, reparsed) == view
    assert not new_problems


def checkpoints(rng: random.Random, folder: Path) -> None:
    """Attack with a checkpoint that has a corrupted config, or truncated or changed weights."""
    checkpoint = folder / "checkpoint"
    if not checkpoint.exists():
        vocabulary = Vocabulary.from_symbols(TASKS["reverse"].symbols)
        save_checkpoint(checkpoint, tiny_transformer(len(vocabulary)), vocabulary, "# Card\n")
        shutil.copytree(checkpoint, folder / "intact")
    for name in ("config.json", "model.safetensors"):
        shutil.copy(folder / "intact" / name, checkpoint / name)
    if rng.random() < 0.5:
        config = json.loads((checkpoint / "config.json").read_text())
        (checkpoint / "config.json").write_text(corrupt_json(rng, config))
    else:
        raw = bytearray((checkpoint / "model.safetensors").read_bytes())
        for _ in range(rng.randint(1, 4)):
            raw[rng.randrange(min(len(raw), 4000))] = rng.randrange(256)
        (checkpoint / "model.safetensors").write_bytes(raw[: rng.choice((len(raw), 100, 9, 0))])
    try:
        check_checkpoint(checkpoint)
    except CheckpointError as error:
        check_message(error)


def marian_folders(rng: random.Random, folder: Path) -> None:
    """Attack the import of a `transformers` folder with one corrupted file: it writes a complete
    checkpoint or none."""
    intact, corrupted, imported = (folder / name for name in ("intact", "corrupted", "imported"))
    if not intact.exists():
        export_marian(small_checkpoint(folder), intact)
    shutil.rmtree(corrupted, ignore_errors=True)
    shutil.rmtree(imported, ignore_errors=True)
    shutil.copytree(intact, corrupted)
    name = rng.choice([path.name for path in sorted(intact.iterdir())])
    raw = (corrupted / name).read_bytes()
    if name.endswith(".json") and rng.random() < 0.7:
        (corrupted / name).write_text(corrupt_json(rng, json.loads(raw)), encoding="utf-8")
    else:
        changed = bytearray(raw)
        for _ in range(rng.randint(1, 4)):
            changed[rng.randrange(min(len(raw), 4000))] = rng.randrange(256)
        (corrupted / name).write_bytes(changed[: rng.choice((len(raw), 100, 9, 0))])
    try:
        import_folder(corrupted, imported)
    except CheckpointError as error:
        check_message(error)
        assert not imported.exists()
    else:
        check_checkpoint(imported)


def traces(rng: random.Random, folder: Path) -> None:
    """Attack with a trace file that has wrong labels, or is truncated or has changed bytes: it is
    rejected, or the explorer can draw it."""
    path = folder / "trace.npz"
    if not path.exists():
        weights = [np.full((2, 3, 3), 1 / 3), np.full((2, 3, 3), 1 / 3)]
        Trace.from_weights(["a", "b", "c"], ["d", "e", "f"], cross=weights).save_npz(path)
    raw = bytearray(path.read_bytes())
    if rng.random() < 0.5:
        with np.load(path) as stored:
            arrays = {name: stored[name] for name in stored.files}
        header = corrupt_json(rng, json.loads(arrays[HEADER].tobytes()))
        arrays[HEADER] = np.frombuffer(header.encode("utf-8", "replace"), np.uint8)
        out = io.BytesIO()
        np.savez_compressed(out, allow_pickle=False, **arrays)
        raw = bytearray(out.getvalue())
    else:
        for _ in range(rng.randint(1, 4)):
            raw[rng.randrange(len(raw))] = rng.randrange(256)
        raw = raw[: rng.choice((len(raw), len(raw), 100, 9, 0))]
    name = rng.choice(("t.npz", "../../t.npz", "a\0b", "", random_text(rng)))
    try:
        trace_file = read_trace_file(bytes(raw), name)
    except ValueError as error:
        check_message(error)
        return
    assert "/" not in trace_file.model
    assert explorer_data(
        [trace_file.explorer_data], {}, [*trace_file.explorer_data.layers(range(2))]
    )
    assert head_notices(trace_file) is not None


def runs(rng: random.Random, folder: Path) -> None:
    """Attack with a run folder that has one corrupted file: the run is listed, as failed if
    necessary."""
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
    corrupted = rng.choice([*files, "metrics.jsonl"])
    for name, values in files.items():
        content = corrupt_json(rng, values) if name == corrupted else json.dumps(values)
        (run.path / name).write_text(content, encoding="utf-8")
    last_line = corrupt_json(rng, dict(line)) if corrupted == "metrics.jsonl" else json.dumps(line)
    (run.path / "metrics.jsonl").write_text(f"{json.dumps(line)}\n{last_line}\n", encoding="utf-8")
    info = read_run_info(run)
    assert info is None or (isinstance(info.title, str) and isinstance(info.step, int))
