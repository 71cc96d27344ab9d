"""The strongest connections of a run's model at every step whose weights are kept.

    connections = run_connections("runs/reverse-3fa2c1")   # {step: Connections}
    connections[600].table

The connections of a step are stored in the run's folder (connections/00000600.json), so that they
are computed once. Some runs that come with the app have these files and not the weights. If a run
has neither, the connections of its last step are computed from its checkpoint.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from transformer.analysis.circuits import Connections, ExamplePairs, find_connections, pair_examples
from transformer.analysis.circuits.connections import N_DRAWN
from transformer.analysis.circuits.edge_attribution import MAX_EDGES
from transformer.analysis.circuits.graph import edge_count
from transformer.analysis.corpora.passes import Progress, no_progress
from transformer.checkpoint import load_checkpoint
from transformer.model import Transformer
from transformer.model.shapes import shapes_only
from transformer.run_config import LayerRun, TrainingRun
from transformer.text import Vocabulary
from transformer.text.files import write_json
from transformer.training.run import RunError, RunFolder
from transformer.training.step_weights import MAX_PARAMETERS, StepWeights
from transformer.training.train_folder import MAX_VALID_PAIRS, load_corpus

FORMAT = 1
"""Version of the files; files of another version are computed again."""


def run_connections(
    path: str | os.PathLike[str],
    steps: Sequence[int] | None = None,
    *,
    patched: int | None = N_DRAWN,
    progress: Progress = no_progress,
) -> dict[int, Connections]:
    """Return the connections at steps of a run, from its folder or computed and stored there.

    Args:
        path: folder of the run.
        steps: steps whose weights are kept (`available_steps`) or whose connections are stored;
            default: all such steps.
        patched: number of edges to patch and to store; None: all of them, computed again.

    Raises:
        RunError: for a run without weights, one whose model is too large, or a step that is not
            kept.
        ValueError: if no two held-out examples have the same lengths.
    """
    run = RunFolder(path)
    stored = {step for step in run.connection_steps() if is_current(run.connections(step))}
    known_steps = sorted(stored | {*available_steps(run)})
    if not known_steps:
        raise RunError(why_unavailable(run) or "the run has no step whose weights are kept")
    selected = known_steps if steps is None else list(steps)
    if missing := [step for step in selected if step not in known_steps]:
        raise RunError(
            f"the weights of step {missing[0]:,} are not kept; the steps are "
            f"{', '.join(f'{step:,}' for step in known_steps)}"
        )
    pairs: ExamplePairs | None = None
    results = {}
    for index, step in enumerate(selected):
        progress(index / len(selected), f"step {step:,}")
        if step in stored and (patched is not None or step not in available_steps(run)):
            results[step] = Connections.from_dict(run.connections(step))
            continue
        pairs = pairs or held_out_pairs(run)
        results[step] = _compute_step(run, step, pairs, patched)
    progress(1.0, "measured")
    return results


def _compute_step(
    run: RunFolder, step: int, pairs: ExamplePairs, patched: int | None
) -> Connections:
    """Compute the connections of one step, and store them if its weights are kept."""
    if not run.weight_steps():
        model = load_checkpoint(run.checkpoint_path)[0].eval()
        return find_connections(model, pairs, patched=patched)
    model = StepWeights(run).load(_training_config(run).model, step)
    connections = find_connections(model, pairs, patched=patched)
    values = {
        "format": FORMAT,
        "step": step,
        "examples": [list(text) for text in pairs.texts[:2]],
        "pairs": len(pairs),
        **_rounded(connections.to_dict(patched)),
    }
    with suppress(OSError):  # a full disk, or a folder of another user: it is computed again
        run.connections_path.mkdir(exist_ok=True)
        write_json(run.connections_path / f"{step:08d}.json", values)
    return connections


def available_steps(run: RunFolder) -> list[int]:
    """Return the steps whose weights are kept; if there are none, the last step if the run has a
    checkpoint and no stored connections."""
    steps = run.weight_steps()
    if steps or run.connection_steps() or not (run.checkpoint_path / "config.json").is_file():
        return steps
    try:
        return [int(run.state()["step"])]
    except (RunError, KeyError, TypeError, ValueError):
        return []


def is_current(values: Mapping[str, Any]) -> bool:
    """Return whether the content of a stored file is of this version."""
    return values.get("format") == FORMAT


def held_out_pairs(run: RunFolder) -> ExamplePairs:
    """Return clean and corrupted examples from the run's held-out pairs.

    Raises ValueError if no two of them have the same lengths, RunError if there is no text.
    """
    config = _training_config(run)
    path = run.vocabulary_path
    if not path.is_file():  # a run that comes with the app
        path = run.checkpoint_path / "vocabulary.model"
    vocabulary = Vocabulary.load(path)
    examples = itertools.islice(load_corpus(run, config).valid(), MAX_VALID_PAIRS)
    max_characters = config.model.max_len
    short_pairs = [pair for pair in examples if max(map(len, pair)) < max_characters]
    return pair_examples(vocabulary, short_pairs)


def why_unavailable(run: RunFolder) -> str:
    """Return a sentence about why connections of a run cannot be computed; "" if they can, or are
    stored."""
    try:
        config = _training_config(run)
    except RunError as error:
        return str(error)
    with shapes_only():
        parameters = sum(weight.numel() for weight in Transformer(config.model).parameters())
    edges = edge_count(config.model)
    if parameters > MAX_PARAMETERS:
        return (
            f"this model has {parameters:,} parameters; connections are computed for models with "
            f"at most {MAX_PARAMETERS:,}, such as two layers with d_model 64"
        )
    if edges > MAX_EDGES:
        return (
            f"this model has {edges:,} connections between its heads; at most {MAX_EDGES:,} can "
            "be scored, as in 4 layers of 8 heads"
        )
    if not available_steps(run) and not run.connection_steps():
        return "the weights of this run's steps were not kept; train a similar run to see them"
    return ""


def _training_config(run: RunFolder) -> TrainingRun:
    config = run.config()
    if not isinstance(config, TrainingRun) or isinstance(config, LayerRun):
        raise RunError("the weights of this training were not kept, only its film")
    return config


def _rounded(values: Any) -> Any:
    """Round all numbers to five digits, which keeps the files short."""
    if isinstance(values, float):
        return float(f"{values:.5g}")
    if isinstance(values, dict):
        return {name: _rounded(value) for name, value in values.items()}
    return [_rounded(value) for value in values] if isinstance(values, list) else values


def compute(request: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """Compute the connections of a run's steps for a page; they are stored in the run's folder.

    Args:
        request: "run", its folder; "steps".

    Raises:
        ValueError: as `run_connections`.
    """
    steps = [int(step) for step in request["steps"]]
    connections = run_connections(request["run"], steps, progress=progress)
    return {
        "connections": {
            str(step): _rounded(connection.to_dict(N_DRAWN))
            for step, connection in connections.items()
        }
    }
