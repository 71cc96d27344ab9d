"""The role of every head, from its measures over a corpus.

The rules of *positional*, *backwards* and *sink* are those of `measures.role_rules`, which names
roles on one sentence; here they are applied to all rows of a corpus.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import pandas as pd

from transformer.analysis.roles.corpus_tokens import MARGIN, MIN_ROWS, RELATIONS, SOURCE_RELATIONS
from transformer.analysis.roles.head_measures import HeadMeasures
from transformer.measures import role_rules
from transformer.measures.grammar import PIECES
from transformer.measures.kinds import AttentionKind, checked_kind
from transformer.measures.role_rules import MIN_SENTENCE_ROWS, NONE, POSITIONAL, SINK, Role

HALF = 0.5
"""Minimum share of the weight, or of the rows, for a role."""

RULES: dict[str, str] = {
    "positional": "At least 90% of the rows have their greatest weight at one fixed offset (Voita "
    "et al. 2019, section 5.1). Rows that cannot reach the offset do not count; at least half must "
    "reach it.",
    "backwards": "The same, with offsets counted from the other end of the sentence.",
    "aligner": "At least half of the weight is on the source words that the gold links of the "
    "corpus align with the word that the row predicts, or with the word it has just read (Chen et "
    "al. 2020, section 3).",
    "syntactic": "For one relation (verb and subject, object or adverb; noun and adjective; either "
    "direction), the greatest weight (without </s>) is on the related word at least "
    f"{MARGIN:.0%} of the rows more often than at the best fixed offset (Voita et al. 2019, "
    f"section 5.2); over at least {MIN_ROWS} rows.",
    "pieces": "For words of several tokens, the greatest weight is on another token of the same "
    "word, by the same rule as for a syntactic head (seen by Correia et al. 2019).",
    "rare": "In the lowest encoder layer, at least half of the rows have their greatest weight on "
    "the rarest token of the sentence, and twice as many as under uniform attention. Sentences "
    "without a token beyond the 500 most frequent do not count (Voita et al. 2019, section 5.3).",
    "duplicate": "If the row's word also occurs elsewhere, at least half of the weight is on it "
    "there, and twice as much as under uniform attention; in cross-attention, if the source "
    "contains the word that the row predicts. Punctuation and parts of words do not count; over at "
    f"least {MIN_ROWS} rows.",
    "punctuation": "At least half of the weight is on punctuation.",
    "sink": "At least half of the weight is on the first token, on the last, or on <s>, </s> and "
    "punctuation together: tokens that often serve as attention sinks (Clark et al. 2019, section "
    "3.2). The decoder's first row, which has only one key, does not count.",
    "none": "No rule is met.",
}
"""The rule of every role, in the order in which they are tested; the first rule that is met
determines the role.
"""

ROLE_MEASURES = {
    "positional": "positional",
    "backwards": "backwards",
    "aligner": "aligned",
    "syntactic": "verb_subject",
    "pieces": PIECES,
    "rare": "rare",
    "duplicate": "duplicate",
    "punctuation": "punctuation",
    "sink": "last",
    "none": "confidence",
}
"""The measure that a role is based on, and by which its strongest sentences are selected."""

RELATION_TEXTS: dict[str, tuple[str, str]] = {
    "verb_subject": ("v→s", "attends to the verb's subject"),
    "subject_verb": ("s→v", "attends to the subject's verb"),
    "verb_object": ("v→o", "attends to the verb's object"),
    "object_verb": ("o→v", "attends to the object's verb"),
    "noun_adjective": ("n→a", "attends to the noun's adjective"),
    "adjective_noun": ("a→n", "attends to the adjective's noun"),
    "verb_adverb": ("v→d", "attends to the verb's adverb"),
    "adverb_verb": ("d→v", "attends to the adverb's verb"),
    PIECES: ("a+b", "attends to other tokens of its word"),
}
"""For measures between two source tokens: a symbol, and what a head with a high value does."""

_BY_SHORT = {"first": "first", "last": "last", "ends": "delimiters", "↔−1": "aligned_input"} | {
    short: name for name, (short, _) in RELATION_TEXTS.items()
}


@dataclass(frozen=True)
class HeadRole:
    """The role of one head.

    Attributes:
        kind, layer, head: of the head.
        role: the first rule that it meets; "none" is a role too.
        met: all rules that it meets.
        measures: its numbers over the corpus; None where one does not apply.
        measure: the one that its role is based on.
        strongest: sentences (numbers from 0) with the largest values of that measure, and the
            values.
    """

    kind: AttentionKind
    layer: int
    head: int
    role: Role
    met: tuple[Role, ...]
    measures: Mapping[str, float | None]
    measure: str
    strongest: tuple[tuple[int, float], ...]

    @property
    def rule(self) -> str:
        """The rule of its role, in words."""
        return RULES[self.role.group]

    def to_dict(self) -> dict[str, Any]:
        """Return a dictionary for JSON; `from_dict` reads it."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> HeadRole:
        """Restore a role from `to_dict`."""
        fields = {**values, "role": Role(**values["role"])}
        fields["met"] = tuple(Role(**role) for role in values["met"])
        fields["strongest"] = tuple((int(n), float(value)) for n, value in values["strongest"])
        return cls(**fields)


def head_roles(measured: HeadMeasures, n_strongest: int = 10) -> list[HeadRole]:
    """Return the role of every head, for encoder, decoder and cross-attention, from the lowest
    layer up."""
    return [_head_role(measured, line, n_strongest) for _, line in measured.table().iterrows()]


def _head_role(measured: HeadMeasures, line: pd.Series, n_strongest: int) -> HeadRole:
    kind, layer, head = checked_kind(line["kind"]), int(line["layer"]), int(line["head"])
    roles = tuple(_roles(measured, line, kind, layer, head))
    role = roles[0] if roles else NONE
    measure = _BY_SHORT.get(role.short) or ROLE_MEASURES[role.group]
    numbers = {
        str(name): None if math.isnan(value) else float(value)
        for name, value in line.items()
        if name not in ("kind", "layer", "head")
    }
    strongest = measured.strongest(kind, layer, head, measure, n_strongest)
    return HeadRole(kind, layer, head, role, roles, numbers, measure, tuple(strongest))


def _roles(
    measured: HeadMeasures, line: pd.Series, kind: AttentionKind, layer: int, head: int
) -> Iterator[Role]:
    """Yield the roles whose rule is met, in the order of `RULES`."""
    strongest_keys, chance = measured.strongest_keys[kind], measured.chance[kind]
    for backwards in (False,) if kind == "decoder" else (False, True):
        offset, share, reachable_share = strongest_keys.constant(layer, head, backwards=backwards)
        reachable = (
            reachable_share >= HALF
            and reachable_share * len(strongest_keys.query) >= MIN_SENTENCE_ROWS
        )
        if share >= POSITIONAL and reachable:
            role_of = role_rules.fixed_offset_from_end if backwards else role_rules.fixed_offset
            yield role_of(offset, share, kind, ("</s>",))

    def exceeds(name: str, twice: bool = False, rows: int = MIN_SENTENCE_ROWS) -> bool:
        threshold = max(HALF, 2 * chance[name] if twice else 0.0)
        return bool(measured.rows[kind][name].sum() >= rows and line[name] >= threshold)

    if kind == "cross" and exceeds("aligned"):
        yield Role("aligner", "↔", "aligns the word it predicts", float(line["aligned"]))
    if kind == "cross" and exceeds("aligned_input"):
        yield Role(
            "aligner", "↔−1", "aligns the word it has just read", float(line["aligned_input"])
        )
    if kind == "encoder":
        yield from _relation_roles(measured, line)
    if kind == "encoder" and layer == 0 and exceeds("rare", twice=True):
        yield Role("rare", "!", "attends to the rarest token", float(line["rare"]))
    if exceeds("duplicate", twice=True, rows=MIN_ROWS):
        text = (
            "attends to the same word in the source"
            if kind == "cross"
            else "attends to other occurrences of its word"
        )
        yield Role("duplicate", "=", text, float(line["duplicate"]))
    if exceeds("punctuation"):
        text = "attends to punctuation"
        yield Role("punctuation", ".,", text, float(line["punctuation"]))
    ends = {"last": ("</s>, the last token", float(line["last"]))} if kind != "decoder" else {}
    first = "<s>, the first token" if kind == "decoder" else "the first token"
    for name, (token, share) in (
        ends | {"first": (first, _first_token_share(measured, line, kind))}
    ).items():
        if share >= SINK and measured.rows[kind][name].sum() >= MIN_SENTENCE_ROWS:
            yield Role("sink", name, f"attends mostly to {token}", share)
    if exceeds("delimiters"):
        text = "attends mostly to punctuation, <s> and </s>"
        yield Role("sink", "ends", text, float(line["delimiters"]))


def _relation_roles(measured: HeadMeasures, line: pd.Series) -> Iterator[Role]:
    """Yield the relations for which an encoder head is better than the best offset, the largest
    difference first."""
    candidates: list[tuple[float, str]] = []
    for name in SOURCE_RELATIONS:
        if measured.rows["encoder"][name].sum() >= MIN_ROWS:
            margin = float(line[name]) - measured.best_offsets[name][1]
            # The tolerance is for rounding.
            candidates += [(margin, name)] if margin >= MARGIN - 1e-9 else []
    for group in ("syntactic", PIECES):
        for _, name in sorted(candidates, reverse=True):
            if (name in RELATIONS) == (group == "syntactic"):
                yield Role(group, *RELATION_TEXTS[name], float(line[name]))


def _first_token_share(measured: HeadMeasures, line: pd.Series, kind: AttentionKind) -> float:
    """Return the weight on the first token, without the decoder's first rows, which
    have only one key."""
    share, rows = float(line["first"]), measured.rows[kind]["first"]
    if kind != "decoder":
        return share
    n, total = len(rows), float(rows.sum())
    return (share * total - n) / (total - n) if total > n else 0.0
