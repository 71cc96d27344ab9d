"""Clean and corrupted examples for patching: two examples of a task with equal lengths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from transformer.text import Vocabulary

N_PAIRS = 16
"""Default number of pairs; their effects are averaged."""


@dataclass(frozen=True, eq=False)
class ExamplePairs:
    """Examples of one length, each with another one as its corrupted version.

    Both the source and what the decoder reads are those of the other example, teacher-forced.

    Attributes:
        src, tgt: ids of the clean source (with `</s>`) and of what the decoder reads (from `<s>`).
        answers: the token that the decoder should write at each position, with `</s>`.
        corrupted_src, corrupted_tgt, corrupted_answers: the same of the other examples.
        texts: source and target of each clean example.
    """

    src: Int[Tensor, "pairs src"]
    tgt: Int[Tensor, "pairs tgt"]
    answers: Int[Tensor, "pairs tgt"]
    corrupted_src: Int[Tensor, "corrupted corrupted_src"]
    corrupted_tgt: Int[Tensor, "corrupted corrupted_tgt"]
    corrupted_answers: Int[Tensor, "corrupted corrupted_tgt"]
    texts: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        for side in ("src", "tgt", "answers"):
            clean, corrupted = getattr(self, side), getattr(self, f"corrupted_{side}")
            if clean.shape != corrupted.shape:
                raise ValueError(
                    f"the clean {side} has shape {tuple(clean.shape)} and the corrupted one "
                    f"{tuple(corrupted.shape)}; both need the same number of tokens"
                )
        if not bool(self.differs.any(1).all()):
            raise ValueError(
                "a clean example and its corrupted one have the same target; choose one with "
                "another target"
            )

    def __len__(self) -> int:
        return len(self.src)

    @property
    def differs(self) -> Bool[Tensor, "pairs tgt"]:
        """Positions at which clean and corrupted answer differ; only these are measured."""
        return self.answers != self.corrupted_answers

    def to(self, device: torch.device) -> ExamplePairs:
        """Return the pairs with their ids on `device`."""
        return ExamplePairs(
            self.src.to(device),
            self.tgt.to(device),
            self.answers.to(device),
            self.corrupted_src.to(device),
            self.corrupted_tgt.to(device),
            self.corrupted_answers.to(device),
            self.texts,
        )

    def logit_difference(self, logits: Float[Tensor, "pairs tgt vocab"]) -> Float[Tensor, "pairs"]:
        """Return the logit of the right token minus that of the corrupted example's, for each
        pair the mean over the positions where the two tokens differ."""
        index = torch.stack([self.answers, self.corrupted_answers], dim=-1)
        answer_logits, corrupted_logits = logits.gather(-1, index).unbind(-1)
        weight = self.differs.to(logits.dtype)
        return ((answer_logits - corrupted_logits) * weight).sum(1) / weight.sum(1)


def pair_examples(
    vocabulary: Vocabulary, examples: Sequence[tuple[str, str]], count: int = N_PAIRS
) -> ExamplePairs:
    """Choose examples of the most frequent pair of lengths (of several: the longest), and take the
    next one as the corrupted version of each.

    Args:
        examples: source and target texts of a task, such as its held-out examples.
        count: maximum number of pairs.

    Raises:
        ValueError: if no two examples with different targets have the same lengths.
    """
    groups: dict[tuple[int, int], dict[tuple[int, ...], tuple[list[int], str, str]]] = {}
    for source, target in examples:
        source_ids, target_ids = vocabulary.encode(source), vocabulary.encode(target, target=True)
        group = groups.setdefault((len(source_ids), len(target_ids)), {})
        group.setdefault(tuple(target_ids), (source_ids, source, target))  # distinct targets only
    sizes = {lengths: min(len(group), count) for lengths, group in groups.items()}
    best = max(sizes, key=lambda lengths: (sizes[lengths], lengths), default=None)
    if best is None or sizes[best] < 2:
        raise ValueError(
            "no two of these examples have the same number of source tokens and the same number of "
            "target tokens, and different targets; edge attribution needs at least two"
        )
    rows = list(groups[best].items())[: sizes[best]]
    src = torch.tensor([encoded for _, (encoded, _, _) in rows])
    answers = torch.tensor([list(encoded) for encoded, _ in rows])
    tgt = torch.cat([torch.full_like(answers[:, :1], vocabulary.bos_id), answers[:, :-1]], dim=1)
    texts = tuple((source, target) for _, (_, source, target) in rows)
    other_src, other_tgt, other_answers = (part.roll(-1, dims=0) for part in (src, tgt, answers))
    return ExamplePairs(src, tgt, answers, other_src, other_tgt, other_answers, texts)
