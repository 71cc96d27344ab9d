"""Speculative decoding of one output, exactly: drafted in eight bits, verified in float32.

The whole draft is verified by one pass of the model over all its positions at once, which takes
about as long as a few steps. Up to the first position where the exact logits choose another
token the draft is what exact decoding would have given; from there on it is drafted again.
(Leviathan et al. 2023 do this by samples; here the choice is a function of the logits.)
The pass that confirms the output is a teacher-forced pass like that of a trace, and serves as it.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from transformer.config import ModelConfig
from transformer.inference.greedy import Allowed, Choose, forced
from transformer.inference.single_output import SingleSession
from transformer.inference.step_logits import Decoded

CORRECTIONS = 3
"""After so many the draft is no help for this text."""

Verify = Callable[[list[int]], Float[Tensor, "tgt vocab"]]
"""Exact logits that each of these ids is chosen from."""


def speculative(
    session: SingleSession,
    verify: Verify,
    choose: Choose,
    limit: int,
    config: ModelConfig,
    *,
    candidates: int,
    min_len: int = 0,
) -> Decoded | None:
    """What exact decoding gives, or None if the draft was wrong too often.

    Arguments are those of `greedy.search`. The last call of `verify` is with the ids returned,
    unless the draft went past their end.
    """
    device = session.cache.device
    allowed = Allowed(config, device, min_len)
    ids: list[int] = []
    for _ in range(CORRECTIONS + 1):
        _draft(session, ids, choose, limit, allowed)
        exact = verify(ids)
        steps = list(range(len(ids)))
        right = choose(allowed(exact, steps), steps, [0] * len(ids)).tolist()
        if ids == right:
            return forced(exact, ids, config, candidates)
        wrong = next(i for i in steps if ids[i] != right[i])
        ids = [*ids[:wrong], right[wrong]]
        if ids[-1] == config.eos_id or len(ids) == limit:
            return forced(exact[: len(ids)], ids, config, candidates)
        session.rewind(len(ids))
    return None


def _draft(
    session: SingleSession,
    ids: list[int],
    choose: Choose,
    limit: int,
    allowed: Allowed,
) -> None:
    """Draft on from `ids`, in place, until `</s>` or the limit."""
    config, device = allowed.config, session.cache.device
    logits = torch.empty(1, config.vocab_size, device=device)
    last = torch.tensor([ids[-1] if ids else config.bos_id], device=device)
    for step in range(len(ids), limit):
        session.step(last, logits)
        last = choose(allowed(logits, [step]), [step], [0])
        ids.append(int(last))
        if ids[-1] == config.eos_id:
            return
