"""Dimensions of the tensor at each hook point, from its name."""

from __future__ import annotations

_STACKS = {"encoder": "src", "decoder": "tgt"}


def hook_axes(name: str) -> tuple[str, ...]:
    """Return the dimensions of one sentence's tensor at a hook point, without the batch.

    "head", "src" and "tgt" (positions), "src_key" and "tgt_key" (positions as keys of
    self-attention), "d_k", "d_ff", "d_model" and "vocab":

        hook_axes("decoder.layers.0.cross_attn.hook_weights")  # ("head", "tgt", "src")

    Args:
        name: one of `model.hook_names`; aliases are not known here.

    Raises:
        ValueError: for a name that does not begin with a stack and is not "hook_logits".
    """
    if name == "hook_logits":
        return "tgt", "vocab"
    stack, _, path = name.partition(".")
    if stack not in _STACKS:
        raise ValueError(f"hook points begin with encoder., decoder. or hook_logits, not {name!r}")
    query = _STACKS[stack]
    module, _, site = path.rpartition(".")
    if module.endswith("_attn"):
        # The keys of cross-attention are the source's positions.
        key, key_axis = ("src", "src") if module.endswith("cross_attn") else (query, f"{query}_key")
        attention: dict[str, tuple[str, ...]] = {
            "hook_query": ("head", query, "d_k"),
            "hook_key": ("head", key, "d_k"),
            "hook_value": ("head", key, "d_k"),
            "hook_scores": ("head", query, key_axis),
            "hook_weights": ("head", query, key_axis),
            "hook_heads": ("head", query, "d_k"),
        }
        if site in attention:
            return attention[site]
    return query, "d_ff" if site == "hook_hidden" else "d_model"
