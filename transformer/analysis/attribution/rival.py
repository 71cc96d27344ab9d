"""Why this token and not another? The rival that a contrastive question names.

Yin and Neubig 2022, "Interpreting Language Models with Contrastive Explanations"
(https://arxiv.org/abs/2202.10419), section 3: what is explained is the difference of two tokens'
logits, which is that of their log-probabilities, and no longer what both have in common.
"""

from __future__ import annotations

import operator

from transformer.inference.trace import Trace


def output_position(trace: Trace, position: int) -> int:
    """`position`, if a token was written there. Raises ValueError if none was."""
    n_tgt = len(trace.tgt_tokens)
    if not 0 <= position < n_tgt:
        raise ValueError(f"there is no position {position}; the positions are 0 to {n_tgt - 1}")
    return position


def rival(trace: Trace, position: int, against: int | str) -> int:
    """The id of a token that might have stood in the place of `trace.predicted_tokens[position]`.

    Args:
        against: an id of the vocabulary, or a piece among the candidates of that step.

    Raises:
        ValueError: for an id that there is not, a piece that is no candidate, or the token itself.
    """
    chosen = trace.predicted_ids[output_position(trace, position)]
    if isinstance(against, str):
        candidates = trace.translation.steps[position].candidates
        known = {candidate.token: candidate.id for candidate in candidates}
        if against not in known:
            raise ValueError(
                f"{against!r} is none of the candidates {', '.join(map(repr, known))}; "
                "of any other token give the id"
            )
        against = known[against]
    against, last = operator.index(against), int(trace.config["vocab_size"]) - 1
    if not 0 <= against <= last:
        raise ValueError(f"there is no token {against}; the ids are 0 to {last}")
    if against == chosen:
        raise ValueError(
            f"token {against} is the one that was written; give another one to hold it against"
        )
    return against
