"""What rows of attention are measured by, for many sentences and heads at once."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from transformer.analysis.passes import Batch
from transformer.analysis.syntax import WITHIN, Table
from transformer.analysis.tokens import FREQUENT, Tokens

_ENDS = {
    "verb_subject": ("verbs", "their subject"),
    "subject_verb": ("subjects", "their verb"),
    "verb_object": ("verbs", "their object"),
    "object_verb": ("objects", "their verb"),
    "noun_adjective": ("nouns", "their adjective"),
    "adjective_noun": ("adjectives", "their noun"),
    "verb_adverb": ("verbs", "their adverb"),
    "adverb_verb": ("adverbs", "their verb"),
}

MEASURES: dict[str, str] = {
    "entropy": "How spread, in bits: 0 is all on one token (Clark et al. 2019, section 3.3).",
    "distance": "How many tokens away, as a mean over the weights (Vig and Belinkov 2019).",
    "confidence": "The greatest weight on a token that is not <s> or </s> (Voita et al. 2019, "
    "section 4).",
    "first": "The weight on the first token.",
    "last": "The weight on the last token, in the source </s>.",
    "punctuation": "The weight on punctuation, apostrophes and hyphens aside.",
    "delimiters": "The weight on punctuation, <s> and </s> together.",
    "duplicate": "Where the row's own word stands elsewhere too (in the decoder: before), the "
    "weight on it there; in cross attention the weight on the word that the row writes, where it "
    "stands in the source. Tokens that are a whole word count, not punctuation or parts of words.",
    "previous": "The weight on the token before.",
    "itself": "The weight on the row's own place.",
    "next": "The weight on the token after.",
    "rare": "The share of rows with their greatest weight, </s> aside, on the rarest token of the "
    f"sentence, where that is not one of the {FREQUENT} most frequent (Voita et al. 2019, section "
    "5.3).",
    **{
        name: f"The share of {rows} with their greatest weight, </s> aside, on {there} (Voita et "
        "al. 2019, section 5.2), where the grammar says which."
        for name, (rows, there) in _ENDS.items()
    },
    "pieces": "The share of rows of words of several pieces with their greatest weight, </s> "
    "aside, on another piece of the word.",
    "aligned": "The weight on the words that a word is translated from, where gold links say which "
    "(rows that write it).",
    "aligned_input": "The same from the rows that have just read the word: a head that looks for "
    "what was written, not for what to write (Chen et al. 2020, section 3).",
}
"""Every measure with what it says; each is a mean over the rows to which it applies."""


class Rows:
    """The rows of one kind of attention in one batch, and which of them count for what."""

    def __init__(self, kind: str, batch: Batch, tokens: Tokens) -> None:
        """`kind` is "encoder", "decoder" or "cross"."""
        self.kind = kind
        query, self.n_query = (
            (batch.src, batch.n_src) if kind == "encoder" else (batch.tgt, batch.n_tgt)
        )
        key, self.n_key = (
            (batch.tgt, batch.n_tgt) if kind == "decoder" else (batch.src, batch.n_src)
        )
        device = key.device
        self.i = torch.arange(query.shape[1], device=device)[:, None]
        self.j = torch.arange(key.shape[1], device=device)
        self.real = self.i[:, 0] < self.n_query[:, None]
        self.seen = (self.j < self.n_key[:, None])[:, None].expand(-1, len(self.i), -1)
        if kind == "decoder":
            self.seen = self.seen & (self.j <= self.i)
        self.control = tokens.control[key][:, None] & self.seen
        self.punctuation = tokens.punctuation[key].float()
        self.last = self.n_key[:, None, None, None] - 1
        told = batch.out if kind == "cross" else query
        same = (told[:, :, None] == key[:, None]) & self.seen
        same = same & tokens.whole(told)[:, :, None] & tokens.whole(key)[:, None]
        self.same = same if kind == "cross" else same & (self.i != self.j)
        words = torch.where(self.seen & ~self.control, tokens.rarity[key][:, None], -(2**62))
        self.rarest = words == words.amax(-1, keepdim=True)
        self.has_rare = (self.rarest & tokens.rare[key][:, None]).any(-1)
        if kind == "encoder":
            self.within = self._within([tokens.within[number] for number in batch.numbers])
        self.linked = torch.zeros_like(self.seen)
        if kind == "cross":
            for row, number in enumerate(batch.numbers):
                table = tokens.aligned[number]
                if table is not None:
                    self.linked[row, : table.shape[0], : table.shape[1]] = table
        self.linked_input = torch.zeros_like(self.linked)
        self.linked_input[:, 1:] = self.linked[:, :-1]
        self.counted = {name: mask & self.real for name, mask in self._masks().items()}

    def _within(self, found: Sequence[dict[str, Table]]) -> Float[Tensor, "rows within query key"]:
        n = len(self.j)
        made = torch.zeros(len(found), len(WITHIN), n, n, device=self.j.device)
        for row, named in enumerate(found):
            for at, name in enumerate(WITHIN):
                if name in named:
                    table = torch.from_numpy(named[name])
                    made[row, at, : len(table), : len(table)] = table
        return made

    def _masks(self) -> dict[str, Bool[Tensor, "#rows query"]]:
        """Which rows count for each measure that there is of this kind."""
        every = torch.ones_like(self.real)
        found = dict.fromkeys(
            ("entropy", "distance", "confidence", "first", "last", "punctuation"), every
        )
        found["duplicate"] = self.same.any(-1)
        # The decoder's first row has no choice.
        found["delimiters"] = every & (self.i[:, 0] > 0) if self.kind == "decoder" else every
        if self.kind == "cross":
            found |= {"aligned": self.linked.any(-1)}
            return found | {"aligned_input": self.linked_input.any(-1)}
        place = self.i[:, 0]
        found |= {"previous": every & (place > 0), "itself": every}
        if self.kind == "encoder":
            found |= {"next": place < self.n_query[:, None] - 1, "rare": self.has_rare}
            found |= {name: self.within[:, at].any(-1) for at, name in enumerate(WITHIN)}
        return found

    def even(self) -> Float[Tensor, "rows 1 query key"]:
        """The weights of a head that looks everywhere alike, wherever it may look."""
        seen = self.seen.float()
        return (seen / seen.sum(-1, keepdim=True).clamp(min=1))[:, None]

    def measure(
        self, w: Float[Tensor, "rows heads query key"]
    ) -> dict[str, Float[Tensor, "rows heads"]]:
        """The mean of every measure over the rows of each sentence that count; else 0."""
        each = self._each(w)
        found = {}
        for name, mask in self.counted.items():
            count = mask.sum(-1).clamp(min=1)[:, None]
            found[name] = (each[name] * mask[:, None]).sum(-1) / count
        return found

    def _each(
        self, w: Float[Tensor, "rows heads query key"]
    ) -> dict[str, Float[Tensor, "rows heads query"]]:
        words = w.masked_fill(self.control[:, None], 0.0)
        greatest = words.amax(-1, keepdim=True)
        found = {
            "entropy": torch.special.entr(w).sum(-1) / math.log(2),
            "distance": (w * (self.i - self.j).abs()).sum(-1),
            "confidence": greatest[..., 0],
            "first": w[..., 0],
            "last": w.gather(-1, self.last.expand(-1, *w.shape[1:3], 1))[..., 0],
            "punctuation": torch.einsum("bhqk,bk->bhq", w, self.punctuation),
            "delimiters": (w * (self.control | (self.punctuation > 0)[:, None])[:, None]).sum(-1),
            "duplicate": (w * self.same[:, None]).sum(-1),
        }
        if self.kind == "cross":
            found |= {"aligned": (w * self.linked[:, None]).sum(-1)}
            return found | {"aligned_input": (w * self.linked_input[:, None]).sum(-1)}
        for name, offset in (("previous", -1), ("itself", 0), ("next", 1)):
            found[name] = (w * (self.j - self.i == offset)).sum(-1)
        if self.kind == "encoder":
            # Of equal weights each counts in part, so that an even head shows what chance gives.
            top = (words == greatest) & (self.seen & ~self.control)[:, None]
            shares = top / top.sum(-1, keepdim=True).clamp(min=1)
            found["rare"] = (shares * self.rarest[:, None]).sum(-1)
            within = torch.einsum("bhqk,bwqk->wbhq", shares, self.within)
            found |= dict(zip(WITHIN, within, strict=True))
        return found
