"""What a run keeps on disk: the state to resume from, and the last weights to average."""

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
from transformer.training.run import Progress, RunFolder, cannot_resume


def save_resume(run: RunFolder, learner: MixedPrecision[Any], progress: Progress) -> None:
    """One file, written whole or not at all. Raises OSError."""
    tensors = {name: tensor.cpu().contiguous() for name, tensor in learner.tensors().items()}
    _save(tensors, run.resume_path, {"progress": json.dumps(asdict(progress))})


def load_resume(run: RunFolder, learner: MixedPrecision[Any]) -> None:
    """Put the learner back to where `save_resume` wrote it. Raises RunError if the file is cut off
    or belongs to another model."""
    try:
        tensors = load_file(run.resume_path)
    except (SafetensorError, OSError) as error:
        raise cannot_resume(run, f"it is cut off or of another kind ({error})") from error
    for name, shape in learner.shapes().items():
        if name not in tensors or tensors[name].shape != shape:
            has = f"shape {tuple(tensors[name].shape)}" if name in tensors else "nothing"
            raise cannot_resume(run, f"for {name} it has {has}, the model needs {tuple(shape)}")
    learner.load_tensors(tensors)


class LastWeights:
    """The weights of the last `count` saved steps, a file each, and their mean (section 6.1).

    Where several are kept, a few early ones stay as well, for what can only be seen over training:
    the first, and those at twice, four times, eight times … its step.
    """

    def __init__(self, run: RunFolder, count: int) -> None:
        self.run, self.folder, self.count = run, run.path / "weights", count

    def add(self, model: Transformer, step: int) -> None:
        """Keep the weights of this step, and of earlier ones only the last. Raises OSError."""
        weights = {name: p.detach().cpu().contiguous() for name, p in model.named_parameters()}
        _save(weights, self.folder / f"{step:08d}.safetensors")
        for old in self._files()[: -self.count]:
            if not self._early(old):
                old.unlink()

    def rewind(self, step: int) -> None:
        """Forget what was saved after `step`."""
        for path in self._files():
            if int(path.stem) > step:
                path.unlink()

    def mean(self) -> dict[str, Tensor]:
        """The average of what is there, in float32."""
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
        """How many there are to average."""
        return min(self.count, len(self._files()))

    def _early(self, path: Path) -> bool:
        times, rest = divmod(int(path.stem), int(self._files()[0].stem))
        return self.count > 1 and rest == 0 and times & (times - 1) == 0

    def _files(self) -> list[Path]:
        return sorted(self.folder.glob("[0-9]*.safetensors"))


def _save(tensors: dict[str, Tensor], path: Path, metadata: dict[str, str] | None = None) -> None:
    with atomic_path(path) as temporary:
        try:
            save_file(tensors, temporary, metadata=metadata)
        except SafetensorError as error:  # how it reports a full disk, for one
            raise OSError(f"{path} cannot be written: {error}") from error
