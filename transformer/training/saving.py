"""Files of a run for resuming, and the saved weights that are averaged."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from transformer.checkpoint import save_checkpoint
from transformer.config import ModelConfig
from transformer.model import Transformer
from transformer.text import Vocabulary
from transformer.text.files import atomic_path
from transformer.training.learner import MixedPrecision
from transformer.training.run import LoopState, RunFolder, resume_error


def save_resume(run: RunFolder, learner: MixedPrecision[Any], loop: LoopState) -> None:
    """Write weights, Adam's moments and loop state to one file, atomically. Raises OSError."""
    tensors = {name: tensor.cpu().contiguous() for name, tensor in learner.tensors().items()}
    save_tensors(tensors, run.resume_path, {"progress": json.dumps(asdict(loop))})


def load_resume(run: RunFolder, learner: MixedPrecision[Any]) -> None:
    """Load into the learner what `save_resume` wrote.

    Raises RunError if the file is truncated or belongs to another model.
    """
    try:
        tensors = load_file(run.resume_path)
    except (SafetensorError, OSError) as error:
        raise resume_error(run, f"it is truncated or not a resume file ({error})") from error
    for name, shape in learner.shapes().items():
        if name not in tensors or tensors[name].shape != shape:
            actual = f"shape {tuple(tensors[name].shape)}" if name in tensors else "nothing"
            raise resume_error(run, f"for {name} it has {actual}, the model needs {tuple(shape)}")
    learner.load_tensors(tensors)


class WeightAverager:
    """Weights of the last `count` saved steps, one file each, and their mean (section 6.1).

    If `count` is above 1, a few early files are kept as well, to show the course of training: the
    first, and those at 2, 4, 8, … times its step.
    """

    def __init__(self, run: RunFolder, count: int) -> None:
        self.run, self.folder, self.count = run, run.path / "weights", count

    def add(self, model: Transformer, step: int) -> None:
        """Save the weights of this step and delete files no longer needed. Raises OSError."""
        weights = {name: p.detach().cpu().contiguous() for name, p in model.named_parameters()}
        save_tensors(weights, self.folder / f"{step:08d}.safetensors")
        for path in self._files()[: -self.count]:
            if not self._is_early(path):
                path.unlink()

    def rewind(self, step: int) -> None:
        """Delete the weights saved after `step`."""
        for path in self._files():
            if int(path.stem) > step:
                path.unlink()

    def mean(self) -> dict[str, Tensor]:
        """Return the mean of the last `count` saved weights, in float32."""
        files = self._files()[-self.count :]
        total: dict[str, Tensor] = {}
        for path in files:
            for name, tensor in load_file(path).items():
                total[name] = total[name] + tensor if name in total else tensor
        return {name: tensor / len(files) for name, tensor in total.items()}

    def save_mean(self, config: ModelConfig, vocabulary: Vocabulary, card: str) -> None:
        """Write the average as the run's checkpoint, in float16. Raises OSError."""
        model = Transformer(config)
        model.load_state_dict(self.mean())
        save_checkpoint(self.run.checkpoint_path, model, vocabulary, card, dtype=torch.float16)

    def __len__(self) -> int:
        """Number of saved weights to average."""
        return min(self.count, len(self._files()))

    def _is_early(self, path: Path) -> bool:
        multiple, remainder = divmod(int(path.stem), int(self._files()[0].stem))
        return self.count > 1 and remainder == 0 and multiple & (multiple - 1) == 0

    def _files(self) -> list[Path]:
        return sorted(self.folder.glob("[0-9]*.safetensors"))


def save_tensors(
    tensors: dict[str, Tensor], path: Path, metadata: dict[str, str] | None = None
) -> None:
    """Write the tensors as safetensors, atomically. Raises OSError."""
    with atomic_path(path) as temporary:
        try:
            save_file(tensors, temporary, metadata=metadata)
        except SafetensorError as error:  # for example a full disk
            raise OSError(f"{path} cannot be written: {error}") from error
