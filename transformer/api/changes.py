"""The changes that a request names, as hooks: heads off, tokens masked, a row edited, activations
patched, in this order; the same as `client/engine/changes.js`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from transformer.analysis.interventions.patches import masked_tokens, patched, replaced_row
from transformer.analysis.interventions.switching import (
    combined,
    site,
    switched_off,
    to_mean,
    uniform,
)
from transformer.api.models import Model
from transformer.api.requests import SentenceRequest, decoding_options
from transformer.api.traces import CachedTrace, cached_trace, hook_points
from transformer.hooks import Hooks
from transformer.inference import Trace
from transformer.measures import KINDS
from transformer.measures.head_codes import LETTERS, parse_heads
from transformer.text.visible import as_sentence

_KINDS = {letter: kind for kind, letter in LETTERS.items()}


def trace(
    visitor: str, model: Model, request: SentenceRequest, names: Sequence[str] = ()
) -> CachedTrace:
    """Return the trace of a sentence under the changes of its request.

    Raises:
        ValueError: see `traces.cached_trace`; also for a change that does not fit.
    """

    def make_hooks() -> Hooks | None:
        hooks, problems = change_hooks(visitor, model, request)
        if problems:
            raise ValueError(problems[0])
        return hooks

    return cached_trace(
        visitor, model, request.text, options(request), names, request.changes, make_hooks
    )


def options(request: SentenceRequest) -> dict[str, Any]:
    """Return how the request's sentence is translated, as options of `Translator.trace`."""
    prefix = {"prefix": request.prefix} if request.prefix else {}
    return {**decoding_options(request), **prefix}


def change_hooks(
    visitor: str, model: Model, request: SentenceRequest
) -> tuple[Hooks | None, list[str]]:
    """Return the hooks of all changes, None for none, and a sentence for each that does not fit."""
    if not request.changes:
        return None, []
    original = trace(visitor, model, request.unchanged()).trace
    steps: tuple[Callable[[], Hooks | None], ...] = (
        lambda: _ablation(visitor, model, request),
        lambda: _mask(original, request.masked_tokens),
        lambda: _row(original, request.edited_row),
        lambda: _patch(visitor, model, original, request),
    )
    hooks, problems = [], _missing_heads(model, request.off)
    for step in steps:
        try:
            hooks.append(step())
        except ValueError as error:
            problems.append(as_sentence(error))
    return (combined(*hooks) if any(hooks) else None), problems


def _ablation(visitor: str, model: Model, request: SentenceRequest) -> Hooks | None:
    config = model.translator.model.config
    heads, _ = parse_heads(request.off, config.n_layers, config.n_heads)
    if not heads:
        return None
    if request.ablation == "zero":
        return switched_off(config, heads)
    if request.ablation == "uniform":
        return uniform(config, heads)
    names = [site(kind, layer, "heads") for kind in KINDS for layer in range(config.n_layers)]
    texts = model.description.examples or (request.text,)
    greedy = {"method": "greedy"}
    examples = [cached_trace(visitor, model, text, greedy, names).trace for text in texts]
    return to_mean(config, heads, examples)


def _missing_heads(model: Model, off: str) -> list[str]:
    config = model.translator.model.config
    _, missing = parse_heads(off, config.n_layers, config.n_heads)
    if not missing:
        return []
    return [
        f"This model has no head {', '.join(missing)}; counted from 0, it has layers 0 to "
        f"{config.n_layers - 1} and heads 0 to {config.n_heads - 1}."
    ]


def _mask(original: Trace, code: str) -> Hooks | None:
    return masked_tokens(original, _positions(code)) if code else None


def _row(original: Trace, code: str) -> Hooks | None:
    if not code:
        return None
    head_code, cells = code.split(":")
    layer, head, query = map(int, head_code[1:].split("."))
    kind = _KINDS[head_code[0]]
    weights = {int(key): float(weight) for key, weight in (c.split("x") for c in cells.split(","))}
    n_keys = query + 1 if kind == "decoder" else len(original.src_tokens)
    if max(weights) >= n_keys:
        raise ValueError(f"query {query} has no key {max(weights)}; its keys are 0 to {n_keys - 1}")
    row = [weights.get(key, 0.0) for key in range(n_keys)]
    return replaced_row(original, (kind, layer, head), query, row)


def _patch(visitor: str, model: Model, original: Trace, request: SentenceRequest) -> Hooks | None:
    name, here, there = request.patch.split(":") if request.patch else ("", "", "")
    if not (here or there):
        return None
    if name not in model.translator.model.hook_names:
        raise ValueError(f"there are no activations {name} that can be patched")
    donor = trace(visitor, model, request.unchanged(text=request.other or request.text)).trace
    here_trace, there_trace = (
        hook_points(visitor, model, traced, [name]) for traced in (original, donor)
    )
    return patched(
        here_trace, there_trace, name, _positions(here), donor_positions=_positions(there)
    )


def _positions(code: str) -> list[int]:
    return list(dict.fromkeys(int(number) for number in code.split(",") if number))
