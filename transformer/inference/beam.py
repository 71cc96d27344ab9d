"""Beam search with the length penalty of Wu et al. 2016 (the paper's section 6.1), and its tree."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import torch

from transformer.config import ModelConfig
from transformer.inference.next_tokens import DecodedSequence
from transformer.inference.options import Decoding
from transformer.inference.results import BeamNode, BeamTree, NodeStatus, length_penalty
from transformer.inference.sessions import Session


@dataclass
class SearchNode:
    """Mutable `BeamNode` used during the search."""

    parent: int | None
    depth: int
    id: int
    log_probability: float
    total: float  # log probability of the whole hypothesis
    score: float
    status: NodeStatus = "discarded"
    candidates: tuple[list[int], list[float]] = ([], [])  # after this node: ids, probabilities


StepCandidates = tuple[list[list[int]], list[list[float]], tuple[int, float] | None]
"""Candidates of one step: for each active hypothesis ids and log probabilities, best first; and the
forced id with its log probability, if the step is inside a prefix."""


@dataclass
class Hypotheses:
    """Beam search of one output: its tree, and the node indices of active and finished hypotheses.

    `steps` stores the candidates of every step, so that the search can be replayed without running
    the model.
    """

    limit: int
    options: Decoding
    eos_id: int
    nodes: list[SearchNode] = field(default_factory=list)
    active: list[int] = field(default_factory=list)
    finished: list[int] = field(default_factory=list)
    steps: list[StepCandidates] = field(default_factory=list)

    def start(self, bos_id: int) -> None:
        self.nodes, self.active = [SearchNode(None, 0, bos_id, 0.0, 0.0, 0.0, "kept")], [0]

    def expand(
        self,
        candidate_ids: list[list[int]],
        candidate_log_probs: list[list[float]],
        forced: tuple[int, float] | None = None,
    ) -> tuple[list[int], list[int]]:
        """Extend every active hypothesis by its candidates, which are sorted by probability.

        The 2 · beam_size best continuations become nodes. That is enough, since each parent has one
        `</s>`. A `</s>` among the first `beam_size` finishes a hypothesis; of the other
        continuations the best `beam_size` stay active. With `forced`, an id and its log
        probability, the only active hypothesis is extended by that id alone.

        Returns the rows (indices among the active hypotheses) of the parents, and the new ids.
        """
        beam, depth = self.options.beam_size, self.nodes[self.active[0]].depth + 1
        continuations = [
            (self.nodes[parent].total + log_prob, row, id, log_prob)
            for row, parent in enumerate(self.active)
            for id, log_prob in zip(candidate_ids[row], candidate_log_probs[row], strict=True)
            if log_prob > -np.inf
        ]
        if forced is not None:
            continuations = [(self.nodes[self.active[0]].total + forced[1], 0, *forced)]
        continuations.sort(key=lambda continuation: -continuation[0])
        for row, parent in enumerate(self.active):
            k = self.options.candidates
            probabilities = [float(np.exp(log_prob)) for log_prob in candidate_log_probs[row][:k]]
            self.nodes[parent].candidates = (candidate_ids[row][:k], probabilities)
        penalty = length_penalty(depth, self.options.length_penalty)
        parent_rows: list[int] = []
        active: list[int] = []
        for rank, (total, row, id, log_prob) in enumerate(continuations[: 2 * beam]):
            node = SearchNode(self.active[row], depth, id, log_prob, total, total / penalty)
            if id == self.eos_id:
                if rank < beam:
                    node.status = "finished"
                    self.finished.append(len(self.nodes))
            elif len(active) < beam:
                node.status = "kept"
                active.append(len(self.nodes))
                parent_rows.append(row)
            self.nodes.append(node)
        if len(parent_rows) == len(self.active):
            order = _keep_rows_in_place(parent_rows)
            parent_rows, active = [parent_rows[n] for n in order], [active[n] for n in order]
        self.active = active
        return parent_rows, [self.nodes[index].id for index in active]

    def done(self) -> bool:
        """Return whether the search can stop.

        It stops at the length limit, or when no active hypothesis can overtake the best finished
        one: its log probability can only fall, and `bound` is the largest length penalty that it
        could still be divided by. A beam of one stops at the first `</s>`, as greedy search does.
        """
        if not self.active or self.nodes[self.active[0]].depth >= self.limit:
            return True
        if not self.finished:
            return False
        if self.options.beam_size == 1:
            return True
        alpha, depth = self.options.length_penalty, self.nodes[self.active[0]].depth
        bound = max(length_penalty(depth + 1, alpha), length_penalty(self.limit, alpha))
        best_active = max(self.nodes[index].total for index in self.active) / bound
        return max(self.nodes[index].score for index in self.finished) >= best_active

    def with_length_penalty(self, penalty: float) -> Hypotheses | None:
        """Replay this search with another length penalty, without the model.

        The penalty decides when a search stops and which hypothesis wins, never the candidates of a
        step. Returns None if the new search needs more steps than were recorded.
        """
        options = replace(self.options, length_penalty=penalty)
        replayed = Hypotheses(self.limit, options, self.eos_id, steps=self.steps)
        replayed.start(self.nodes[0].id)
        for candidates in self.steps:
            replayed.expand(*candidates)
            if replayed.done():
                return replayed
        return None

    def best(self) -> list[int]:
        """Return the node indices of the hypothesis with the highest score, without the root.

        An unfinished hypothesis counts only at the length limit, or if none is finished.
        """
        last_nodes = self.finished or self.active
        if self.active and self.nodes[self.active[0]].depth >= self.limit:
            last_nodes = self.finished + self.active
        node: int | None = max(last_nodes, key=lambda index: self.nodes[index].score)
        path = []
        while node:
            path.append(node)
            node = self.nodes[node].parent
        return path[::-1]

    def decoded(self) -> DecodedSequence:
        path = self.best()
        nodes = [self.nodes[index] for index in path]
        candidates_before = [self.nodes[node.parent or 0].candidates for node in nodes]
        return DecodedSequence(
            [node.id for node in nodes],
            nodes[-1].id == self.eos_id,
            np.array([node.log_probability for node in nodes]),
            np.array([ids for ids, _ in candidates_before]),
            np.array([probabilities for _, probabilities in candidates_before], dtype=np.float32),
        )

    def tree(self, pieces: Sequence[str]) -> BeamTree:
        """Return the whole search as a `BeamTree`; `pieces[id]` is the token of an id."""
        best_path = {0, *self.best()}
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
                best=index in best_path,
            )
            for index, node in enumerate(self.nodes)
        )
        return BeamTree(tuple(nodes), self.options.beam_size, self.options.length_penalty)


def _keep_rows_in_place(parents: list[int]) -> list[int]:
    """Order children so that as many as possible take the row of their parent.

    The session then has fewer keys and values to move. `parents[i]` is the row of child i's parent.
    """
    first_child = {parent: child for child, parent in reversed([*enumerate(parents)])}
    remaining = iter(
        [child for child, parent in enumerate(parents) if first_child[parent] != child]
    )
    return [
        first_child[row] if row in first_child else next(remaining) for row in range(len(parents))
    ]


def beam_search(
    session: Session,
    limits: Sequence[int],
    config: ModelConfig,
    options: Decoding,
    device: torch.device,
    prefix: Sequence[int] = (),
) -> list[Hypotheses]:
    """Search all outputs in one batch; at the start `session` has one row for each output.

    Every output begins with `prefix`, which is the trunk of its tree.
    """
    searches = [Hypotheses(limit, options, config.eos_id) for limit in limits]
    for hypotheses in searches:
        hypotheses.start(config.bos_id)
    running = list(searches)
    ids = torch.full((len(limits),), config.bos_id, device=device)
    k = max(2 * options.beam_size, options.candidates)
    for step in itertools.count():
        next_tokens = session.step(ids, k)
        forced: list[tuple[int, float]] = []
        if step < len(prefix):
            log_probs = next_tokens.log_probabilities[:, prefix[step]].tolist()
            forced = [(prefix[step], log_prob) for log_prob in log_probs]
        candidates = next_tokens.top_ids.tolist(), next_tokens.top_log_probabilities.tolist()
        running, rows, tokens = _advance(running, *candidates, forced)
        if not running:
            break
        session.select(rows)
        ids = torch.tensor(tokens, device=device)
    return searches


def _advance(
    running: list[Hypotheses],
    candidate_ids: list[list[int]],
    candidate_log_probs: list[list[float]],
    forced: list[tuple[int, float]],
) -> tuple[list[Hypotheses], list[int], list[int]]:
    """Expand every running search by one step.

    `forced` is empty, or holds the only continuation of every row: its id and log probability.
    Returns the unfinished searches, the rows they continue from and the ids they read next.
    """
    rows: list[int] = []
    tokens: list[int] = []
    unfinished, start = [], 0
    for search in running:
        stop = start + len(search.active)
        candidates = (
            candidate_ids[start:stop],
            candidate_log_probs[start:stop],
            forced[start] if forced else None,
        )
        search.steps.append(candidates)
        parent_rows, next_ids = search.expand(*candidates)
        if not search.done():
            unfinished.append(search)
            rows += [start + row for row in parent_rows]
            tokens += next_ids
        start = stop
    return unfinished, rows, tokens
