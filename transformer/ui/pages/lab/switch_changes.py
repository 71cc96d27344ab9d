"""What is changed in the sentence or the heads: in the address, as hooks, and its widgets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
from transformer.measures import naming
from transformer.measures.head_codes import LETTERS, parse_heads
from transformer.ui import state
from transformer.ui.pages.lab import Lab
from transformer.ui.services import trace_cache
from transformer.ui.services.memory_cache import cached
from transformer.ui.services.models import Model
from transformer.ui.services.trace_cache import CachedTrace
from transformer.ui.widgets import controls, exact, frame

_KINDS = {letter: kind for kind, letter in LETTERS.items()}


@dataclass(frozen=True)
class Row:
    """A painted row: the head, the query, and a weight from 0 for each key that has one."""

    head: Head
    query: int
    weights: Mapping[int, int]

    def written(self) -> str:
        """As the address has it: "c5.1.3:0x70,4x30"."""
        kind, layer, head = self.head
        keys = ",".join(f"{key}x{weight}" for key, weight in sorted(self.weights.items()))
        return f"{LETTERS[kind]}{layer}.{head}.{self.query}:{keys}"

    def whole(self, n_keys: int) -> list[float]:
        """A weight for every key. Raises ValueError for a weight of a key that is not there."""
        if max(self.weights) >= n_keys:
            raise ValueError(
                f"query {self.query} has no key {max(self.weights)}; its keys are 0 to {n_keys - 1}"
            )
        return [float(self.weights.get(key, 0)) for key in range(n_keys)]


@dataclass(frozen=True)
class Patch:
    """A site, positions of this sentence, and as many of the other one."""

    site: str
    here: tuple[int, ...] = ()
    there: tuple[int, ...] = ()

    def written(self) -> str:
        """As the address has it: "encoder.hook_memory:1,2:3,4"."""
        return f"{self.site}:{numbers_written(self.here)}:{numbers_written(self.there)}"


def row_of(paint: str) -> Row | None:
    """The painted row that `View.paint` writes."""
    if not paint:
        return None
    place, keys = paint.split(":")
    layer, head, query = map(int, place[1:].split("."))
    cells = (one.split("x") for one in keys.split(","))
    weights = {int(key): int(weight) for key, weight in cells}
    return Row((_KINDS[place[0]], layer, head), query, weights)


def patch_of(patch: str) -> Patch | None:
    """The patch that `View.patch` writes."""
    if not patch:
        return None
    site, here, there = patch.split(":")
    return Patch(site, numbers_of(here), numbers_of(there))


def numbers_of(written: str) -> tuple[int, ...]:
    """Positions written with commas."""
    return tuple(dict.fromkeys(int(one) for one in written.split(",") if one))


def numbers_written(numbers: Sequence[int]) -> str:
    """The inverse of `numbers_of`."""
    return ",".join(map(str, numbers))


def place(at: int, token: str, now: bool | None = None) -> str:
    """A token in a list to choose from, told apart by its place; `now`: whether names are exact,
    where that may be asked outside of the session."""
    on = exact.is_on() if now is None else now
    return f"{naming.display_number(at, on)} {naming.token_name(token, on)}"


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


def plan(model: Model, cached_trace: CachedTrace, view: Lab) -> Plan:
    made = Plan()
    parts: tuple[Callable[[Plan, Model, CachedTrace, Lab], None], ...] = (
        _off,
        _away,
        _paint,
        _patch,
    )
    for part in parts:
        try:
            part(made, model, cached_trace, view)
        except ValueError as error:
            made.problems.append(str(error))
    return made


def _off(made: Plan, model: Model, cached_trace: CachedTrace, view: Lab) -> None:
    heads, missing = parse_heads(view.off, model.n_layers, model.n_heads)
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
        texts = model.about.examples or (cached_trace.trace.source,)
        traces = _examples(model, texts)
        made.program.append(f"known = [translator.trace(text) for text in {list(texts)}]")
        made.add(to_mean(config, heads, traces), "to_mean", f"to_mean(config, {heads}, known)")


@cached()
def _examples(model: Model, texts: tuple[str, ...]) -> list[Trace]:
    config = model.translator.model.config
    names = [site(kind, layer, "heads") for kind in ("encoder", "decoder", "cross")
             for layer in range(config.n_layers)]  # fmt: skip
    return [model.translator.trace(text, names=names) for text in texts]


def _away(made: Plan, model: Model, cached_trace: CachedTrace, view: Lab) -> None:
    away = list(numbers_of(view.away))
    if not away:
        return
    trace = cached_trace.trace
    tokens = "a token" if len(away) == 1 else f"{len(away)} tokens"
    if view.gone == "cut":
        made.text = without_pieces(model.translator, trace.source, away)
        made.what.append(f"with {tokens} of the source removed")
        made.imports.add("without_pieces")
        made.program.append(f"shorter = without_pieces(translator, text, {away})")
    else:
        made.add(hidden(trace, away), "hidden", f"hidden(trace, {away})")
        made.what.append(f"with {tokens} of the source masked")


def _paint(made: Plan, model: Model, cached_trace: CachedTrace, view: Lab) -> None:
    row = row_of(view.paint)
    if row is None:
        return
    _whole(made, "An edited row")
    n_keys = row.query + 1 if row.head[0] == "decoder" else len(cached_trace.trace.src_tokens)
    weights = row.whole(n_keys)
    made.add(
        painted(cached_trace.trace, row.head, row.query, weights),
        "painted",
        f"painted(trace, {row.head}, {row.query}, {[round(weight) for weight in weights]})",
    )
    made.what.append("with an edited row")


def _patch(made: Plan, model: Model, cached_trace: CachedTrace, view: Lab) -> None:
    patch = patch_of(view.patch)
    if patch is None or not (patch.here or patch.there):
        return
    _whole(made, "A patch")
    other = view.other or view.text
    names = [patch.site]
    here = trace_cache.sites(model, cached_trace, names)
    there = trace_cache.sites(model, trace_cache.comparison(model, view), names)
    made.add(
        patched(here, there, patch.site, patch.here, donor_positions=patch.there),
        "patched",
        f"patched(trace, donor, {patch.site!r}, {list(patch.here)}, "
        f"donor_positions={list(patch.there)})",
    )
    own = view.method == "forced" and view.other  # a translation of one's own is of its sentence
    made.program.append(f"donor = translator.trace({other!r}{'' if own else given_options(view)})")
    count = "an activation" if len(patch.here) == 1 else f"{len(patch.here)} activations"
    made.what.append(f"with {count} patched from another sentence")


def _whole(made: Plan, what: str) -> None:
    if made.text is not None:
        raise ValueError(
            f"{what} belongs to the whole sentence; it is ignored while tokens are removed. "
            "Mask them instead to use both changes together"
        )


class Altered(CachedTrace):
    """A comparison among the readings that are kept."""

    def __init__(self, comparison: Comparison) -> None:
        super().__init__(comparison.forced)
        self.comparison = comparison


def compared(model: Model, cached_trace: CachedTrace, view: Lab, made: Plan) -> Comparison:
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
                original=cached_trace.trace,
                **free,
            )
        )

    turn: trace_cache.NewestRerun = st.session_state.setdefault(
        "turn-altered", trace_cache.NewestRerun()
    )
    found = trace_cache.get_or_make(key, make, turn)
    assert isinstance(found, Altered)
    return found.comparison


def given_options(view: Lab) -> str:
    """How the sentence is translated, as arguments that are written."""
    options = {k: v for k, v in view.decoding().items() if (k, v) != ("method", "greedy")}
    return "".join(f", {name}={value!r}" for name, value in options.items())


AWAY, SITE, HERE, THERE = "switch-away", "switch-site", "switch-here", "switch-there"


def show_further(model: Model, cached_trace: CachedTrace) -> None:
    """Two expanders; what is chosen in them stands in the address."""
    view = state.view(Lab)
    left, right = st.columns(2)
    with left.expander("Remove source tokens", expanded=bool(view.away)):
        _choose_removed(cached_trace.trace)
    with right.expander("Patch activations from another sentence", expanded=bool(view.patch)):
        _choose_patch(model, cached_trace)


def _choose_removed(trace: Trace) -> None:
    view = state.view(Lab)
    tokens = trace.src_tokens
    chosen = [at for at in numbers_of(view.away) if at < len(tokens) - 1]
    _choice(
        "Source tokens",
        tokens[:-1],
        chosen,
        AWAY,
        lambda: state.change(away=numbers_written(sorted(st.session_state[AWAY]))),
    )
    controls.button_row("gone", labelled=False)


def _choose_patch(model: Model, cached_trace: CachedTrace) -> None:
    view = state.view(Lab)
    st.text_input(
        placeholder="Empty: the same sentence",
        live="400ms",
        **state.bound("other"),
    )
    sites = _sites(model)
    patch = patch_of(view.patch) or Patch(_first(model))
    st.session_state[SITE] = patch.site if patch.site in sites else _first(model)
    st.selectbox(
        "Site: output of",
        list(sites),
        format_func=sites.__getitem__,
        key=SITE,
        on_change=_put,
    )
    try:
        donor = trace_cache.comparison(model, view).trace
    except ValueError as error:
        st.warning(frame.plain(frame.as_sentence(error)))
        return
    encoder = st.session_state[SITE].startswith("encoder")
    for label, trace, chosen, key in (
        ("Positions here", cached_trace.trace, patch.here, HERE),
        ("Positions in the other sentence", donor, patch.there, THERE),
    ):
        tokens = trace.src_tokens if encoder else trace.tgt_tokens
        _choice(label, tokens, [at for at in chosen if at < len(tokens)], key, _put)
    if len(patch.here) != len(patch.there):
        st.caption("Choose equally many tokens in both sentences; they are paired in order.")
    elif not encoder:
        st.caption("These are output tokens. A patch takes effect when the decoder reads them.")


def _put() -> None:
    chosen = st.session_state
    patch = Patch(chosen[SITE], tuple(chosen.get(HERE, ())), tuple(chosen.get(THERE, ())))
    state.change(patch=patch.written())


def _first(model: Model) -> str:
    """In the middle of the encoder: what is known of a token by then."""
    return f"encoder.layers.{(model.n_layers - 1) // 2}.ffn_norm.hook_output"


def _sites(model: Model) -> dict[str, str]:
    """The residual stream after every sublayer, by name, in words."""
    said = {
        "embed": "the embedding",
        "self_attn_norm": "self-attention",
        "cross_attn_norm": "cross-attention",
        "ffn_norm": "the feed-forward network",
    }
    found = {}
    for name in model.translator.model.hook_names:
        stack, *way = name.removesuffix(".hook_output").split(".")
        if name.endswith(".hook_output") and way[-1] in said:
            layer = f", {exact.layer(int(way[1]))}" if len(way) > 1 else ""
            found[name] = f"{stack.capitalize()}{layer}: {said[way[-1]]}"
    return found


def _choice(
    label: str,
    tokens: Sequence[str],
    chosen: Sequence[int],
    key: str,
    on_change: Callable[[], None],
) -> None:
    """Some of the tokens, told apart by their places; what is chosen comes from the view."""
    now = exact.is_on()
    st.session_state[key] = list(chosen)
    st.multiselect(
        label,
        range(len(tokens)),
        format_func=lambda at: place(at, tokens[at], now),
        key=key,
        on_change=on_change,
        placeholder="Choose tokens",
    )
