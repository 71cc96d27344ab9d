"""Beam search with the length penalty of Wu et al. 2016 (the paper's section 6.1), and its tree."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import torch

from transformer.config import ModelConfig
from transformer.inference.options import Decoding
from transformer.inference.results import BeamNode, BeamTree, NodeStatus, length_penalty
from transformer.inference.search import Allowed
from transformer.inference.sessions import Session
from transformer.inference.step_logits import Decoded


@dataclass
class Node:
    """As `BeamNode`, while the search goes on; `row` holds its beam's candidates once expanded."""

    parent: int | None
    depth: int
    id: int
    log_probability: float
    total: float
    score: float
    status: NodeStatus = "discarded"
    candidates: tuple[list[int], list[float]] = ([], [])  # after this node: ids, probabilities


Found = tuple[list[list[int]], list[list[float]], tuple[int, float] | None]
"""What a step found for each living hypothesis: ids, their log probabilities; what was given."""


@dataclass
class Hypotheses:
    """The search of one output: its tree, and the ends that live and that finished.

    `steps` is all that was found on the way, so that it can be searched again without the model.
    """

    limit: int
    options: Decoding
    eos_id: int
    nodes: list[Node] = field(default_factory=list)
    alive: list[int] = field(default_factory=list)
    finished: list[int] = field(default_factory=list)
    steps: list[Found] = field(default_factory=list)

    def start(self, bos_id: int) -> None:
        self.nodes, self.alive = [Node(None, 0, bos_id, 0.0, 0.0, 0.0, "kept")], [0]

    def expand(
        self, best: list[list[int]], logs: list[list[float]], given: tuple[int, float] | None = None
    ) -> tuple[list[int], list[int]]:
        """Continue each living hypothesis by its candidates, falling by probability.

        Of all continuations the 2·beam best become nodes: enough, since each parent has one
        `</s>` only. Among the first `beam_size` of them `</s>` finishes a hypothesis; the best
        others are kept. Returns the parents' places among the living, and the new ids.
        With `given`, an id and its log probability, the only living one goes on by that alone.
        """
        beam, depth = self.options.beam_size, self.nodes[self.alive[0]].depth + 1
        pairs = [
            (self.nodes[parent].total + log, place, id, log)
            for place, parent in enumerate(self.alive)
            for id, log in zip(best[place], logs[place], strict=True)
            if log > -np.inf
        ]
        if given is not None:
            pairs = [(self.nodes[self.alive[0]].total + given[1], 0, *given)]
        pairs.sort(key=lambda pair: -pair[0])
        for place, parent in enumerate(self.alive):
            k = self.options.candidates
            shares = [float(np.exp(log)) for log in logs[place][:k]]
            self.nodes[parent].candidates = (best[place][:k], shares)
        penalty = length_penalty(depth, self.options.length_penalty)
        places: list[int] = []
        alive: list[int] = []
        for rank, (total, place, id, log) in enumerate(pairs[: 2 * beam]):
            node = Node(self.alive[place], depth, id, log, total, total / penalty)
            if id == self.eos_id:
                if rank < beam:
                    node.status = "finished"
                    self.finished.append(len(self.nodes))
            elif len(alive) < beam:
                node.status = "kept"
                alive.append(len(self.nodes))
                places.append(place)
            self.nodes.append(node)
        if len(places) == len(self.alive):
            order = _keep_rows_in_place(places)
            places, alive = [places[n] for n in order], [alive[n] for n in order]
        self.alive = alive
        return places, [self.nodes[index].id for index in alive]

    def done(self) -> bool:
        """Whether no living hypothesis matters any more.

        So it is at the length limit, with `beam_size` finished ones, or when none that lives can
        overtake: its log probability only falls, and no penalty to come is kinder than `bound`.
        """
        if not self.alive or self.nodes[self.alive[0]].depth >= self.limit:
            return True
        if len(self.finished) >= self.options.beam_size:
            return True
        if not self.finished:
            return False
        alpha, depth = self.options.length_penalty, self.nodes[self.alive[0]].depth
        bound = max(length_penalty(depth + 1, alpha), length_penalty(self.limit, alpha))
        best_alive = max(self.nodes[index].total for index in self.alive) / bound
        return max(self.nodes[index].score for index in self.finished) >= best_alive

    def with_length_penalty(self, penalty: float) -> Hypotheses | None:
        """This search with another length penalty: that decides when a search ends and which end
        is best, never what a step finds. None if it goes on past what was found."""
        options = replace(self.options, length_penalty=penalty)
        one = Hypotheses(self.limit, options, self.eos_id, steps=self.steps)
        one.start(self.nodes[0].id)
        for found in self.steps:
            one.expand(*found)
            if one.done():
                return one
        return None

    def best(self) -> list[int]:
        """Nodes of the way to the best end, without the root: a finished one if there is any."""
        ends = self.finished or self.alive
        node: int | None = max(ends, key=lambda index: self.nodes[index].score)
        way = []
        while node:
            way.append(node)
            node = self.nodes[node].parent
        return way[::-1]

    def decoded(self) -> Decoded:
        way = self.best()
        nodes = [self.nodes[index] for index in way]
        before = [self.nodes[node.parent or 0].candidates for node in nodes]
        return Decoded(
            [node.id for node in nodes],
            nodes[-1].id == self.eos_id,
            np.array([node.log_probability for node in nodes]),
            np.array([ids for ids, _ in before]),
            np.array([shares for _, shares in before], dtype=np.float32),
        )

    def tree(self, pieces: Sequence[str]) -> BeamTree:
        """The record of the whole search; `pieces` are the vocabulary's by id."""
        best = {0, *self.best()}
        nodes = (
            BeamNode(
                index=index,
                parent=node.parent,
                depth=node.depth,
                token=pieces[node.id],
                id=node.id,
                probability=float(np.exp(node.log_probability)),
                log_probability=node.total,
                score=node.score,
                status=node.status,
                best=index in best,
            )
            for index, node in enumerate(self.nodes)
        )
        return BeamTree(tuple(nodes), self.options.beam_size, self.options.length_penalty)


def _keep_rows_in_place(parents: list[int]) -> list[int]:
    """In which order these children stand, so that as many as can be have their parent's place:
    what the session keeps of a place need not be moved then."""
    first = {parent: child for child, parent in reversed([*enumerate(parents)])}
    others = iter([child for child, parent in enumerate(parents) if first[parent] != child])
    return [first[place] if place in first else next(others) for place in range(len(parents))]


def beam_search(
    session: Session,
    limits: Sequence[int],
    config: ModelConfig,
    options: Decoding,
    device: torch.device,
    prefix: Sequence[int] = (),
) -> list[Hypotheses]:
    """Search all outputs side by side; the rows of `session` are the outputs, one each. Each begins
    with `prefix`, the trunk of its tree, and is searched for from there on."""
    searches = [Hypotheses(limit, options, config.eos_id) for limit in limits]
    for one in searches:
        one.start(config.bos_id)
    allowed = Allowed(config, device)
    running = list(searches)
    ids = torch.full((len(limits),), config.bos_id, device=device)
    k = min(max(2 * options.beam_size, options.candidates), config.vocab_size - 3)
    for step in itertools.count():
        every = session.step(ids).log_softmax(dim=-1)
        best = allowed(every, [0]).topk(k, dim=-1)
        given: list[tuple[int, float]] = []
        if step < len(prefix):
            given = [(prefix[step], log) for log in every[:, prefix[step]].tolist()]
        found = best.indices.tolist(), best.values.tolist()
        running, rows, tokens = _advance(running, *found, given)
        if not running:
            break
        session.select(rows)
        ids = torch.tensor(tokens, device=device)
    return searches


def _advance(
    running: list[Hypotheses],
    best: list[list[int]],
    logs: list[list[float]],
    given: list[tuple[int, float]],
) -> tuple[list[Hypotheses], list[int], list[int]]:
    """Expand every search; the rows to go on from and the ids they read next. `given` is empty, or
    has the only continuation of every row: its id and log probability."""
    rows: list[int] = []
    tokens: list[int] = []
    still, first = [], 0
    for one in running:
        last = first + len(one.alive)
        found = best[first:last], logs[first:last], given[first] if given else None
        one.steps.append(found)
        places, new = one.expand(*found)
        if not one.done():
            still.append(one)
            rows += [first + place for place in places]
            tokens += new
        first = last
    return still, rows, tokens
