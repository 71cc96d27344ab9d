"""Changes to heads, rows, tokens and activations: their address fields and hooks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from transformer.analysis.interventions import (
    Comparison,
    Head,
    combined,
    compare,
    masked_tokens,
    patched,
    replaced_row,
    site,
    switched_off,
    to_mean,
    uniform,
)
from transformer.hooks import Hooks
from transformer.inference import Trace
from transformer.measures import naming
from transformer.measures.head_codes import LETTERS, parse_heads
from transformer.ui.pages.home import Home
from transformer.ui.services import trace_cache
from transformer.ui.services.memory_cache import cached
from transformer.ui.services.models import Model
from transformer.ui.services.trace_cache import CachedTrace
from transformer.ui.widgets import display_names

_KINDS = {letter: kind for kind, letter in LETTERS.items()}


@dataclass(frozen=True)
class EditedRow:
    """An edited attention row: head, query position, and weights in percent by key position; other
    keys have weight 0."""

    head: Head
    query: int
    weights: Mapping[int, int]

    def code(self) -> str:
        """Return the value of the address field `edited_row`, like "c5.1.3:0x70,4x30"."""
        kind, layer, head = self.head
        keys = ",".join(f"{key}x{weight}" for key, weight in sorted(self.weights.items()))
        return f"{LETTERS[kind]}{layer}.{head}.{self.query}:{keys}"

    def all_weights(self, n_keys: int) -> list[float]:
        """Return a weight for every key. Raises ValueError if an edited key does not exist."""
        if max(self.weights) >= n_keys:
            raise ValueError(
                f"query {self.query} has no key {max(self.weights)}; its keys are 0 to {n_keys - 1}"
            )
        return [float(self.weights.get(key, 0)) for key in range(n_keys)]


@dataclass(frozen=True)
class Patch:
    """An activation patch: a hook name, positions in this sentence, and as many in the donor."""

    site: str
    positions: tuple[int, ...] = ()
    donor_positions: tuple[int, ...] = ()

    def code(self) -> str:
        """Return the value of the address field `patch`, like "encoder.hook_memory:1,2:3,4"."""
        return (
            f"{self.site}:{positions_code(self.positions)}:{positions_code(self.donor_positions)}"
        )


def parse_row(code: str) -> EditedRow | None:
    """Parse the address field `edited_row`; None if it is empty."""
    if not code:
        return None
    head_code, keys = code.split(":")
    layer, head, query = map(int, head_code[1:].split("."))
    cells = (cell.split("x") for cell in keys.split(","))
    weights = {int(key): int(weight) for key, weight in cells}
    return EditedRow((_KINDS[head_code[0]], layer, head), query, weights)


def parse_patch(code: str) -> Patch | None:
    """Parse the address field `patch`; None if it is empty."""
    if not code:
        return None
    site, positions, donor_positions = code.split(":")
    return Patch(site, parse_positions(positions), parse_positions(donor_positions))


def parse_positions(code: str) -> tuple[int, ...]:
    """Parse positions separated by commas; repeated ones count once."""
    return tuple(dict.fromkeys(int(number) for number in code.split(",") if number))


def positions_code(numbers: Sequence[int]) -> str:
    """Format positions for the address; the inverse of `parse_positions`."""
    return ",".join(map(str, numbers))


def position_label(position: int, token: str, exact: bool | None = None) -> str:
    """Return the label of a token in a menu: its position and its name.

    Args:
        exact: whether to show exact token names; required where the Streamlit session cannot be
            read, and by default the session's setting.
    """
    is_exact = display_names.is_exact() if exact is None else exact
    return f"{naming.display_number(position)} {naming.token_name(token, is_exact)}"


@dataclass
class Plan:
    """All changes to make.

    Attributes:
        heads: the heads to switch off.
        hooks: the hooks that make the changes.
        descriptions: a phrase for each change, like "without these 3 heads".
        problems: messages on address fields that do not fit the model or the sentence.
        imports: functions to import in a Python example that makes the same changes.
        lines: expressions of the example, one for each hook.
        program: statements of the example that come first.
    """

    heads: list[Head] = field(default_factory=list)
    hooks: list[Hooks] = field(default_factory=list)
    descriptions: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    imports: set[str] = field(default_factory=set)
    lines: list[str] = field(default_factory=list)
    program: list[str] = field(default_factory=list)

    @property
    def empty(self) -> bool:
        return not self.hooks

    def add(self, hooks: Hooks, name: str, line: str) -> None:
        self.hooks.append(hooks)
        self.imports.add(name)
        self.lines.append(line)


def make_plan(model: Model, cached_trace: CachedTrace, view: Home) -> Plan:
    plan = Plan()
    steps: tuple[Callable[[Plan, Model, CachedTrace, Home], None], ...] = (
        _add_ablation,
        _add_mask,
        _add_row,
        _add_patch,
    )
    for step in steps:
        try:
            step(plan, model, cached_trace, view)
        except ValueError as error:
            plan.problems.append(str(error))
    return plan


def _add_ablation(plan: Plan, model: Model, cached_trace: CachedTrace, view: Home) -> None:
    heads, missing = parse_heads(view.off, model.n_layers, model.n_heads)
    if missing:
        plan.problems.append(
            f"this model has no {', '.join(missing)}; it has layers 0 to {model.n_layers - 1} of "
            f"heads 0 to {model.n_heads - 1}"
        )
    if not heads:
        return
    plan.heads = heads
    config = model.translator.model.config
    head_count = "this head" if len(heads) == 1 else f"these {len(heads)} heads"
    if view.ablation == "zero":
        plan.descriptions.append(f"without {head_count}")
        plan.add(switched_off(config, heads), "switched_off", f"switched_off(config, {heads})")
    elif view.ablation == "uniform":
        plan.descriptions.append(f"with {head_count} attending uniformly")
        plan.add(uniform(config, heads), "uniform", f"uniform(config, {heads})")
    else:
        plan.descriptions.append(f"with {head_count} replaced by their mean output")
        texts = model.description.examples or (cached_trace.trace.source,)
        traces = _example_traces(model, texts)
        plan.program.append(f"traces = [translator.trace(text) for text in {list(texts)}]")
        plan.add(to_mean(config, heads, traces), "to_mean", f"to_mean(config, {heads}, traces)")


@cached()
def _example_traces(model: Model, texts: tuple[str, ...]) -> list[Trace]:
    config = model.translator.model.config
    names = [site(kind, layer, "heads") for kind in ("encoder", "decoder", "cross")
             for layer in range(config.n_layers)]  # fmt: skip
    return [model.translator.trace(text, names=names) for text in texts]


def _add_mask(plan: Plan, model: Model, cached_trace: CachedTrace, view: Home) -> None:
    masked = list(parse_positions(view.masked_tokens))
    if not masked:
        return
    hooks = masked_tokens(cached_trace.trace, masked)
    plan.add(hooks, "masked_tokens", f"masked_tokens(trace, {masked})")
    tokens = "a token" if len(masked) == 1 else f"{len(masked)} tokens"
    plan.descriptions.append(f"with {tokens} of the source masked")


def _add_row(plan: Plan, model: Model, cached_trace: CachedTrace, view: Home) -> None:
    row = parse_row(view.edited_row)
    if row is None:
        return
    n_keys = row.query + 1 if row.head[0] == "decoder" else len(cached_trace.trace.src_tokens)
    weights = row.all_weights(n_keys)
    plan.add(
        replaced_row(cached_trace.trace, row.head, row.query, weights),
        "replaced_row",
        f"replaced_row(trace, {row.head}, {row.query}, {[round(weight) for weight in weights]})",
    )
    plan.descriptions.append("with an edited row")


def _add_patch(plan: Plan, model: Model, cached_trace: CachedTrace, view: Home) -> None:
    patch = parse_patch(view.patch)
    if patch is None or not (patch.positions or patch.donor_positions):
        return
    other = view.other or view.text
    names = [patch.site]
    trace = trace_cache.hook_points(model, cached_trace, names)
    donor = trace_cache.hook_points(model, trace_cache.comparison(model, view), names)
    plan.add(
        patched(trace, donor, patch.site, patch.positions, donor_positions=patch.donor_positions),
        "patched",
        f"patched(trace, donor, {patch.site!r}, {list(patch.positions)}, "
        f"donor_positions={list(patch.donor_positions)})",
    )
    # A forced translation is the target of this sentence, not of the donor.
    own_translation = view.method == "forced" and view.other
    plan.program.append(
        f"donor = translator.trace({other!r}{'' if own_translation else options_code(view)})"
    )
    count = "an activation" if len(patch.positions) == 1 else f"{len(patch.positions)} activations"
    plan.descriptions.append(f"with {count} patched from another sentence")


class CachedComparison(CachedTrace):
    """A comparison stored in the cache of traces."""

    def __init__(self, comparison: Comparison) -> None:
        super().__init__(comparison.forced)
        self.comparison = comparison


def cached_comparison(
    model: Model, cached_trace: CachedTrace, view: Home, plan: Plan
) -> Comparison:
    """Return the comparison of the original and the changed translation, cached.

    Raises:
        ValueError: see `comparison.compare`.
    """
    options = view.decoding()
    key = (
        *("altered", model.hash, view.text, *sorted(options.items()), view.off, view.ablation),
        *(view.masked_tokens, view.edited_row, view.patch, view.other),
    )

    def make() -> CachedComparison:
        # Forced decoding does not search.
        search_options = {} if "target" in options else options
        return CachedComparison(
            compare(
                model.translator,
                view.text,
                combined(*plan.hooks),
                original=cached_trace.trace,
                **search_options,
            )
        )

    cached_value = trace_cache.get_or_make(key, make)
    assert isinstance(cached_value, CachedComparison)
    return cached_value.comparison


def options_code(view: Home) -> str:
    """Return the decoding options as keyword arguments of a Python example."""
    options = {k: v for k, v in view.decoding().items() if (k, v) != ("method", "greedy")}
    return "".join(f", {name}={value!r}" for name, value in options.items())
