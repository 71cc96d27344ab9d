"""Results of decoding: frozen records without tensors or a model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property
from typing import Any, Literal

Method = Literal["greedy", "beam", "sample", "forced"]
NodeStatus = Literal["kept", "finished", "discarded"]


@dataclass(frozen=True)
class Candidate:
    """One possible next token. `probability` is from the softmax over the whole vocabulary."""

    token: str
    id: int
    probability: float


@dataclass(frozen=True)
class Step:
    """One row of the table of decoding steps.

    Attributes:
        position: counted from 0; also the row of decoder and cross attention in a `Trace`.
        input_tokens: the tokens that the decoder has read, `<s>` first.
        candidates: the most probable next tokens, best first; `<pad>`, `<s>` and `<unk>` are
            never among them.
        chosen: the chosen token; with sampling or forcing it need not be a candidate.
    """

    position: int
    input_tokens: tuple[str, ...]
    candidates: tuple[Candidate, ...]
    chosen: Candidate

    @property
    def probability(self) -> float:
        """Probability of the chosen token, given the source and the previous tokens."""
        return self.chosen.probability


@dataclass(frozen=True)
class BeamNode:
    """One node of the beam search tree: a hypothesis, extended by one token.

    Attributes:
        index: its index in `BeamTree.nodes`; parents come before children.
        parent: index of the node it extends; None for the root, `<s>`.
        depth: number of tokens after the root, which has depth 0.
        token, id: the token that it adds.
        probability: of `token`, given the source and the tokens up to the parent.
        log_probability: of all tokens from the root.
        score: log_probability / length penalty; hypotheses are ranked by it.
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
    """All hypotheses of one beam search, including the discarded ones."""

    nodes: tuple[BeamNode, ...]
    beam_size: int
    length_penalty: float


@dataclass(frozen=True)
class StepTable:
    """The steps of one output as columns, which are cheap to build; `rows()` returns `Step`s."""

    inputs: tuple[str, ...]
    chosen: tuple[Candidate, ...]
    tokens: list[list[str]]
    ids: list[list[int]]
    probabilities: list[list[float]]

    def rows(self) -> tuple[Step, ...]:
        columns = zip(self.tokens, self.ids, self.probabilities, self.chosen, strict=True)
        return tuple(
            Step(i, self.inputs[: i + 1], tuple(map(Candidate, tokens, ids, probabilities)), chosen)
            for i, (tokens, ids, probabilities, chosen) in enumerate(columns)
        )


@dataclass(frozen=True)
class Translation:
    """A translation and how it was decoded.

    Attributes:
        source: the source text; `src_ids` and `src_tokens` are its pieces, `</s>` last.
        text: the translation; `ids` and `tokens` are its pieces, `</s>` last if it is finished.
        finished: whether it ended with `</s>` rather than at the length limit.
        log_probability: sum of the natural logarithms of the steps' probabilities.
        score: log_probability / ((5 + len(ids)) / 6) ** length_penalty.
        method: "greedy", "beam", "sample" or "forced".
        seed: seed of the sampling, also if it was a random one.
        tree: the beam search tree; None for other methods.
        search: `beam.Hypotheses` of a beam search without hooks, used by `Translator.with_penalty`;
            not stored in files.
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
        """One `Step` for each id, in order."""
        return self.table.rows()

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as JSON types; `from_dict` reads them."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        values |= {name: list(values[name]) for name in _TUPLE_FIELDS}
        del values["table"], values["search"]
        values["steps"] = [
            {
                "position": step.position,
                "input_tokens": list(step.input_tokens),
                "chosen": asdict(step.chosen),
                "candidates": [asdict(candidate) for candidate in step.candidates],
            }
            for step in self.steps
        ]
        values["tree"] = None if self.tree is None else asdict(self.tree)
        return values

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Translation:
        """Read the output of `to_dict`. Raises ValueError for any other dictionary."""
        try:
            arguments = {**values, **{name: tuple(values[name]) for name in _TUPLE_FIELDS}}
            steps, tree = arguments.pop("steps"), arguments["tree"]
            arguments["table"] = StepTable(
                tuple(steps[-1]["input_tokens"]) if steps else (),
                tuple(Candidate(**step["chosen"]) for step in steps),
                *(
                    [[candidate[column] for candidate in step["candidates"]] for step in steps]
                    for column in ("token", "id", "probability")
                ),
            )
            if tree is not None:
                nodes = tuple(BeamNode(**node) for node in tree["nodes"])
                arguments["tree"] = BeamTree(nodes, tree["beam_size"], tree["length_penalty"])
            return cls(**arguments)
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"these values are not a translation: {error!r}") from error


_TUPLE_FIELDS = ("src_ids", "src_tokens", "ids", "tokens")


def length_penalty(length: int, alpha: float) -> float:
    """Return lp(Y) = ((5 + |Y|) / 6)^α (Wu et al. 2016, eq. 14); |Y| includes `</s>`. The paper
    uses α = 0.6 (section 6.1)."""
    return float(((5 + length) / 6) ** alpha)
