"""Traces of attention weights from any model: arrays, tensors, or outputs of `transformers`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from transformer.inference.results import StepTable, Translation
from transformer.inference.trace_tensors import WEIGHTS
from transformer.measures.kinds import AttentionKind
from transformer.measures.pieces import BEGIN, is_control, join_bytes

Weights = npt.NDArray[np.float32]
ROW_SUM_TOLERANCE = 0.02
"""Allowed difference of a row's sum from 1; a row of a few hundred bfloat16 weights needs it."""
_END, _CONTINUED, _JOIN = "</w>", "@@", "￭"
_BYTE_LEVEL_SPACE, _WORD_PIECE_CONTINUATION = "Ġ", "##"


def trace_fields(
    src_tokens: Sequence[str],
    tgt_tokens: Sequence[str] | None,
    predicted_tokens: Sequence[str] | None,
    weights_by_kind: dict[AttentionKind, Any],
    source: str,
    text: str,
    layer_numbers: Sequence[int] | None = None,
) -> dict[str, Any]:
    """Return the fields of a `Trace` for the arguments of `Trace.from_weights`. Raises ValueError
    for invalid weights, or weights that do not match the tokens or each other."""
    if isinstance(src_tokens, str) or isinstance(tgt_tokens, str):
        raise ValueError("the tokens must be a list of words or pieces, not a string")
    for token in (*src_tokens, *(tgt_tokens or ()), *(predicted_tokens or ())):
        if not isinstance(token, str):
            raise ValueError(
                f"a token must be a string, not {token!r}; tokenizer.convert_ids_to_tokens(ids) "
                "returns those of ids"
            )
    src, tgt = mark_word_starts(src_tokens), mark_word_starts(tgt_tokens or ())
    if predicted_tokens is None:  # each row predicts the token that the next row reads
        predicted = (*tgt[1:], "…") if tgt else ()
    else:
        predicted = mark_word_starts(predicted_tokens)
    if len(predicted) != len(tgt):
        raise ValueError(
            f"there are {len(predicted)} predicted tokens for {len(tgt)} target tokens"
        )
    sizes = {"encoder": (src, src), "decoder": (tgt, tgt), "cross": (tgt, src)}
    kinds = {
        kind: _checked_layers(kind, layers_of_kind, len(sizes[kind][0]), len(sizes[kind][1]))
        for kind, layers_of_kind in weights_by_kind.items()
        if layers_of_kind is not None
    }
    if not kinds:
        raise ValueError("no attention weights: pass encoder, decoder or cross weights")
    heads = {kind: len(layers[0]) for kind, layers in kinds.items()}
    if len(set(heads.values())) > 1:
        counts = ", ".join(f"{kind} {count}" for kind, count in heads.items())
        raise ValueError(f"all kinds of attention must have the same number of heads, not {counts}")
    depths = {kind: len(layers) for kind, layers in kinds.items()}
    config: dict[str, Any] = {"n_layers": max(depths.values()), "n_heads": max(heads.values())}
    if len(set(depths.values())) > 1:
        config["depths"] = depths
    if layer_numbers is not None:
        config["layer_numbers"] = [int(number) for number in layer_numbers]
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
            WEIGHTS[kind].format(layer): weights[None]
            for kind, layers in kinds.items()
            for layer, weights in enumerate(layers)
        },
    }


def mark_word_starts(tokens: Sequence[str]) -> tuple[str, ...]:
    """Return the tokens in SentencePiece notation: "▁" before each token that begins a word.

    Also reads byte-level BPE ("Ġ" begins a word, every byte is a letter; Radford et al. 2019),
    WordPiece ("##" continues a word; Wu et al. 2016), "@@" before a continuation (subword-nmt),
    "</w>" at the end of a word (Sennrich et al. 2016) and "￭", which joins to its neighbour
    (OpenNMT). Byte-level BPE of a text without a space has no mark; it is recognised if its letters
    spell line ends or characters beyond ASCII. Without any of these marks, each token is a word.
    """
    texts = [token for token in tokens if not is_control(token)]
    if any(BEGIN in token for token in texts):
        return tuple(tokens)
    if any(len(token) > len(_END) and token.endswith(_END) for token in texts):
        return _marked(tokens, lambda before, _: not before or before.endswith(_END), _END)
    if any(len(token) > len(_CONTINUED) and token.endswith(_CONTINUED) for token in texts):
        return _marked(
            tokens,
            lambda before, _: before in ("", _CONTINUED) or not before.endswith(_CONTINUED),
            _CONTINUED,
        )
    if any(_JOIN in token for token in texts):
        return _marked(
            tokens,
            lambda before, token: not before.endswith(_JOIN) and not token.startswith(_JOIN),
            _JOIN,
        )
    if _is_byte_level(tokens):
        decoded = tuple(
            token if is_control(token) else _decode_byte_level(token) for token in tokens
        )
        # Bytes that form no character together with their neighbours are left as they are.
        has_stray_byte = "\N{REPLACEMENT CHARACTER}" in join_bytes("".join(decoded))
        return tuple(
            token if has_stray_byte and "<0x" in text else text
            for token, text in zip(tokens, decoded, strict=True)
        )
    return tuple(
        token
        if is_control(token)
        else token.removeprefix(_WORD_PIECE_CONTINUATION)
        if token.startswith(_WORD_PIECE_CONTINUATION) and token != _WORD_PIECE_CONTINUATION
        else BEGIN + token
        for token in tokens
    )


def _marked(
    tokens: Sequence[str], begins: Callable[[str, str], bool], mark: str
) -> tuple[str, ...]:
    """Return the tokens without `mark`, with "▁" where `begins(token before, token)`; the token
    before is "" at the start and after a control token."""
    marked, before = [], ""
    for token in tokens:
        if is_control(token):
            marked.append(token)
            before = ""
            continue
        text = token.strip(mark) if mark == _JOIN else token.removesuffix(mark)
        marked.append((BEGIN if begins(before, token) else "") + (text or token))
        before = token
    return tuple(marked)


def _is_byte_level(tokens: Sequence[str]) -> bool:
    texts = [token for token in tokens if not is_control(token)]
    if any(token.startswith(_BYTE_LEVEL_SPACE) for token in texts):
        return True
    if any(token.startswith(_WORD_PIECE_CONTINUATION) for token in texts):
        return False
    try:
        raw = bytes(_BYTE_LEVEL_ALPHABET[letter] for letter in "".join(texts))
        # Text in Latin letters with accents is almost never valid UTF-8 when read as bytes.
        is_utf_8 = not raw.decode().isascii()
    except (KeyError, UnicodeDecodeError):
        return False
    return is_utf_8 or any(byte < 32 for byte in raw)


def _decode_byte_level(token: str) -> str:
    """Decode a token of byte-level BPE. A byte of a character that several tokens spell becomes a
    byte piece of SentencePiece, such as `<0xF0>`, which the views join."""
    try:
        raw = bytes(_BYTE_LEVEL_ALPHABET[letter] for letter in token)
    except KeyError:
        return token
    text = "".join(
        f"<0x{ord(letter) - 0xDC00:02X}>" if "\udc80" <= letter <= "\udcff" else letter
        for letter in raw.decode("utf-8", "surrogateescape")
    )
    return BEGIN + text[1:] if text.startswith(" ") else text.replace("\n", "⏎")


def _byte_level_alphabet() -> dict[str, int]:
    """Return the byte of each letter of byte-level BPE: printable bytes stand for themselves, the
    others are numbered from U+0100."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    unprintable = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {
        chr(256 + number): byte for number, byte in enumerate(unprintable)
    }


_BYTE_LEVEL_ALPHABET = _byte_level_alphabet()


def _checked_layers(kind: str, weights_by_layer: Any, rows: int, columns: int) -> list[Weights]:
    """Return the weights of every layer, each (heads, rows, columns), after checking them."""
    first_layer = (
        weights_by_layer[0]
        if isinstance(weights_by_layer, (list, tuple)) and weights_by_layer
        else None
    )
    if isinstance(first_layer, (list, tuple)) and first_layer and hasattr(first_layer[0], "ndim"):
        weights_by_layer = _stack_generated_steps(weights_by_layer)
    layers = [
        _layer_weights(kind, number, layer_weights)
        for number, layer_weights in enumerate(weights_by_layer)
    ]
    if not layers:
        raise ValueError(f"the {kind} weights contain no layer")
    for number, weights in enumerate(layers):
        location = f"{kind} layer {number}"
        if weights.shape[1:] != (rows, columns):
            raise ValueError(
                f"{location} has {' × '.join(map(str, weights.shape[1:]))} weights per head; its "
                f"tokens are {rows} × {columns}"
            )
        if len(weights) != len(layers[0]):
            raise ValueError(
                f"{location} has {len(weights)} heads, but layer 0 has {len(layers[0])}"
            )
        sums = weights.sum(axis=-1)
        if not (np.isfinite(weights).all() and (weights >= 0).all()):
            raise ValueError(f"{location} has weights that are negative, infinite or NaN")
        if np.abs(sums - 1).max() > ROW_SUM_TOLERANCE:
            worst_sum = float(sums.flat[np.abs(sums - 1).argmax()])
            raise ValueError(
                f"a row of {location} sums to {worst_sum:.3f}, not to 1: call model.eval() to turn "
                "off dropout, and remove padding or add its tokens"
            )
    return layers


def _layer_weights(kind: str, number: int, array: Any) -> Weights:
    """Return one layer's weights as (heads, rows, columns), without a batch dimension of size 1."""
    if array is None:
        raise ValueError(
            f"{kind} layer {number} has no weights; load the transformers model with "
            'attn_implementation="eager"'
        )
    if isinstance(array, torch.Tensor):
        array = array.detach().float().cpu().numpy()
    weights = np.asarray(array, dtype=np.float32)
    if weights.ndim == 4 and len(weights) == 1:
        weights = weights[0]
    if weights.ndim == 4:
        raise ValueError(
            f"{kind} layer {number} has a batch of {len(weights)}; pass one sentence only"
        )
    if weights.ndim != 3 or 0 in weights.shape:
        raise ValueError(
            f"{kind} layer {number} must be heads × rows × columns, not of shape {weights.shape}"
        )
    return weights


def _stack_generated_steps(steps: Sequence[Sequence[Any]]) -> list[Weights]:
    """Stack the output of `generate(output_attentions=True)`, a tuple of layers for each generated
    token, into one matrix per layer; positions that did not exist yet get weight 0."""
    layers = []
    for number in range(len(steps[0])):
        rows = [_layer_weights("step", number, step[number]) for step in steps]
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
    """Return a `Translation` with the text only, without decoding steps."""
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
    joined = "".join(token for token in tokens if not is_control(token) and token != "…")
    return joined.replace(BEGIN, " ").strip()
