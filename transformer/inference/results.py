"""What decoding gives back: plain frozen records, without tensors and without a model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property
from typing import Any, Literal

Method = Literal["greedy", "beam", "sample", "forced"]
NodeStatus = Literal["kept", "finished", "discarded"]


@dataclass(frozen=True)
class Candidate:
    """One possible next token. `probability` is the model's own softmax over all pieces."""

    token: str
    id: int
    probability: float


@dataclass(frozen=True)
class Step:
    """One row of the table of decoding steps.

    Attributes:
        position: 0 for the first; also the row of decoder and cross attention in a `Trace`.
        input_tokens: what the decoder had read, `<s>` first.
        candidates: the most probable next tokens, best first; `<pad>`, `<s>` and `<unk>` are
            never among them.
        chosen: the token taken; sampling and forcing may take one that is no candidate.
    """

    position: int
    input_tokens: tuple[str, ...]
    candidates: tuple[Candidate, ...]
    chosen: Candidate

    @property
    def probability(self) -> float:
        """Probability of the chosen token, given the source and the tokens before."""
        return self.chosen.probability


@dataclass(frozen=True)
class BeamNode:
    """One candidate that beam search looked at: a node of its tree.

    Attributes:
        index: its place in `BeamTree.nodes`; parents come before children.
        parent: index of the node it continues; None for the root, `<s>`.
        depth: tokens from the root, which has 0.
        token, id: what it adds.
        probability: of `token` given the source and the way to the parent.
        log_probability: of the whole way from the root.
        score: log_probability / length penalty, what hypotheses are compared by.
        status: "kept" in the beam, "finished" with `</s>`, or "discarded".
        best: whether the returned translation goes through it.
    """

    index: int
    parent: int | None
    depth: int
    token: str
    id: int
    probability: float
    log_probability: float
    score: float
    status: NodeStatus
    best: bool


@dataclass(frozen=True)
class BeamTree:
    """Every hypothesis of one beam search, the discarded ones too."""

    nodes: tuple[BeamNode, ...]
    beam_size: int
    length_penalty: float

    def children(self, node: BeamNode) -> tuple[BeamNode, ...]:
        return tuple(child for child in self.nodes if child.parent == node.index)

    def path(self, node: BeamNode) -> tuple[BeamNode, ...]:
        """From the root to `node`, both included."""
        way = [node]
        while way[-1].parent is not None:
            way.append(self.nodes[way[-1].parent])
        return tuple(reversed(way))

    @property
    def hypotheses(self) -> tuple[BeamNode, ...]:
        """The ends of all finished hypotheses, best score first."""
        ends = (node for node in self.nodes if node.status == "finished")
        return tuple(sorted(ends, key=lambda node: -node.score))


@dataclass(frozen=True)
class StepTable:
    """The steps of one output as columns, so that a batch costs little; `rows()` makes `Step`s."""

    inputs: tuple[str, ...]
    chosen: tuple[Candidate, ...]
    tokens: list[list[str]]
    ids: list[list[int]]
    probabilities: list[list[float]]

    def rows(self) -> tuple[Step, ...]:
        columns = zip(self.tokens, self.ids, self.probabilities, self.chosen, strict=True)
        return tuple(
            Step(i, self.inputs[: i + 1], tuple(map(Candidate, tokens, ids, shares)), chosen)
            for i, (tokens, ids, shares, chosen) in enumerate(columns)
        )


@dataclass(frozen=True)
class Translation:
    """A text and how it came about.

    Attributes:
        source: the text given; `src_ids` and `src_tokens` are its pieces, `</s>` last.
        text: the translation; `ids` and `tokens` are its pieces, with `</s>` last if it ended.
        finished: whether it ended with `</s>`, or was cut off at the greatest length.
        log_probability: sum of the natural logs of the steps' probabilities.
        score: log_probability / ((5 + len(ids)) / 6) ** length_penalty.
        method: how it was decoded: "greedy", "beam", "sample" or "forced".
        seed: of the sampling, also when it was drawn by chance, so that it can be repeated.
        tree: of beam search, else None.
        search: `beam.Hypotheses` of a search without hooks, which `Translator.with_penalty` takes;
            in no file.
    """

    source: str
    src_ids: tuple[int, ...]
    src_tokens: tuple[str, ...]
    text: str
    ids: tuple[int, ...]
    tokens: tuple[str, ...]
    finished: bool
    log_probability: float
    score: float
    method: str
    table: StepTable = field(repr=False)
    seed: int | None = None
    tree: BeamTree | None = field(default=None, repr=False)
    search: object = field(default=None, repr=False, compare=False)

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """One `Step` an id, in order."""
        return self.table.rows()

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON can hold it; `from_dict` reads it back."""
        made = {f.name: getattr(self, f.name) for f in fields(self)}
        made |= {name: list(made[name]) for name in _TUPLES}
        del made["table"], made["search"]
        made["steps"] = [
            {
                "position": step.position,
                "input_tokens": list(step.input_tokens),
                "chosen": asdict(step.chosen),
                "candidates": [asdict(candidate) for candidate in step.candidates],
            }
            for step in self.steps
        ]
        made["tree"] = None if self.tree is None else asdict(self.tree)
        return made

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Translation:
        """The inverse of `to_dict`. Raises ValueError for a dictionary of another kind."""
        try:
            made = {**values, **{name: tuple(values[name]) for name in _TUPLES}}
            steps, tree = made.pop("steps"), made["tree"]
            made["table"] = StepTable(
                tuple(steps[-1]["input_tokens"]) if steps else (),
                tuple(Candidate(**step["chosen"]) for step in steps),
                *(
                    [[candidate[column] for candidate in step["candidates"]] for step in steps]
                    for column in ("token", "id", "probability")
                ),
            )
            if tree is not None:
                nodes = tuple(_node(node) for node in tree["nodes"])
                made["tree"] = BeamTree(nodes, tree["beam_size"], tree["length_penalty"])
            return cls(**made)
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"these values are no translation: {error!r}") from error


def _node(values: Mapping[str, Any]) -> BeamNode:
    """A node from its file; those of earlier versions call the status fate."""
    given = dict(values)
    if "fate" in given:
        given["status"] = given.pop("fate")
    return BeamNode(**given)


_TUPLES = ("src_ids", "src_tokens", "ids", "tokens")


def length_penalty(length: int, alpha: float) -> float:
    """lp(Y) = ((5 + |Y|) / 6)^α (Wu et al. 2016, eq. 14); |Y| counts `</s>`. The paper searches
    with α = 0.6 (section 6.1)."""
    return float(((5 + length) / 6) ** alpha)
