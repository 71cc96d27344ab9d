"""Rows of attention, of many sentences and heads at once, and what is known of their tokens."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar, cast

import numpy as np
from jaxtyping import Bool, Float, Integer

from transformer.measures.pieces import Pieces

T = TypeVar("T")


@dataclass(frozen=True)
class Rows:
    """The rows of one kind of attention in some sentences side by side, padded.

    Attributes:
        query, key: ids of the tokens that look, and that are looked at.
        writes: the id that the row of a decoder goes on to write; of the encoder its own.
        n_query, n_key: how many of them are no padding.
        pieces: what every id looks like.
        rarity: of every id, greater for rarer ones; rare: whether it is beyond the frequent ones.
            None where the vocabulary's order is not known.
        within: by relation, whether the key is what the row's word looks for; encoder alone.
        linked: whether gold links say that the row's written word is of the key; cross alone.
    """

    kind: str
    query: Integer[np.ndarray, "sentences query"]
    key: Integer[np.ndarray, "sentences key"]
    writes: Integer[np.ndarray, "sentences query"]
    n_query: Integer[np.ndarray, " sentences"]
    n_key: Integer[np.ndarray, " sentences"]
    pieces: Pieces
    rarity: Integer[np.ndarray, " ids"] | None = None
    rare: Bool[np.ndarray, " ids"] | None = None
    within: Mapping[str, Bool[np.ndarray, "sentences query key"]] = field(default_factory=dict)
    linked: Bool[np.ndarray, "sentences query key"] | None = None
    _cache: dict[Callable[..., Any], Any] = field(default_factory=dict, repr=False)

    def cached(self, function: Callable[[Rows], T]) -> T:
        """What `function` makes of these rows, made once for all layers."""
        if function not in self._cache:
            self._cache[function] = function(self)
        return cast(T, self._cache[function])

    @cached_property
    def i(self) -> Integer[np.ndarray, "query 1"]:
        """Places of the rows."""
        return np.arange(self.query.shape[1])[:, None]

    @cached_property
    def j(self) -> Integer[np.ndarray, " key"]:
        """Places of the columns."""
        return np.arange(self.key.shape[1])

    @cached_property
    def real(self) -> Bool[np.ndarray, "sentences query"]:
        """Rows that are no padding."""
        return np.asarray(self.i[:, 0] < self.n_query[:, None])

    @cached_property
    def visible(self) -> Bool[np.ndarray, "sentences query key"]:
        """Columns that the row may look at."""
        real = (self.j < self.n_key[:, None])[:, None]
        unmasked = self.j <= self.i if self.kind == "decoder" else np.ones_like(self.j <= self.i)
        return np.asarray(real & unmasked)

    @cached_property
    def words(self) -> Bool[np.ndarray, "sentences query key"]:
        """Those of them that are text: no `<s>`, no `</s>`."""
        return np.asarray(self.visible & ~self.pieces.control[self.key][:, None])

    @cached_property
    def none(self) -> Bool[np.ndarray, "sentences query key"]:
        """No column at all."""
        return np.zeros_like(self.visible)

    def with_any(
        self, columns: Callable[[Rows], Bool[np.ndarray, "sentences query key"]]
    ) -> Bool[np.ndarray, "sentences query"]:
        """The rows for which there is one of these columns."""
        return np.asarray(self.cached(columns).any(axis=-1))

    def uniform(self) -> RowWeights:
        """A head that looks everywhere alike, wherever it may look."""
        shares = self.visible / np.maximum(self.visible.sum(axis=-1, keepdims=True), 1)
        return RowWeights(self, shares[:, None].astype(np.float32))


@dataclass(frozen=True)
class RowWeights:
    """Weights over these rows; columns of padding have weight 0."""

    rows: Rows
    w: Float[np.ndarray, "sentences heads query key"]

    def on(
        self, columns: Bool[np.ndarray, "*sentences #query key"]
    ) -> Float[np.ndarray, "sentences heads query"]:
        """The weight on these columns of each row."""
        mask = np.broadcast_to(columns, self.rows.visible.shape).astype(np.float32)
        return np.asarray(np.einsum("shqk,sqk->shq", self.w, mask))

    def greatest_on(
        self, columns: Bool[np.ndarray, "sentences query key"]
    ) -> Float[np.ndarray, "sentences heads query"]:
        """Whether the greatest weight is on one of these columns, `<s>` and `</s>` aside. Of equal
        weights each counts in part, so that an even head shows what chance gives."""
        mask = columns.astype(np.float32)
        return np.asarray(np.einsum("shqk,sqk->shq", self._greatest, mask))

    @cached_property
    def greatest(self) -> Float[np.ndarray, "sentences heads query"]:
        """The greatest weight, `<s>` and `</s>` aside."""
        return np.asarray(np.where(self.rows.words[:, None], self.w, 0).max(axis=-1))

    @cached_property
    def _greatest(self) -> Float[np.ndarray, "sentences heads query key"]:
        top = (self.w == self.greatest[..., None]) & self.rows.words[:, None]
        n = np.maximum(top.sum(axis=-1, keepdims=True), 1)
        return np.asarray((top / n).astype(np.float32))
