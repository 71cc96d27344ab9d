"""The boxes of the paper's Figure 1 in the order in which a sentence passes through them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from transformer.analysis.inside.attention_texts import ATTENTION
from transformer.analysis.inside.box_texts import EMBED, FEED_FORWARD, MEMORY, OUTPUT, BoxText
from transformer.config import ModelConfig, did_you_mean


@dataclass(frozen=True)
class Box:
    """One box of the figure; `opened_box` computes its numbers.

    Attributes:
        name: its location in the model, such as "encoder.0.self_attn.query".
        title: one or two words, for the box itself.
        step: the last part of the name: the operation, whatever the layer.
        stack: "encoder", "decoder" or "output".
        layer: from 0; None outside the layers.
        block: the part of the stack: "embed", "self_attn", "cross_attn", "ffn", "memory" or
            "output". The sum and norm after a sublayer belong to its block.
        by_head: whether its panels show one head at a time.
        section: of the paper.
        equation: LaTeX.
        explanation: Markdown.
        axes: symbols of its output's axes, such as ("n_heads", "tgt", "d_k").
        shape: the axes and their sizes in this model, "n_heads × tgt × d_k = 8 × tgt × 32".
        site: name of the hook that records the output; "" if there is none.
        before, after: names of the previous and next box; "" at the ends.
    """

    name: str
    title: str
    step: str
    stack: str
    layer: int | None
    block: str
    by_head: bool
    section: str
    equation: str
    explanation: str
    axes: tuple[str, ...]
    shape: str
    site: str
    before: str = ""
    after: str = ""


@lru_cache(maxsize=32)
def boxes(config: ModelConfig) -> tuple[Box, ...]:
    """Return every box, encoder first, then decoder and output."""
    unlinked = list(_unlinked_boxes(config))
    names = ["", *(box.name for box in unlinked), ""]
    return tuple(
        replace(box, before=names[k], after=names[k + 2]) for k, box in enumerate(unlinked)
    )


def box_named(config: ModelConfig, name: str) -> Box:
    """Return a box by name. Raises ValueError for an unknown name, suggesting similar ones."""
    by_name = {box.name: box for box in boxes(config)}
    if name not in by_name:
        raise ValueError(f"the model has no box {name!r}{did_you_mean(name, by_name)}")
    return by_name[name]


def written_shape(axes: Sequence[str], config: ModelConfig, **lengths: int) -> str:
    """Format a shape: "src × d_model = 6 × 256"; an axis of unknown length remains a symbol."""
    sizes = {
        "n_heads": config.n_heads,
        "d_k": config.d_k,
        "d_model": config.d_model,
        "d_ff": config.d_ff,
        "vocab": config.vocab_size,
        **lengths,
    }
    return f"{' × '.join(axes)} = {' × '.join(str(sizes.get(axis, axis)) for axis in axes)}"


def _unlinked_boxes(config: ModelConfig) -> Iterator[Box]:
    """Yield the boxes in order, without `before` and `after`."""
    for stack, length in (("encoder", "src"), ("decoder", "tgt")):
        yield from _block_boxes(config, EMBED, stack, None, "embed", {"L": length})
        for layer in range(config.n_layers):
            kinds = ["self_attn"] if stack == "encoder" else ["self_attn", "cross_attn"]
            for block in kinds:
                keys = "src" if block == "cross_attn" else length
                yield from _block_boxes(
                    config, ATTENTION, stack, layer, block, {"L": length, "K": keys}
                )
            yield from _block_boxes(config, FEED_FORWARD, stack, layer, "ffn", {"L": length})
        if stack == "encoder":
            yield from _block_boxes(config, MEMORY, stack, None, "memory", {"L": length})
    yield from _block_boxes(config, OUTPUT, "output", None, "output", {"L": "tgt"})


def _block_boxes(
    config: ModelConfig,
    texts: Sequence[BoxText],
    stack: str,
    layer: int | None,
    block: str,
    lengths: dict[str, str],
) -> Iterator[Box]:
    stack_path = stack if layer is None else f"{stack}.{layer}"
    prefix = stack_path if block in ("memory", "output") else f"{stack_path}.{block}"
    module = prefix if layer is None else f"{stack}.layers.{layer}.{block}"
    for text in texts:
        axes = tuple(lengths.get(axis, axis) for axis in text.axes)
        kind = f"{stack}.{block}"
        yield Box(
            name=f"{prefix}.{text.step}",
            title=text.title,
            step=text.step,
            stack=stack,
            layer=layer,
            block=block,
            by_head=text.by_head,
            section=text.section,
            equation=_select_text(text.equation, config, kind),
            explanation=_select_text(text.explanation, config, kind),
            axes=axes,
            shape=written_shape(axes, config),
            site=text.site.format(module=module),
        )


def _select_text(text: str | dict[str, str], config: ModelConfig, kind: str) -> str:
    """Return the text for this model, or for this kind of attention."""
    if isinstance(text, str):
        return text
    keys: list[str] = [config.score, config.positions, config.activation]
    if config.biases:
        keys += [f"{kind}, biased", "biased"]
    if config.output_bias:
        keys.append("output biased")
    if not config.scale_embedding:
        keys.append("unscaled")
    return next(text[key] for key in (*keys, kind, "") if key in text)
