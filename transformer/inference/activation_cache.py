"""Activations of one teacher-forced pass over a batch, by the names of their hook points."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from torch import Tensor

from transformer.config import did_you_mean
from transformer.hooks import canonical


class ActivationCache(Mapping[str, Tensor]):
    """Tensors recorded by `Translator.run_with_cache`, with the batch dimension, on the CPU.

    `cache[name]` accepts hook names and their aliases (`hooks.aliases`), also with a negative
    layer, counted from the last; iteration yields hook names only. Positions at or beyond
    `src_lengths[i]` and `tgt_lengths[i]` are padding of sentence i.
    """

    def __init__(
        self,
        tensors: Mapping[str, Tensor],
        n_layers: int,
        src_lengths: tuple[int, ...],
        tgt_lengths: tuple[int, ...],
    ) -> None:
        self._tensors, self._n_layers = dict(tensors), n_layers
        self.src_lengths, self.tgt_lengths = src_lengths, tgt_lengths

    def __getitem__(self, name: str) -> Tensor:
        """Raises KeyError, with similar names, for a hook point that was not recorded."""
        hook_name = canonical(str(name), self._n_layers)
        if hook_name not in self._tensors:
            raise KeyError(f"the cache has no {name!r}{did_you_mean(hook_name, self._tensors)}")
        return self._tensors[hook_name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tensors)

    def __len__(self) -> int:
        return len(self._tensors)

    def __repr__(self) -> str:
        return f"ActivationCache of {len(self)} hook points: {', '.join(self)}"
