"""A time-lapse of attention: every head at every training step that has a snapshot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from transformer.figures.explorer_sides import labels_of
from transformer.figures.packing import COARSE, Part, pack, quantize
from transformer.figures.state import Field, State
from transformer.figures.views import packed_page
from transformer.measures import KINDS
from transformer.measures.film_steps import FRAMES, film_steps
from transformer.measures.naming import display_text
from transformer.measures.role_rules import (
    ALIGNED,
    MIN_SENTENCE_ROWS,
    NONE,
    POSITIONAL,
    SINK,
    Links,
    Role,
    roles,
)

CELLS = 24_000_000
"""Most weights in a film, a byte each: long probes leave room for fewer steps."""

_FIELDS = {
    "step": Field(-1, bounds=(-1, 10**9)),
    "probe": Field(-1, bounds=(-1, 99)),
    "kind": Field("cross", choices=KINDS),
    "layer": Field(-1, bounds=(-1, 999)),
    "head": Field(-1, bounds=(-1, 999)),
    "size": Field("normal", choices=("normal", "large")),
}
FILM_DEFAULTS: State = {name: one.read(one.default) for name, one in _FIELDS.items()}
"""A step of -1 is the newest, also when newer ones come; a probe of -1 the longest, in which
roles are surest; a head of -1 the one that best follows the alignment at the newest step, or else
the clearest one (as `Side.clearest`)."""

NOTICED = 0.03
"""Change of the mean greatest weight, from picture to picture, that is worth a word."""
NO_PATTERN = "no recognised pattern"
DOES = {
    "aligned": ("follows the alignment", "follow the alignment"),
    "positional": ("looks at one fixed offset", "look at one fixed offset"),
    "backwards": ("reads backwards", "read backwards"),
    "sink": ("is an attention sink", "are attention sinks"),
}
_LABELS = ("src", "tgt", "predicted")
Frame = Mapping[str, npt.NDArray[np.floating]]
Labels = Mapping[str, Sequence[str]]


def film_data(
    frames: Mapping[int, Frame],
    labels: Sequence[Labels],
    start: Mapping[str, int | str] | None = None,
    *,
    notes: Mapping[int, str] | None = None,
    links: Sequence[Links] = (),
    ended: bool = True,
    play: bool = False,
    name: str = "",
    visit: int = 0,
    exact: bool = True,
) -> bytes:
    """Everything that the film needs, as `film.js` takes it.

    Args:
        frames: by step, the attention of the probes, `{probe}.{kind}` to (layers, heads, query,
            key), as a run's snapshots hold it. What is no attention (a step cut off, a number that
            is none) is left out, so that a film of a failed run still shows what there was.
        labels: for each probe its tokens, "src", "tgt" and "predicted".
        start: the state it opens with, where it differs from `FILM_DEFAULTS`.
        notes: a few words on a step, shown beside it: "loss 0.42".
        links: for each probe its alignment, where it is known (`roles`).
        ended: whether the run is over; the last picture of one that learns is not its end.
        play: whether the film starts from its first picture as soon as it is shown.
        name: of the run. What the viewer chose in a film is kept for the next one of this name, as
            the film of a run that has ended replaces the one that followed it; "" keeps nothing.
        exact: names of tokens and heads are those of the model; else those that people read.
        visit: a film on screen keeps its own state until this changes.

    Raises:
        ValueError: for a state that is none.
    """
    begin = film_state(start or {})
    probes, whole = _whole(frames, labels)
    cells = sum(array.size for array in whole[next(iter(whole))].values()) if whole else 1
    steps = film_steps(whole, max(2, min(FRAMES, CELLS // max(cells, 1))))
    parts: list[Part] = []
    listed: list[Role] = [NONE]
    docs = []
    for number, kinds in enumerate(probes if steps else []):
        clearest, told = {}, {}
        for kind in kinds:
            stacked = np.stack([whole[step][f"{number}.{kind}"] for step in steps])
            keys = labels[number]["tgt" if kind == "decoder" else "src"]
            done = roles(stacked, kind, keys, links[number] if number < len(links) else ())
            clearest[kind] = _first_head(stacked[-1], done[-1])
            told[kind] = captions(stacked, done, steps, ended=ended)
            parts += _packed(f"{number}.{kind}", stacked, done, listed)
        tokens = {name: labels_of(labels[number][name]) for name in _LABELS}
        docs.append({**tokens, "kinds": list(kinds), "clearest": clearest, "captions": told})
    header = {
        "steps": steps,
        "notes": [(notes or {}).get(step, "") for step in steps],
        "probes": docs,
        "roles": [
            {
                "group": r.group,
                "short": r.short,
                "text": NO_PATTERN if r.group == "none" else display_text(r.text, exact),
            }
            for r in listed
        ],
        "rule": {
            "aligned": ALIGNED,
            "positional": POSITIONAL,
            "sink": SINK,
            "rows": MIN_SENTENCE_ROWS,
        },
        "play": int(play),
        "name": name,
        "start": begin,
        "visit": visit,
        "exact": int(exact),
    }
    return pack(header, parts)


def film_page(
    frames: Mapping[int, Frame],
    labels: Sequence[Labels],
    start: Mapping[str, int | str] | None = None,
    *,
    title: str = "Attention as it formed",
) -> str:
    """The film as one HTML file that opens without a server."""
    return packed_page("film", film_data(frames, labels, start), title)


def film_state(values: Mapping[str, int | str]) -> State:
    """The whole state from what differs. Raises ValueError for a name or a value that is none."""
    found = dict(FILM_DEFAULTS)
    for name, value in values.items():
        if name not in _FIELDS:
            raise ValueError(f"The film has no {name!r}; it has {', '.join(FILM_DEFAULTS)}.")
        try:
            found[name] = _FIELDS[name].read(value)
        except ValueError as error:
            raise ValueError(f"{name} must be {error}, not {value!r}.") from None
    return found


def _whole(
    frames: Mapping[int, Frame], labels: Sequence[Labels]
) -> tuple[list[list[str]], dict[int, Frame]]:
    """The kinds of each probe, and the frames that have all of them as they should be."""
    shapes: dict[str, tuple[int, ...]] = {}
    for step in sorted(frames):
        shapes.update({name: array.shape for name, array in frames[step].items()})
    fits: dict[str, tuple[int, ...]] = {}
    probes: list[list[str]] = []
    for number, tokens in enumerate(labels):
        src, tgt = len(tokens["src"]), len(tokens["tgt"])
        sizes = {"encoder": (src, src), "decoder": (tgt, tgt), "cross": (tgt, src)}
        kinds = [
            kind
            for kind in KINDS
            if shapes.get(f"{number}.{kind}", (0,) * 4)[2:] == sizes[kind]
            and shapes[f"{number}.{kind}"][0] * shapes[f"{number}.{kind}"][1]
        ]
        fits.update({f"{number}.{kind}": shapes[f"{number}.{kind}"] for kind in kinds})
        probes.append(kinds)
    while probes and not probes[-1]:
        probes.pop()
    if not fits:
        return [], {}
    whole: dict[int, Frame] = {
        step: {name: frame[name] for name in fits}
        for step, frame in frames.items()
        if all(name in frame and _sound(frame[name], shape) for name, shape in fits.items())
    }
    return probes, whole


def _sound(weights: npt.NDArray[np.floating], shape: tuple[int, ...]) -> bool:
    """False also for numbers that are none."""
    return weights.shape == shape and bool(weights.min() >= 0 and weights.max() <= 1 + 1e-4)


def _packed(
    name: str,
    weights: npt.NDArray[np.floating],
    found: npt.NDArray[np.object_],
    listed: list[Role],
) -> list[Part]:
    """Weights (steps, layers, heads, query, key), and the role of each head at each step as its
    place in `listed`, which grows, with its share."""
    known = {(role.text, role.group): place for place, role in enumerate(listed)}
    codes = np.empty(found.shape, "<u2")
    for at in np.ndindex(*found.shape):
        role = found[*at]
        if (role.text, role.group) not in known:
            known[role.text, role.group] = len(listed)
            listed.append(role)
        codes[at] = known[role.text, role.group]
    shares = np.vectorize(lambda role: role.share, otypes=["<f4"])(found)
    return [
        quantize(name, weights.astype(np.float32), COARSE),
        Part(f"role.{name}", codes),
        Part(f"share.{name}", shares),
    ]


def clearest_head(weights: npt.NDArray[np.floating]) -> list[int]:
    """As `Side.clearest`, of weights (layers, heads, query, key): where the greatest weight of a
    column, averaged, is greatest."""
    marks = weights.astype(np.float32).max(axis=2).mean(axis=2)
    return [int(place) for place in np.unravel_index(int(marks.argmax()), marks.shape)]


def _first_head(weights: npt.NDArray[np.floating], found: npt.NDArray[np.object_]) -> list[int]:
    """The head that follows the alignment most closely, else the clearest one."""
    aligned = {at: role.share for at, role in np.ndenumerate(found) if role.group == "aligned"}
    if not aligned:
        return clearest_head(weights)
    return [int(place) for place in max(aligned, key=lambda at: aligned[at])]


def captions(
    weights: npt.NDArray[np.floating],
    found: npt.NDArray[np.object_],
    steps: Sequence[int],
    *,
    ended: bool = True,
) -> list[str]:
    """A sentence or two for each picture of one kind of attention.

    Args:
        weights: (steps, layers, heads, query, key), each row a distribution.
        found: the `Role` of each head at each step, (steps, layers, heads).
        steps: the step of each picture.
        ended: whether the last picture is that of the run's end.
    """
    greatest = weights.astype(np.float64).max(axis=-1).mean(axis=(1, 2, 3))
    return [
        _caption(
            float(greatest[at]),
            float(greatest[at - 1]) if at else None,
            _roles(found[at]),
            steps[at],
            last=ended and at == len(steps) - 1 > 0,
        )
        for at in range(len(steps))
    ]


def _caption(now: float, before: float | None, does: str, step: int, *, last: bool) -> str:
    amount = f"the greatest weight of a row is {now:.0%} on average"
    if before is None:
        when = "Before the first step" if step == 0 else "First picture"
        return f"{when}: {amount}. {does}"
    if last:
        way = "At the end"
    elif now > before + NOTICED:
        way = f"Sharper, from {before:.0%}"
    elif now < before - NOTICED:
        way = f"More diffuse, from {before:.0%}"
    else:
        way = "Little changed"
    return f"{way}: {amount}. {does}"


def _roles(found: npt.NDArray[np.object_]) -> str:
    """How many heads do what, of all of one kind."""
    heads: list[Role] = found.ravel().tolist()
    counts = {group: sum(one.group == group for one in heads) for group in DOES}
    parts = [f"{count} {DOES[group][count > 1]}" for group, count in counts.items() if count]
    if not parts:
        return f"No recognised pattern in any of {len(heads)} heads."
    return f"Of {len(heads)} heads {', '.join(parts)}."
