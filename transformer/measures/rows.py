"""Attention rows of many sentences and heads, with properties of their tokens."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar, cast

import numpy as np
from jaxtyping import Bool, Float, Integer

from transformer.measures.kinds import AttentionKind
from transformer.measures.pieces import Pieces

T = TypeVar("T")


@dataclass(frozen=True)
class Rows:
    """The rows of one kind of attention for a padded batch of sentences.

    Attributes:
        query, key: ids of the query and key tokens.
        writes: the id that a decoder row predicts; for the encoder its own id.
        n_query, n_key: number of tokens without padding.
        pieces: class of every id.
        rarity: of every id, larger for rarer ones; None if the vocabulary's order is unknown.
        rare: whether an id is not among the frequent ones; None as `rarity`.
        within: by relation, whether the key is the related word of the query; encoder only.
        linked: whether gold links align the predicted word with the key; cross-attention only.
    """

    kind: AttentionKind
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
        """Return `function(self)`, cached for all layers."""
        if function not in self._cache:
            self._cache[function] = function(self)
        return cast(T, self._cache[function])

    @cached_property
    def i(self) -> Integer[np.ndarray, "query 1"]:
        """Positions of the rows."""
        return np.arange(self.query.shape[1])[:, None]

    @cached_property
    def j(self) -> Integer[np.ndarray, " key"]:
        """Positions of the columns."""
        return np.arange(self.key.shape[1])

    @cached_property
    def real(self) -> Bool[np.ndarray, "sentences query"]:
        """Mask of the rows that are not padding."""
        return np.asarray(self.i[:, 0] < self.n_query[:, None])

    @cached_property
    def visible(self) -> Bool[np.ndarray, "sentences query key"]:
        """Mask of the columns that each row may attend to."""
        real = (self.j < self.n_key[:, None])[:, None]
        unmasked = self.j <= self.i if self.kind == "decoder" else np.ones_like(self.j <= self.i)
        return np.asarray(real & unmasked)

    @cached_property
    def words(self) -> Bool[np.ndarray, "sentences query key"]:
        """The visible columns without control tokens such as `<s>` and `</s>`."""
        return np.asarray(self.visible & ~self.pieces.control[self.key][:, None])

    @cached_property
    def none(self) -> Bool[np.ndarray, "sentences query key"]:
        """Mask without any column."""
        return np.zeros_like(self.visible)

    def with_any(
        self, columns: Callable[[Rows], Bool[np.ndarray, "sentences query key"]]
    ) -> Bool[np.ndarray, "sentences query"]:
        """Return the rows that have at least one of these columns."""
        return np.asarray(self.cached(columns).any(axis=-1))

    def uniform(self) -> RowWeights:
        """Return the weights of a head with uniform attention over the visible columns."""
        shares = self.visible / np.maximum(self.visible.sum(axis=-1, keepdims=True), 1)
        return RowWeights(self, shares[:, None].astype(np.float32))


@dataclass(frozen=True)
class RowWeights:
    """Attention weights of these rows; padded columns have weight 0."""

    rows: Rows
    w: Float[np.ndarray, "sentences heads query key"]

    def on(
        self, columns: Bool[np.ndarray, "*sentences #query key"]
    ) -> Float[np.ndarray, "sentences heads query"]:
        """Return each row's weight on these columns."""
        mask = np.broadcast_to(columns, self.rows.visible.shape).astype(np.float32)
        return np.asarray(np.einsum("shqk,sqk->shq", self.w, mask))

    def greatest_on(
        self, columns: Bool[np.ndarray, "sentences query key"]
    ) -> Float[np.ndarray, "sentences heads query"]:
        """Return whether a row's greatest weight, without `<s>` and `</s>`, is on these columns.
        Equal weights count in part, so that uniform attention gives the chance level."""
        mask = columns.astype(np.float32)
        return np.asarray(np.einsum("shqk,sqk->shq", self._greatest, mask))

    @cached_property
    def greatest(self) -> Float[np.ndarray, "sentences heads query"]:
        """The greatest weight of each row without `<s>` and `</s>`."""
        return np.asarray(np.where(self.rows.words[:, None], self.w, 0).max(axis=-1))

    @cached_property
    def _greatest(self) -> Float[np.ndarray, "sentences heads query key"]:
        top = (self.w == self.greatest[..., None]) & self.rows.words[:, None]
        n = np.maximum(top.sum(axis=-1, keepdims=True), 1)
        return np.asarray((top / n).astype(np.float32))
