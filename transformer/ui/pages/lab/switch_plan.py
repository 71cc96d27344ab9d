"""All that the view changes about a sentence: hooks, another text, and the lines of Python."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import streamlit as st

from transformer.analysis.interventions import (
    Comparison,
    Head,
    compare,
    hidden,
    painted,
    patched,
    site,
    switched_off,
    to_mean,
    together,
    uniform,
    without_pieces,
)
from transformer.hooks import Hooks
from transformer.inference import Trace
from transformer.measures.head_codes import heads_of
from transformer.ui.pages.lab import Lab
from transformer.ui.pages.lab.switch_written import numbers_of, patch_of, row_of
from transformer.ui.services import trace_cache
from transformer.ui.services.models import Model
from transformer.ui.services.remembered import remembered
from transformer.ui.services.trace_cache import Reading


@dataclass
class Plan:
    """What is changed.

    Attributes:
        heads: that are off. text: read instead, if tokens are cut out.
        what: the changes in a few words each, as in "without these 3 heads".
        problems: sentences about what the address asks and this sentence has not.
        imports: names of `analysis.interventions`; lines: of Python that do the same.
    """

    heads: list[Head] = field(default_factory=list)
    hooks: list[Hooks] = field(default_factory=list)
    text: str | None = None
    what: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    imports: set[str] = field(default_factory=set)
    lines: list[str] = field(default_factory=list)
    program: list[str] = field(default_factory=list)

    @property
    def empty(self) -> bool:
        return not self.hooks and self.text is None

    def add(self, hooks: Hooks, name: str, line: str) -> None:
        self.hooks.append(hooks)
        self.imports.add(name)
        self.lines.append(line)


def plan(model: Model, reading: Reading, view: Lab) -> Plan:
    made = Plan()
    parts: tuple[Callable[[Plan, Model, Reading, Lab], None], ...] = (_off, _away, _paint, _patch)
    for part in parts:
        try:
            part(made, model, reading, view)
        except ValueError as error:
            made.problems.append(str(error))
    return made


def _off(made: Plan, model: Model, reading: Reading, view: Lab) -> None:
    heads, missing = heads_of(view.off, model.n_layers, model.n_heads)
    if missing:
        made.problems.append(
            f"this model has no {', '.join(missing)}; it has layers 0 to {model.n_layers - 1} of "
            f"heads 0 to {model.n_heads - 1}"
        )
    if not heads:
        return
    made.heads = heads
    config = model.translator.model.config
    these = "this head" if len(heads) == 1 else f"these {len(heads)} heads"
    if view.means == "zero":
        made.what.append(f"without {these}")
        made.add(switched_off(config, heads), "switched_off", f"switched_off(config, {heads})")
    elif view.means == "uniform":
        made.what.append(f"with {these} attending uniformly")
        made.add(uniform(config, heads), "uniform", f"uniform(config, {heads})")
    else:
        made.what.append(f"with {these} replaced by their mean output")
        texts = model.about.examples or (reading.trace.source,)
        traces = _examples(model, texts)
        made.program.append(f"known = [translator.trace(text) for text in {list(texts)}]")
        made.add(to_mean(config, heads, traces), "to_mean", f"to_mean(config, {heads}, known)")


@remembered()
def _examples(model: Model, texts: tuple[str, ...]) -> list[Trace]:
    config = model.translator.model.config
    names = [site(kind, layer, "heads") for kind in ("encoder", "decoder", "cross")
             for layer in range(config.n_layers)]  # fmt: skip
    return [model.translator.trace(text, names=names) for text in texts]


def _away(made: Plan, model: Model, reading: Reading, view: Lab) -> None:
    away = list(numbers_of(view.away))
    if not away:
        return
    trace = reading.trace
    tokens = "a token" if len(away) == 1 else f"{len(away)} tokens"
    if view.gone == "cut":
        made.text = without_pieces(model.translator, trace.source, away)
        made.what.append(f"with {tokens} of the source removed")
        made.imports.add("without_pieces")
        made.program.append(f"shorter = without_pieces(translator, text, {away})")
    else:
        made.add(hidden(trace, away), "hidden", f"hidden(trace, {away})")
        made.what.append(f"with {tokens} of the source masked")


def _paint(made: Plan, model: Model, reading: Reading, view: Lab) -> None:
    row = row_of(view.paint)
    if row is None:
        return
    _whole(made, "An edited row")
    n_keys = row.query + 1 if row.head[0] == "decoder" else len(reading.trace.src_tokens)
    weights = row.whole(n_keys)
    made.add(
        painted(reading.trace, row.head, row.query, weights),
        "painted",
        f"painted(trace, {row.head}, {row.query}, {[round(weight) for weight in weights]})",
    )
    made.what.append("with an edited row")


def _patch(made: Plan, model: Model, reading: Reading, view: Lab) -> None:
    patch = patch_of(view.patch)
    if patch is None or not (patch.here or patch.there):
        return
    _whole(made, "A patch")
    other = view.other or view.text
    names = [patch.site]
    here = trace_cache.sites(model, reading, names)
    there = trace_cache.sites(model, trace_cache.other(model, view), names)
    made.add(
        patched(here, there, patch.site, patch.here, donor_positions=patch.there),
        "patched",
        f"patched(trace, donor, {patch.site!r}, {list(patch.here)}, "
        f"donor_positions={list(patch.there)})",
    )
    own = view.method == "forced" and view.other  # a translation of one's own is of its sentence
    made.program.append(f"donor = translator.trace({other!r}{'' if own else _given(view)})")
    count = "an activation" if len(patch.here) == 1 else f"{len(patch.here)} activations"
    made.what.append(f"with {count} patched from another sentence")


def _whole(made: Plan, what: str) -> None:
    if made.text is not None:
        raise ValueError(
            f"{what} belongs to the whole sentence; it is ignored while tokens are removed. "
            "Mask them instead to use both changes together"
        )


class Altered(Reading):
    """A comparison among the readings that are kept."""

    def __init__(self, comparison: Comparison) -> None:
        super().__init__(comparison.forced)
        self.comparison = comparison


def compared(model: Model, reading: Reading, view: Lab, made: Plan) -> Comparison:
    """The original beside the altered, from what is kept or made now.

    Raises:
        ValueError: as `comparison.compare`.
    """
    options = view.decoding()
    asked = (view.off, view.means, view.away, view.gone, view.paint, view.patch, view.other)
    key = ("altered", model.hash, view.text, *sorted(options.items()), *asked)

    def make() -> Altered:
        free = {} if "target" in options else options  # a translation of one's own is no search
        return Altered(
            compare(
                model.translator,
                view.text,
                together(*made.hooks),
                altered=made.text,
                original=reading.trace,
                **free,
            )
        )

    turn: trace_cache.NewestOnly = st.session_state.setdefault(
        "turn-altered", trace_cache.NewestOnly()
    )
    found = trace_cache.kept(key, make, turn)
    assert isinstance(found, Altered)
    return found.comparison


def _given(view: Lab) -> str:
    """How the sentence is translated, as arguments that are written."""
    options = {k: v for k, v in view.decoding().items() if (k, v) != ("method", "greedy")}
    return "".join(f", {name}={value!r}" for name, value in options.items())


def program(model: Model, folder: str, view: Lab, made: Plan) -> str:
    names = {"compare", *made.imports, *(["together"] if len(made.lines) > 1 else [])}
    given = _given(view)
    hooks = made.lines[0] if len(made.lines) == 1 else f"together({', '.join(made.lines)})"
    shorter = ", altered=shorter" if made.text is not None else ""
    free = "" if view.method == "forced" else given
    return "\n".join(
        [
            "from transformer import Translator",
            f"from transformer.analysis.interventions import {', '.join(sorted(names))}",
            "",
            f"translator = Translator.load({folder!r})",
            f"text = {view.text!r}",
            "config = translator.model.config",
            f"trace = translator.trace(text{given})",
            *made.program,
            *([f"hooks = {hooks}"] if made.lines else ["hooks = None"]),
            f"found = compare(translator, text, hooks{shorter}, original=trace{free})",
            "print(found.translation.text)",
            "print(found.probabilities)  # of the original's tokens, before and after",
            'print(found.attention("cross"))  # how far every head moved',
        ]
    )
