"""What a run keeps on disk: the state to resume from, and the last weights to average."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor

from transformer.model import Transformer
from transformer.text.files import atomic_path
from transformer.training.learner import Learner
from transformer.training.run import RunError, RunFolder


@dataclass
class Progress:
    """Where a run stands: all that its next step depends on besides weights and Adam."""

    step: int = 0
    epoch: int = 0
    batch: int = 0  # next batch of this epoch's plan
    seconds: float = 0.0  # of training so far, over all starts
    best_valid: float = float("inf")
    worse: int = 0  # validations since the best


def save_resume(run: RunFolder, learner: Learner, progress: Progress) -> None:
    """One file, written whole or not at all."""
    tensors = {name: tensor.cpu().contiguous() for name, tensor in learner.tensors().items()}
    with atomic_path(run.resume_path) as temporary:
        save_file(tensors, temporary, metadata={"progress": json.dumps(asdict(progress))})


def load_resume(run: RunFolder, learner: Learner) -> Progress:
    """Put the learner back to where the file was written.

    Raises:
        RunError: if the file is cut off or belongs to another model.
    """
    try:
        with safe_open(run.resume_path, framework="pt") as file:
            progress = Progress(**json.loads((file.metadata() or {})["progress"]))
        learner.load_tensors(load_file(run.resume_path))
    except (SafetensorError, OSError, KeyError, RuntimeError, TypeError, ValueError) as error:
        raise RunError(f"{run.resume_path} cannot be resumed from: {error}") from error
    return progress


class LastWeights:
    """The weights of the last `count` saved steps, a file each, and their mean (section 6.1)."""

    def __init__(self, run: RunFolder, count: int) -> None:
        self.folder, self.count = run.path / "weights", count

    def add(self, model: Transformer, step: int) -> None:
        weights = {name: p.detach().cpu().contiguous() for name, p in model.named_parameters()}
        with atomic_path(self.folder / f"{step:08d}.safetensors") as temporary:
            save_file(weights, temporary)
        for old in self._files()[: -self.count]:
            old.unlink()

    def rewind(self, step: int) -> None:
        """Forget what was saved after `step`."""
        for path in self._files():
            if int(path.stem) > step:
                path.unlink()

    def mean(self) -> dict[str, Tensor]:
        """The average of what is there, in float32."""
        files = self._files()
        total: dict[str, Tensor] = {}
        for path in files:
            for name, tensor in load_file(path).items():
                total[name] = total[name] + tensor if name in total else tensor
        return {name: tensor / len(files) for name, tensor in total.items()}

    def _files(self) -> list[Path]:
        return sorted(self.folder.glob("[0-9]*.safetensors"))
