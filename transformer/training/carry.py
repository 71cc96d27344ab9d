"""The checkpoint that a run begins with, of the same vocabulary or carried over to another one.

A model of one language pair is a good beginning for another, whatever the languages (Kocmi and
Bojar 2018, "Trivial Transfer Learning for Low-Resource Neural Machine Translation").
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace

import torch

from transformer.checkpoint import load_checkpoint
from transformer.config import ModelConfig
from transformer.model import Transformer
from transformer.text import Vocabulary


@dataclass(frozen=True)
class Start:
    """A trained model and its vocabulary."""

    model: Transformer
    vocabulary: Vocabulary

    @torch.no_grad()
    def model_for(self, vocabulary: Vocabulary) -> Transformer:
        """The model for a run's vocabulary: itself, or a new one with all its weights.

        Of another vocabulary the pieces that both have keep their vectors; the others begin at
        random.
        """
        if vocabulary.sha256 == self.vocabulary.sha256:
            return self.model
        model = Transformer(replace(self.model.config, vocab_size=len(vocabulary)))
        begun = model.embedding.weight.detach().clone()
        old = {piece: number for number, piece in enumerate(_pieces(self.vocabulary))}
        for number, piece in enumerate(_pieces(vocabulary)):
            if piece in old:
                begun[number] = self.model.embedding.weight[old[piece]]
        model.load_state_dict({**self.model.state_dict(), "embedding.weight": begun})
        return model


def load_start(folder: str, model_config: ModelConfig, *, own_vocabulary: bool) -> Start:
    """The checkpoint in `folder`, for a run of the shape `model_config`.

    Args:
        own_vocabulary: whether the run learns a vocabulary of its own.

    Raises:
        CheckpointError: if there is none.
        ValueError: if its shape is not the one asked for; dropout may differ, and the vocabulary's
            size if the run learns its own.
    """
    model, vocabulary = load_checkpoint(folder)
    free = {"dropout", "vocab_size"} if own_vocabulary else {"dropout"}
    if own_vocabulary and vocabulary.pair is not None:
        raise ValueError(
            f"{folder} has a vocabulary of two models, one a side; a run that starts from it keeps "
            "it and cannot learn another"
        )
    has, wants = asdict(model.config), asdict(model_config)
    for name, value in wants.items():
        if name not in free and has[name] != value:
            raise ValueError(
                f"{folder} has {name} {has[name]!r}; a run that starts from it cannot have "
                f"{value!r}"
            )
    return Start(model, vocabulary)


def _pieces(vocabulary: Vocabulary) -> list[str]:
    return vocabulary.tokens(range(len(vocabulary)))
