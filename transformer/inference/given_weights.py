"""A trace of attention that any model computed: arrays, tensors, or what `transformers` gives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from transformer.inference.results import StepTable, Translation
from transformer.measures.pieces import BEGIN, CONTROL

Weights = npt.NDArray[np.float32]
ROUNDING = 0.02
"""How far a row may be from a sum of 1: one of some hundred weights in bfloat16."""
_BYTE_LEVEL, _WORD_PIECE = "Ġ", "##"


def trace_parts(
    src_tokens: Sequence[str],
    tgt_tokens: Sequence[str] | None,
    predicted_tokens: Sequence[str] | None,
    given: dict[str, Any],
    source: str,
    text: str,
) -> dict[str, Any]:
    """The fields of a `Trace`, as `Trace.from_weights` takes what is given. Raises ValueError for
    weights that are none, or that do not fit the tokens or each other."""
    if isinstance(src_tokens, str) or isinstance(tgt_tokens, str):
        raise ValueError("the tokens must be a list of words or pieces, not one text")
    src, tgt = spelled(src_tokens), spelled(tgt_tokens or ())
    if predicted_tokens is None:  # what a row went on to is what stands in the next one
        predicted = (*tgt[1:], "…") if tgt else ()
    else:
        predicted = spelled(predicted_tokens)
    if len(predicted) != len(tgt):
        raise ValueError(
            f"there are {len(predicted)} predicted tokens for {len(tgt)} of the target"
        )
    sizes = {"encoder": (src, src), "decoder": (tgt, tgt), "cross": (tgt, src)}
    kinds = {
        kind: _layers(kind, what, len(sizes[kind][0]), len(sizes[kind][1]))
        for kind, what in given.items()
        if what is not None
    }
    if not kinds:
        raise ValueError("there is no attention in it: give encoder, decoder or cross weights")
    heads = {kind: len(layers[0]) for kind, layers in kinds.items()}
    if len(set(heads.values())) > 1:
        said = ", ".join(f"{kind} {count}" for kind, count in heads.items())
        raise ValueError(f"all kinds must have as many heads a layer; here are {said}")
    depths = {kind: len(layers) for kind, layers in kinds.items()}
    config: dict[str, Any] = {"n_layers": max(depths.values()), "n_heads": max(heads.values())}
    if len(set(depths.values())) > 1:
        config["depths"] = depths
    return {
        "src_tokens": src,
        "tgt_tokens": tgt,
        "predicted_tokens": predicted,
        "src_ids": tuple(range(len(src))),
        "tgt_ids": tuple(range(len(tgt))),
        "predicted_ids": tuple(range(len(predicted))),
        "config": {**config, "d_model": 0, "score": ""},
        "translation": _translation(src, predicted, source, text),
        "tensors": {
            (kind, layer): weights[None]
            for kind, layers in kinds.items()
            for layer, weights in enumerate(layers)
        },
    }


def spelled(tokens: Sequence[str]) -> tuple[str, ...]:
    """Tokens with "▁" before each that begins a word, in whichever of three ways they said so.

    Byte-level BPE ("Ġ" begins a word, every byte is a letter; Radford et al. 2019) and WordPiece
    ("##" goes on with one; Wu et al. 2016) are read too. Where no token says anything, each is a
    word.
    """
    if any(BEGIN in token for token in tokens):
        return tuple(tokens)
    if any(token.startswith(_BYTE_LEVEL) for token in tokens):
        return tuple(token if token in CONTROL else _of_bytes(token) for token in tokens)
    return tuple(
        token
        if token in CONTROL
        else token.removeprefix(_WORD_PIECE)
        if token.startswith(_WORD_PIECE) and token != _WORD_PIECE
        else BEGIN + token
        for token in tokens
    )


def _of_bytes(token: str) -> str:
    """A token of byte-level BPE as text; what is not whole letters keeps the signs of its bytes."""
    try:
        text = bytes(_BYTES[letter] for letter in token).decode()
    except (KeyError, UnicodeDecodeError):
        return token
    return BEGIN + text[1:] if text.startswith(" ") else text.replace("\n", "⏎")


def _letters_of_bytes() -> dict[str, int]:
    """Printable bytes are their own letter, the others the letters from 256 on, in order."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {
        chr(256 + number): byte for number, byte in enumerate(others)
    }


_BYTES = _letters_of_bytes()


def _layers(kind: str, given: Any, rows: int, columns: int) -> list[Weights]:
    """Every layer's weights, (heads, rows, columns), checked."""
    first = given[0] if isinstance(given, (list, tuple)) and given else None
    if isinstance(first, (list, tuple)) and first and hasattr(first[0], "ndim"):
        given = _of_steps(given)
    layers = [_one(kind, number, one) for number, one in enumerate(given)]
    if not layers:
        raise ValueError(f"the {kind} weights have no layer")
    for number, weights in enumerate(layers):
        where = f"{kind} layer {number}"
        if weights.shape[1:] != (rows, columns):
            raise ValueError(
                f"{where} has {' × '.join(map(str, weights.shape[1:]))} weights a head; its tokens "
                f"are {rows} × {columns}"
            )
        if len(weights) != len(layers[0]):
            raise ValueError(f"{where} has {len(weights)} heads, and layer 0 {len(layers[0])}")
        sums = weights.sum(axis=-1)
        if not (np.isfinite(weights).all() and (weights >= 0).all()):
            raise ValueError(f"{where} has weights that are negative or no numbers")
        if np.abs(sums - 1).max() > ROUNDING:
            far = float(sums.flat[np.abs(sums - 1).argmax()])
            raise ValueError(
                f"a row of {where} sums to {far:.3f}, not to 1: was there dropout (model.eval()), "
                "or padding that is not among the tokens?"
            )
    return layers


def _one(kind: str, number: int, given: Any) -> Weights:
    """One layer's weights without a batch of one."""
    if given is None:
        raise ValueError(
            f"{kind} layer {number} has no weights; transformers gives them where the model was "
            'made with attn_implementation="eager"'
        )
    if isinstance(given, torch.Tensor):
        given = given.detach().float().cpu().numpy()
    weights = np.asarray(given, dtype=np.float32)
    if weights.ndim == 4 and len(weights) == 1:
        weights = weights[0]
    if weights.ndim == 4:
        raise ValueError(
            f"{kind} layer {number} has a batch of {len(weights)}; give one sentence's, [:, n]"
        )
    if weights.ndim != 3 or 0 in weights.shape:
        raise ValueError(
            f"{kind} layer {number} must be heads × rows × columns, not of shape {weights.shape}"
        )
    return weights


def _of_steps(steps: Sequence[Sequence[Any]]) -> list[Weights]:
    """What `generate(output_attentions=True)` gives back, a tuple of layers for each token that was
    written: their rows under each other, with 0 for what was not there yet."""
    layers = []
    for number in range(len(steps[0])):
        rows = [_one("step", number, step[number]) for step in steps]
        width = max(row.shape[-1] for row in rows)
        layers.append(
            np.concatenate(
                [np.pad(row, ((0, 0), (0, 0), (0, width - row.shape[-1]))) for row in rows], axis=1
            )
        )
    return layers


def _translation(
    src: tuple[str, ...], predicted: tuple[str, ...], source: str, text: str
) -> Translation:
    """What is known of how the text came about: nothing but the text."""
    return Translation(
        source=source or _text(src),
        src_ids=tuple(range(len(src))),
        src_tokens=src,
        text=text or _text(predicted),
        ids=(),
        tokens=(),
        finished=True,
        log_probability=0.0,
        score=0.0,
        method="forced",
        table=StepTable((), (), [], [], []),
    )


def _text(tokens: tuple[str, ...]) -> str:
    said = "".join(token for token in tokens if token not in CONTROL and token != "…")
    return said.replace(BEGIN, " ").strip()
