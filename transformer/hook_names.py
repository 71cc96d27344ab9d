"""Names of hook points: wildcards, and TransformerLens' names for the same tensors.

`encoder.blocks.0.attn.hook_pattern` is another name of `encoder.layers.0.self_attn.hook_weights`.
`docs/python.md` has the whole table.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache
from types import MappingProxyType

from transformer.config import did_you_mean

NamesFilter = str | Iterable[str] | Callable[[str], bool] | None
"""Which hook points: one name or pattern, several, a test of a name, or None for all."""

_ATTENTION = {
    "hook_q": "hook_query",
    "hook_k": "hook_key",
    "hook_v": "hook_value",
    "hook_attn_scores": "hook_scores",
    "hook_pattern": "hook_weights",
    "hook_z": "hook_heads",
}
_BLOCK = {
    **{
        f"attn.{lens_name}": f"self_attn.{hook_name}" for lens_name, hook_name in _ATTENTION.items()
    },
    "hook_attn_out": "self_attn.hook_output",
    "mlp.hook_post": "ffn.hook_hidden",
    "hook_mlp_out": "ffn.hook_output",
    "hook_resid_post": "ffn_norm.hook_output",
}
_DECODER_BLOCK = {
    **_BLOCK,
    **{
        f"cross_attn.{lens_name}": f"cross_attn.{hook_name}"
        for lens_name, hook_name in _ATTENTION.items()
    },
    "hook_cross_attn_out": "cross_attn.hook_output",
}
_EMBED = {"hook_embed": "embed.hook_tokens", "hook_pos_embed": "embed.hook_positions"}


@cache
def aliases(n_layers: int) -> Mapping[str, str]:
    """Return TransformerLens' names for a model of this depth, each with its hook point name.

    `hook_resid_mid` is missing: for post-norm models, TransformerLens uses it for different tensors
    in its encoder-decoder classes and in its BERT class.
    """
    names: dict[str, str] = {}
    for stack, block in (("encoder", _BLOCK), ("decoder", _DECODER_BLOCK)):
        names |= {
            f"{stack}.{lens_name}": f"{stack}.{hook_name}"
            for lens_name, hook_name in _EMBED.items()
        }
        stream = f"{stack}.embed.hook_output"
        for layer in range(n_layers):
            path = f"{stack}.blocks.{layer}."
            names[f"{path}hook_resid_pre"] = stream
            stream = f"{stack}.layers.{layer}.ffn_norm.hook_output"
            names |= {
                path + lens_name: f"{stack}.layers.{layer}.{hook_name}"
                for lens_name, hook_name in block.items()
            }
    return MappingProxyType(names)


def from_first_layer(name: str, n_layers: int) -> str:
    """Return a name or pattern with its negative layer counted from the first one.

    `decoder.layers.-1` is the last layer. A number beyond the first layer is not replaced."""

    def replaced(match: re.Match[str]) -> str:
        layer = n_layers - int(match[2])
        return f"{match[1]}{layer}" if layer >= 0 else match[0]

    return re.sub(r"(\b(?:layers|blocks)\.)-(\d+)\b", replaced, name)


def canonical(name: str, n_layers: int) -> str:
    """Return the hook point's name in this package, from that name or an alias.

    Either may have a negative layer."""
    name = from_first_layer(name, n_layers)
    return aliases(n_layers).get(name, name)


def matching(pattern: str, hook_names: Sequence[str]) -> list[str]:
    """Return the hook points that match a name or pattern, in the order of `hook_names`.

    Args:
        pattern: a hook point's name or an alias; `*`, `?` and `[…]` match as in `fnmatch`, and `*`
            matches dots as well. A negative layer counts from the last (`from_first_layer`).
        hook_names: all hook points of the model.

    Raises:
        ValueError: if no hook point matches; the message has similar names.
    """
    alias_names = aliases(_depth(hook_names))
    pattern = from_first_layer(pattern, _depth(hook_names))
    if pattern in alias_names and alias_names[pattern] in hook_names:
        return [alias_names[pattern]]
    matches = {name for name in hook_names if name == pattern or fnmatchcase(name, pattern)}
    matches |= {
        hook_name for alias, hook_name in alias_names.items() if fnmatchcase(alias, pattern)
    }
    matched = [name for name in hook_names if name in matches]
    if not matched:
        raise ValueError(
            f"the model has no hook {pattern!r}{_hint(pattern, hook_names, alias_names)}"
        )
    return matched


def select(names_filter: NamesFilter, hook_names: Sequence[str]) -> tuple[str, ...]:
    """Return the hook points that a filter accepts: those of a list in its order, else in that of
    `hook_names`. A function is called with the name and every alias; one True is enough.

    Raises:
        ValueError: for a name or pattern that matches nothing, or a function that accepts nothing.
    """
    if names_filter is None:
        return tuple(hook_names)
    if not callable(names_filter):
        patterns = [names_filter] if isinstance(names_filter, str) else names_filter
        return tuple(
            dict.fromkeys(name for pattern in patterns for name in matching(pattern, hook_names))
        )
    accepted = {name for name in hook_names if names_filter(name)}
    accepted |= {
        hook_name for alias, hook_name in aliases(_depth(hook_names)).items() if names_filter(alias)
    }
    if not accepted:
        raise ValueError("the filter accepts no hook point; model.hook_names lists them all")
    return tuple(name for name in hook_names if name in accepted)


def _depth(hook_names: Iterable[str]) -> int:
    layers = (re.search(r"\.layers\.(\d+)\.", name) for name in hook_names)
    return max((int(match[1]) + 1 for match in layers if match), default=0)


def _hint(pattern: str, hook_names: Sequence[str], alias_names: Mapping[str, str]) -> str:
    """Return similar names, or where all names are listed."""
    names = list(alias_names) if ".blocks." in pattern else list(hook_names)
    if re.search(r"[*?[]", pattern):
        names = list(dict.fromkeys(re.sub(r"\.\d+\.", ".*.", name) for name in names))
    return did_you_mean(pattern, names) or "; model.hook_names lists them all"
