"""The weights of a small model at the steps of its snapshots, to analyse how its circuits form."""

from __future__ import annotations

from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file

from transformer.config import ModelConfig
from transformer.measures.film_steps import film_steps
from transformer.model import Transformer
from transformer.training.run import RunError, RunFolder
from transformer.training.saving import save_tensors

MAX_PARAMETERS = 1_000_000
"""Maximum number of parameters of a model whose weights are kept: 2 MB a step, in float16."""
MAX_STEPS = 24
"""Maximum number of steps whose weights are kept."""


class StepWeights:
    """The folder step_weights/ of a run: 00000120.safetensors, in float16, as in a checkpoint."""

    def __init__(self, run: RunFolder) -> None:
        self.run, self.folder = run, run.step_weights_path

    def steps(self) -> list[int]:
        """Return the steps whose weights are there, in order."""
        return self.run.weight_steps()

    def save(self, model: Transformer, step: int) -> None:
        """Save the weights of this step, unless the model is too large, and thin the steps out.

        Raises OSError.
        """
        parameters = dict(model.named_parameters())
        if sum(parameter.numel() for parameter in parameters.values()) > MAX_PARAMETERS:
            return
        tensors = {
            name: parameter.detach().to("cpu", torch.float16).contiguous()
            for name, parameter in parameters.items()
        }
        save_tensors(tensors, self._path(step))
        steps = self.steps()
        for old in {*steps} - {*film_steps(steps, MAX_STEPS)}:
            self._path(old).unlink(missing_ok=True)

    def load(self, config: ModelConfig, step: int) -> Transformer:
        """Return the model of this step, in evaluation mode.

        Raises RunError if the file is missing, truncated or of another model.
        """
        model = Transformer(config)
        try:
            tensors = load_file(self._path(step))
            model.load_state_dict({name: tensor.float() for name, tensor in tensors.items()})
        except (SafetensorError, OSError, RuntimeError) as error:
            raise RunError(
                f"the weights of step {step:,} cannot be read; train the run again"
            ) from error
        return model.eval()

    def _path(self, step: int) -> Path:
        return self.folder / f"{step:08d}.safetensors"
