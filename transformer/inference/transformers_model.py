"""The attention of one text in a model of the `transformers` library.

`transformers` is not imported: only methods of the given model and tokenizer are called.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from transformer.inference.external_weights import ROW_SUM_TOLERANCE
from transformer.measures.pieces import is_control
from transformer.text.visible import is_blank

Result = TypeVar("Result")
_BRACKETS = re.compile(r"[<>|\s]+")
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
        ValueError: for a blank text, one that is too long for the model or has tokens that the
            model lacks, a model in training mode, one without attention or with attention sinks,
            or a target for a model that is not an encoder–decoder.
    """
    for name, value in (("text", text), ("target", target)):
        if value is not None and is_blank(value):
            raise ValueError(f"the {name} must not be blank, but it is {value!r}")
    if model.training:
        raise ValueError("the model is in training mode; call model.eval() first")
    inputs = _accepted_inputs(model, tokenizer(text, return_tensors="pt").to(model.device))
    if getattr(model.config, "is_encoder_decoder", False):
        return _encoder_decoder_attention(model, tokenizer, inputs, text, target)
    if target is not None:
        raise ValueError("this model is not an encoder–decoder; pass one text and no target")
    ids = inputs["input_ids"]
    _check_ids(model, tokenizer, ids)
    weights, numbers = _attentions(model, _run(model, **inputs), "attentions")
    tokens = _tokens(tokenizer, ids[0])
    if weights[0].shape[-1] == 1:  # one position attends to itself in every model
        twice = _run(model, input_ids=ids.repeat(1, 2))
        is_causal = _is_causal(_attentions(model, twice, "attentions")[0])
    else:
        is_causal = _is_causal(weights)
    arguments = (
        {"tgt_tokens": tokens, "decoder": weights, "text": text}
        if is_causal
        else {"src_tokens": tokens, "encoder": weights, "source": text}
    )
    return arguments | ({"layer_numbers": numbers} if numbers else {})


def _encoder_decoder_attention(
    model: Any, tokenizer: Any, inputs: dict[str, Tensor], text: str, target: str | None
) -> dict[str, Any]:
    _check_ids(model.get_encoder(), tokenizer, inputs["input_ids"])
    if target is None:
        # One sequence of ids, which begins with the decoder's start token.
        generated = _explained(
            "the model generates no output",
            lambda: model.generate(
                **inputs,
                num_return_sequences=1,
                return_dict_in_generate=False,
                output_attentions=False,
                output_hidden_states=False,
                output_scores=False,
                output_logits=False,
            ),
        )
        decoder_input, predicted = generated[:, :-1], generated[:, 1:]
    else:
        predicted = tokenizer(text_target=target, return_tensors="pt")["input_ids"].to(model.device)
        start = torch.full_like(predicted[:, :1], _start_id(model))
        decoder_input = torch.cat([start, predicted[:, :-1]], dim=1)
    _check_ids(model.get_decoder(), tokenizer, decoder_input)
    out = _run(model, **inputs, decoder_input_ids=decoder_input)
    return {
        "src_tokens": _tokens(tokenizer, inputs["input_ids"][0]),
        "tgt_tokens": _tokens(tokenizer, decoder_input[0]),
        "predicted_tokens": _tokens(tokenizer, predicted[0]),
        "encoder": _attentions(model, out, "encoder_attentions")[0],
        "decoder": _attentions(model, out, "decoder_attentions")[0],
        "cross": _attentions(model, out, "cross_attentions")[0],
        "source": text,
        "text": tokenizer.decode(predicted[0], skip_special_tokens=True),
    }


def _accepted_inputs(model: Any, inputs: Any) -> dict[str, Tensor]:
    """Return the tokenizer's output without what the model does not take, such as
    `token_type_ids`."""
    parts = (
        [model, model.get_encoder()] if getattr(model.config, "is_encoder_decoder", 0) else [model]
    )
    names = {name for part in parts for name in inspect.signature(part.forward).parameters}
    return {name: value for name, value in inputs.items() if name in names}


def _start_id(model: Any) -> int:
    """Return the id of the token that begins every output."""
    for config in (getattr(model, "generation_config", None), model.config):
        start = getattr(config, "decoder_start_token_id", None)
        if isinstance(start, list) and start:
            start = start[0]
        if isinstance(start, int):
            return start
    raise ValueError(
        "this model has no decoder_start_token_id; set model.config.decoder_start_token_id to the "
        "id of the token that begins every output"
    )


def _check_ids(part: Any, tokenizer: Any, ids: Tensor) -> None:
    """Check that the model, or its encoder or decoder, has an embedding of every token and of
    every position."""
    length = ids.shape[-1]
    if not length:
        raise ValueError("the tokenizer makes no token of this text")
    try:
        n_embeddings = part.get_input_embeddings().weight.shape[0]
    except (AttributeError, NotImplementedError):
        n_embeddings = None
    if n_embeddings is not None and (largest := int(ids.max())) >= n_embeddings:
        token = tokenizer.convert_ids_to_tokens(largest)
        raise ValueError(
            f"the tokenizer gives the token {token!r} the id {largest}, but the model's vocabulary "
            f"has {n_embeddings} embeddings; use the tokenizer of this model, or call "
            "model.resize_token_embeddings(len(tokenizer))"
        )
    limits = [
        limit
        for name, module in part.named_modules()
        if (limit := _position_limit(name, module)) is not None
    ]
    if limits and length > min(limits):
        raise ValueError(
            f"this text is too long for the model: it has {length} tokens, and the model has "
            f"positions for at most {min(limits)}"
        )


def _position_limit(name: str, module: nn.Module) -> int | None:
    """Return the maximum number of tokens if this module is a table of absolute positions."""
    last_name = name.rsplit(".", 1)[-1]
    if not isinstance(module, nn.Embedding) or not ("position" in last_name or last_name == "wpe"):
        return None
    if isinstance(offset := getattr(module, "offset", None), int):  # BART, OPT
        return module.num_embeddings - offset
    if module.padding_idx is not None and last_name == "position_embeddings":  # RoBERTa
        return module.num_embeddings - module.padding_idx - 1
    return module.num_embeddings


def _run(model: Any, **inputs: Tensor) -> Any:
    return _explained(
        "the model cannot read this text", lambda: model(**inputs, output_attentions=True)
    )


def _explained(problem: str, call: Callable[[], Result]) -> Result:
    """Call a function of a model of others, whose errors of any kind become one sentence."""
    try:
        return call()
    except Exception as error:
        reason = " ".join(str(error).split())[:200]
        raise ValueError(f"{problem} ({type(error).__name__}: {reason})") from error


def _tokens(tokenizer: Any, ids: Tensor) -> list[str]:
    """Return the tokens of these ids. In byte-level BPE ("Ġ" begins a word) the first word gets a
    mark too if no other token has one, so that the tokens of a single word stay together. A special
    token that does not look like one, such as "$", becomes "<|$|>"."""
    tokens: list[str] = tokenizer.convert_ids_to_tokens(ids.tolist())
    special = set(tokenizer.all_special_tokens)
    texts = [number for number, token in enumerate(tokens) if token not in special]
    is_byte_level = any(token.startswith("Ġ") for token in tokenizer.tokenize("a a"))
    if is_byte_level and texts and not any(tokens[n].startswith("Ġ") for n in texts):
        tokens[texts[0]] = "Ġ" + tokens[texts[0]]
    is_unclear = [token in special and not is_control(token) for token in tokens]
    return [
        f"<|{_BRACKETS.sub('', token)}|>" if unclear else token
        for token, unclear in zip(tokens, is_unclear, strict=True)
    ]


def _attentions(model: Any, out: Any, field: str) -> tuple[list[Tensor], list[int]]:
    """Return one (1, heads, query, key) tensor per layer with attention, and the numbers of these
    layers in the model if it has others too."""
    if not hasattr(out, field):
        raise ValueError(f"{type(model).__name__} has no attention, or does not return it")
    layers = getattr(out, field) or ()
    weights = [layer for layer in layers if layer is not None]
    if not weights and getattr(model.config, "_attn_implementation", "") == "eager":
        raise ValueError(f"{type(model).__name__} returns no attention weights for this text")
    if not weights:
        raise ValueError(NO_WEIGHTS)
    for number, layer in enumerate(weights):
        if not isinstance(layer, Tensor) or layer.ndim != 4:
            raise ValueError(
                f"{type(model).__name__} returns something else than heads × rows × columns as the "
                "attention of a layer"
            )
        sums = layer.float().sum(-1)
        if float(layer.min()) >= 0 and float(sums.min()) < 1 - ROW_SUM_TOLERANCE:
            raise ValueError(
                f"a row of layer {number} sums to {float(sums.min()):.3f}, not to 1: this model "
                "gives a part of its attention to a learned sink or to something else that is no "
                "token, which a trace cannot show"
            )
    if len(weights) < len(layers):
        return weights, [n for n, layer in enumerate(layers) if layer is not None]
    config = model.config
    types = getattr(config, "layer_types", None) or getattr(config, "layers_block_type", None) or ()
    numbers = [n for n, name in enumerate(types) if "attention" in name and "linear" not in name]
    return weights, numbers if len(numbers) == len(weights) < len(types) else []


def _is_causal(weights: Sequence[Tensor]) -> bool:
    """Return whether no position attends to a later one, in any layer."""
    return all(not layer.triu(diagonal=1).any() for layer in weights)
