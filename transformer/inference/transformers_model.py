"""The attention of one text in a model of the `transformers` library.

`transformers` is not imported: only methods of the given model and tokenizer are called.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from transformer.text.visible import is_blank

NO_WEIGHTS = (
    "this model returns no attention weights; call model.set_attn_implementation('eager') first"
)


@torch.inference_mode()
def attention_of(
    model: Any, tokenizer: Any, text: str, target: str | None = None
) -> dict[str, Any]:
    """Run the model once and return the arguments of `Trace.from_weights`.

    Args:
        model: a model of `transformers` in evaluation mode: an encoder (BERT), a decoder (GPT-2) or
            both (BART, T5, Marian, M2M100). Its attention implementation must be "eager".
        tokenizer: its tokenizer.
        target: the output of an encoder–decoder model; if None, the model generates it with its
            own settings.

    Raises:
        ValueError: for a blank text, a model in training mode, a model that returns no weights, or
            a target for a model that is not an encoder–decoder.
    """
    for name, value in (("text", text), ("target", target)):
        if value is not None and is_blank(value):
            raise ValueError(f"the {name} must not be blank, but it is {value!r}")
    if model.training:
        raise ValueError("the model is in training mode; call model.eval() first")
    inputs = tokenizer(text, return_tensors="pt").to(model.device)
    if model.config.is_encoder_decoder:
        return _encoder_decoder_attention(model, tokenizer, inputs, text, target)
    if target is not None:
        raise ValueError("this model is not an encoder–decoder; pass one text and no target")
    weights = _checked(model(**inputs, output_attentions=True).attentions)
    tokens = _tokens(tokenizer, inputs["input_ids"][0])
    if weights[0].shape[-1] == 1:  # one position attends to itself in every model
        twice = inputs["input_ids"].repeat(1, 2)
        is_causal = _is_causal(_checked(model(twice, output_attentions=True).attentions))
    else:
        is_causal = _is_causal(weights)
    if is_causal:
        return {"tgt_tokens": tokens, "decoder": weights, "text": text}
    return {"src_tokens": tokens, "encoder": weights, "source": text}


def _encoder_decoder_attention(
    model: Any, tokenizer: Any, inputs: Any, text: str, target: str | None
) -> dict[str, Any]:
    if target is None:
        generated = model.generate(**inputs)  # begins with the decoder's start token
        decoder_input, predicted = generated[:, :-1], generated[:, 1:]
    else:
        predicted = tokenizer(text_target=target, return_tensors="pt")["input_ids"].to(model.device)
        start = torch.full_like(predicted[:, :1], model.config.decoder_start_token_id)
        decoder_input = torch.cat([start, predicted[:, :-1]], dim=1)
    out = model(**inputs, decoder_input_ids=decoder_input, output_attentions=True)
    return {
        "src_tokens": _tokens(tokenizer, inputs["input_ids"][0]),
        "tgt_tokens": _tokens(tokenizer, decoder_input[0]),
        "predicted_tokens": _tokens(tokenizer, predicted[0]),
        "encoder": _checked(out.encoder_attentions),
        "decoder": _checked(out.decoder_attentions),
        "cross": _checked(out.cross_attentions),
        "source": text,
        "text": tokenizer.decode(predicted[0], skip_special_tokens=True),
    }


def _tokens(tokenizer: Any, ids: Tensor) -> list[str]:
    """Return the tokens of these ids. In byte-level BPE ("Ġ" begins a word) the first word gets a
    mark too if no other token has one, so that the tokens of a single word stay together."""
    tokens: list[str] = tokenizer.convert_ids_to_tokens(ids.tolist())
    special = set(tokenizer.all_special_tokens)
    texts = [number for number, token in enumerate(tokens) if token not in special]
    is_byte_level = any(token.startswith("Ġ") for token in tokenizer.tokenize("a a"))
    if is_byte_level and texts and not any(tokens[n].startswith("Ġ") for n in texts):
        tokens[texts[0]] = "Ġ" + tokens[texts[0]]
    return tokens


def _checked(attentions: Sequence[Tensor | None] | None) -> list[Tensor]:
    """Return one (1, heads, query, key) tensor per layer."""
    weights = [layer for layer in attentions or () if layer is not None]
    if not weights:
        raise ValueError(NO_WEIGHTS)
    return weights


def _is_causal(weights: Sequence[Tensor]) -> bool:
    """Return whether no position attends to a later one, in any layer."""
    return all(not layer.triu(diagonal=1).any() for layer in weights)
