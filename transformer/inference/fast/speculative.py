"""Exact speculative decoding of one output: drafted with int8 weights, verified in float32.

One pass of the model over all positions verifies the whole draft, which takes about as long as a
few steps. Up to the first position where the exact logits choose another token the draft equals
exact decoding; from there on it is drafted again. (Leviathan et al. 2023 verify samples; here the
choice is a deterministic function of the logits.) The pass that confirms the output is a
teacher-forced pass, so a trace can be recorded in it.
"""

from __future__ import annotations

import torch

from transformer.config import ModelConfig
from transformer.inference.backend import Verify
from transformer.inference.fast.batch_session import BatchSession
from transformer.inference.search import TokenChooser, TokenMask, record_forced
from transformer.inference.step_logits import DecodedSequence

MAX_CORRECTIONS = 3
"""Maximum corrections of a draft before speculative decoding of this text is given up."""


def speculative_decode(
    session: BatchSession,
    verify: Verify,
    choose: TokenChooser,
    limit: int,
    config: ModelConfig,
    *,
    candidates: int,
    min_len: int = 0,
) -> DecodedSequence | None:
    """Return the same output as exact decoding, or None if the draft was wrong too often.

    Arguments are those of `search.search`. The last call of `verify` receives the returned ids,
    unless the draft was longer.
    """
    device = session.cache.device
    token_mask = TokenMask(config, device, min_len)
    ids: list[int] = []
    for _ in range(MAX_CORRECTIONS + 1):
        _draft(session, ids, choose, limit, token_mask)
        exact_logits = verify(ids)
        steps = list(range(len(ids)))
        exact_ids = choose(token_mask(exact_logits, steps), steps, [0] * len(ids)).tolist()
        if ids == exact_ids:
            return record_forced(exact_logits, ids, config, candidates)
        first_error = next(i for i in steps if ids[i] != exact_ids[i])
        ids = [*ids[:first_error], exact_ids[first_error]]
        if ids[-1] == config.eos_id or len(ids) == limit:
            return record_forced(exact_logits[: len(ids)], ids, config, candidates)
        session.rewind(len(ids))
    return None


def _draft(
    session: BatchSession, ids: list[int], choose: TokenChooser, limit: int, token_mask: TokenMask
) -> None:
    """Extend `ids` in place until `</s>` or the limit."""
    config, device = token_mask.config, session.cache.device
    last_ids = torch.tensor([ids[-1] if ids else config.bos_id], device=device)
    for step in range(len(ids), limit):
        last_ids = choose(token_mask(session.step(last_ids), [step]), [step], [0])
        ids.append(int(last_ids))
        if ids[-1] == config.eos_id:
            return
