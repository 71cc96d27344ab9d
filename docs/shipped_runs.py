"""Make the runs that come with the app, in checkpoints/runs/: a trained toy for every task, and
early saves of a checkpoint's own training.

    python docs/shipped_runs.py                          # all toys, some minutes
    python docs/shipped_runs.py reverse sort             # these
    python docs/shipped_runs.py --run RUN --name NAME    # a run that is there
    python docs/shipped_runs.py --save CHECKPOINT --step 500 --name training-en-fr
        --checkpoint en-fr --probe "I am a student.	Je suis étudiant." [--figures '{"bleu": 31.2}']

The last adds one step to a film of real training: the attention of the probes (source TAB target)
by the checkpoint as it was at that step, what it writes for them, and its figures.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from transformer.checkpoint import load_checkpoint, load_config  # noqa: E402
from transformer.jobs.shipping import pack, write_snapshot  # noqa: E402
from transformer.text.tasks import TASKS  # noqa: E402
from transformer.training import watch  # noqa: E402
from transformer.training.live import train_run  # noqa: E402
from transformer.training.looks import Sight, Watched  # noqa: E402
from transformer.training.recipe import describe  # noqa: E402
from transformer.training.run import RunFolder  # noqa: E402
from transformer.ui.training.probes import probes  # noqa: E402

RUNS = ROOT / "checkpoints" / "runs"
watch.GRACE = float("inf")  # no look waits for its price: the film is what these are made for


def toy(task: str) -> Path:
    """Train a task as the Train page would, with every setting as it is at first."""
    with tempfile.TemporaryDirectory() as folder:
        run = RunFolder(Path(folder) / "run")
        run.path.mkdir()
        run.write_config(describe(task, title=TASKS[task].title, probes=probes(task)))
        status = train_run(run.path)
        if status != "finished":
            sys.exit(f"{task}: {status}, {run.state()['reason']}")
        return pack(run.path, RUNS / f"toy-{task}")


def save(
    checkpoint: Path, step: int, target: Path, named: str, pairs: list[tuple[str, str]], **more: Any
) -> None:
    """Add one step of a real training to the run in `target`, which may be there already."""
    run = RunFolder(target)
    run.path.mkdir(parents=True, exist_ok=True)
    if not run.exists:
        run.write_config(
            {
                "title": f"The training of {named}",
                "checkpoint": named,
                "model": load_config(checkpoint).to_dict(),
                "probes": [list(pair) for pair in pairs],
            }
        )
    run.rewind(step - 1)  # a step may be written again, and no later one is known before it
    sight = Sight(*load_checkpoint(checkpoint), Watched(probes=pairs, valid=pairs))
    write_snapshot(run, step, sight.attention(), sight.labels())
    line = {"step": step, "examples": sight.examples()}
    with run.examples_path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line, ensure_ascii=False) + "\n")
    run.append_metrics({"step": step, **more})
    run.write_state("finished", f"saved at step {step:,}", step=step)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tasks", nargs="*", metavar="TASK")
    parser.add_argument("--run", type=Path)
    parser.add_argument("--save", type=Path, metavar="CHECKPOINT")
    parser.add_argument("--name")
    parser.add_argument("--step", type=int)
    parser.add_argument("--checkpoint", help="the checkpoint that came of it, by its name")
    parser.add_argument("--probe", action="append", default=[], metavar="SOURCE<tab>TARGET")
    parser.add_argument("--figures", type=json.loads, default={}, metavar="JSON")
    asked = parser.parse_args()
    if asked.save:
        pairs = [tuple(probe.split("\t")) for probe in asked.probe]
        target = RUNS / asked.name
        save(asked.save, asked.step, target, asked.checkpoint, pairs, **asked.figures)
        told(target)
    elif asked.run:
        told(pack(asked.run, RUNS / asked.name))
    else:
        for task in asked.tasks or TASKS:
            told(toy(task))


def told(folder: Path) -> None:
    """Its size, and where it ended."""
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    last = next((x for x in reversed(RunFolder(folder).metrics()) if "sequence_accuracy" in x), {})
    right = f", {last['sequence_accuracy']:.1%} of sequences right" if last else ""
    print(f"{folder.relative_to(ROOT)}  {size / 1000:.0f} kB{right}", flush=True)


if __name__ == "__main__":
    main()
