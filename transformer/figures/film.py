"""Data of the film: a time-lapse of every head over the training steps that have a snapshot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from transformer.figures.packing import COARSE, Part, pack, quantize
from transformer.figures.state import Field, state_of
from transformer.figures.views import packed_page
from transformer.measures import KINDS
from transformer.measures.film_steps import FRAMES, film_steps
from transformer.measures.kinds import AttentionKind
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
from transformer.measures.shape import clearest_head

MAX_WEIGHTS = 24_000_000
"""Maximum number of weights in a film, one byte each; with long probes it shows fewer steps."""

FILM_FIELDS = {
    "step": Field(-1, bounds=(-1, 10**9)),
    "probe": Field(-1, bounds=(-1, 99)),
    "kind": Field("auto", choices=("auto", *KINDS)),
    "layer": Field(-1, bounds=(-1, 999)),
    "head": Field(-1, bounds=(-1, 999)),
    "size": Field("normal", choices=("normal", "large")),
}
"""Step -1 is the newest, also when newer ones arrive. Probe -1 is the longest, where roles are most
reliable. Kind "auto" is the one whose heads have learned the task's pattern (`opening_kind`). Head
-1 is the one that best follows the alignment at the newest step, or else the clearest one (as in
`measures.shape.clearest_head`)."""

MIN_CHANGE = 0.03
"""Smallest change of the mean greatest weight between two frames that a caption mentions."""
OWN_POSITION = "0"
"""Short name of the role "attends to its own position", in cross-attention to the same one."""
NO_PATTERN = "no recognised pattern"
ROLE_PHRASES = {
    "aligned": ("follows the alignment", "follow the alignment"),
    "positional": ("attends to a fixed offset", "attend to a fixed offset"),
    "backwards": ("reads backwards", "read backwards"),
    "sink": ("attends to a sink", "attend to a sink"),
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
    exact: bool = True,
) -> bytes:
    """Return everything the film shows, as `film.js` reads it.

    Args:
        frames: attention of the probes by step, `{probe}.{kind}` to (layers, heads, query, key), as
            in a run's snapshots. A step that is incomplete or holds invalid weights is left out, so
            the film of a failed run still shows the rest.
        labels: the tokens of each probe: "src", "tgt" and "predicted".
        start: the initial state where it differs from the defaults of `FILM_FIELDS`.
        notes: a short note per step, shown next to it: "loss 0.42".
        links: the alignment of each probe where it is known (`roles`).
        ended: whether the run has ended. Then the layer of the first head is drawn above the
            others; otherwise the layers keep their order while the pattern forms, and the last
            frame is not called the end.
        play: whether the film starts playing as soon as it is shown.
        name: name of the run. The reader's choices carry over to the next film of the same name,
            as when the film of a finished run replaces the live one; "" keeps nothing.
        exact: use the model's names of tokens and heads, not the readable ones.

    Raises:
        ValueError: if the state is invalid.
    """
    state = state_of(start or {}, FILM_FIELDS, "film")
    probes, complete = _complete_frames(frames, labels)
    cells = sum(array.size for array in complete[next(iter(complete))].values()) if complete else 1
    steps = film_steps(complete, max(2, min(FRAMES, MAX_WEIGHTS // max(cells, 1))))
    parts: list[Part] = []
    distinct_roles: list[Role] = [NONE]
    docs = []
    for number, kinds in enumerate(probes if steps else []):
        clearest_by_kind, captions_by_kind, last_roles = {}, {}, {}
        for kind in kinds:
            stacked = np.stack([complete[step][f"{number}.{kind}"] for step in steps])
            keys = labels[number]["tgt" if kind == "decoder" else "src"]
            frame_roles = roles(stacked, kind, keys, links[number] if number < len(links) else ())
            last_roles[kind] = frame_roles[-1]
            clearest_by_kind[kind] = _first_head(stacked[-1], frame_roles[-1])
            captions_by_kind[kind] = captions(stacked, frame_roles, steps, ended=ended)
            parts += _packed(f"{number}.{kind}", stacked, frame_roles, distinct_roles)
        tokens = {name: list(labels[number][name]) for name in _LABELS}
        docs.append(
            {
                **tokens,
                "kinds": list(kinds),
                "opening": opening_kind(last_roles) if ended and kinds else "",
                "clearest": clearest_by_kind,
                "captions": captions_by_kind,
            }
        )
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
            for r in distinct_roles
        ],
        "rule": {
            "aligned": ALIGNED,
            "positional": POSITIONAL,
            "sink": SINK,
            "rows": MIN_SENTENCE_ROWS,
        },
        "ended": int(ended),
        "play": int(play),
        "name": name,
        "start": state,
        "exact": int(exact),
    }
    return pack(header, parts)


def film_page(
    frames: Mapping[int, Frame],
    labels: Sequence[Labels],
    start: Mapping[str, int | str] | None = None,
    *,
    title: str = "Attention as it formed",
    exact: bool = True,
    shared: bool = False,
) -> str:
    """Return the film as one HTML file that opens without a server; `exact` as in `film_data`. With
    `shared`, it loads the files of `shared_files("film")`."""
    data = film_data(frames, labels, start, exact=exact)
    return packed_page("film", data, title, shared=shared)


def _complete_frames(
    frames: Mapping[int, Frame], labels: Sequence[Labels]
) -> tuple[list[list[AttentionKind]], dict[int, Frame]]:
    """Return the kinds of each probe, and the frames that have valid weights for all of them."""
    shapes: dict[str, tuple[int, ...]] = {}
    for step in sorted(frames):
        shapes.update({name: array.shape for name, array in frames[step].items()})
    fits: dict[str, tuple[int, ...]] = {}
    probes: list[list[AttentionKind]] = []
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
    complete: dict[int, Frame] = {
        step: {name: frame[name] for name in fits}
        for step, frame in frames.items()
        if all(name in frame and _is_attention(frame[name], shape) for name, shape in fits.items())
    }
    return probes, complete


def _is_attention(weights: npt.NDArray[np.floating], shape: tuple[int, ...]) -> bool:
    """Return whether weights have this shape and lie in 0 to 1; False for NaN."""
    return weights.shape == shape and bool(weights.min() >= 0 and weights.max() <= 1 + 1e-4)


def _packed(
    name: str,
    weights: npt.NDArray[np.floating],
    frame_roles: npt.NDArray[np.object_],
    distinct_roles: list[Role],
) -> list[Part]:
    """Return three parts: the weights (steps, layers, heads, query, key), each head's role at each
    step as an index into `distinct_roles`, which this extends, and the role's share."""
    indices = {(role.text, role.group): index for index, role in enumerate(distinct_roles)}
    codes = np.empty(frame_roles.shape, "<u2")
    for at in np.ndindex(*frame_roles.shape):
        role = frame_roles[*at]
        if (role.text, role.group) not in indices:
            indices[role.text, role.group] = len(distinct_roles)
            distinct_roles.append(role)
        codes[at] = indices[role.text, role.group]
    shares = np.vectorize(lambda role: role.share, otypes=["<f4"])(frame_roles)
    return [
        quantize(name, weights.astype(np.float32), COARSE),
        Part(f"role.{name}", codes),
        Part(f"share.{name}", shares),
    ]


def opening_kind(last_roles: Mapping[AttentionKind, npt.NDArray[np.object_]]) -> AttentionKind:
    """Return the kind of attention with the strongest pattern at the last step.

    Following the alignment, which is what a task teaches, counts before any fixed offset. A sink
    and self-attention to the own position are no pattern of a task and do not count. Among equals
    the last kind is returned, which is cross-attention if the model has it.

    Args:
        last_roles: the `Role` of each head, (layers, heads), by kind; not empty.
    """

    def strength(kind: AttentionKind) -> tuple[bool, float]:
        shares = [
            (role.group == "aligned", role.share)
            for role in last_roles[kind].ravel()
            if role.group in ("aligned", "positional", "backwards")
            and (kind == "cross" or role.short != OWN_POSITION)
        ]
        return max(shares, default=(False, 0.0))

    return max(reversed(list(last_roles)), key=strength)


def _first_head(
    weights: npt.NDArray[np.floating], frame_roles: npt.NDArray[np.object_]
) -> list[int]:
    """Return the head that follows the alignment most closely, else the clearest one."""
    aligned = {
        index: role.share for index, role in np.ndenumerate(frame_roles) if role.group == "aligned"
    }
    if not aligned:
        return [*clearest_head(weights)]
    return [int(i) for i in max(aligned, key=lambda index: aligned[index])]


def captions(
    weights: npt.NDArray[np.floating],
    frame_roles: npt.NDArray[np.object_],
    steps: Sequence[int],
    *,
    ended: bool = True,
) -> list[str]:
    """Return a caption for each frame of one kind of attention.

    Args:
        weights: (steps, layers, heads, query, key), each row a distribution.
        frame_roles: the `Role` of each head at each step, (steps, layers, heads).
        steps: the step of each frame.
        ended: whether the last frame is the end of the run.
    """
    greatest = weights.astype(np.float64).max(axis=-1).mean(axis=(1, 2, 3))
    return [
        _caption(
            float(greatest[frame]),
            float(greatest[frame - 1]) if frame else None,
            _roles(frame_roles[frame]),
            steps[frame],
            last=ended and frame == len(steps) - 1 > 0,
        )
        for frame in range(len(steps))
    ]


def _caption(
    mean_max: float, previous: float | None, roles_sentence: str, step: int, *, last: bool
) -> str:
    amount = f"the largest weight of a row is {mean_max:.0%} on average"
    if previous is None:
        frame_name = "Before the first step" if step == 0 else "First frame"
        return f"{frame_name}: {amount}. {roles_sentence}"
    if last:
        change = "At the end"
    elif mean_max > previous + MIN_CHANGE:
        change = f"Sharper, from {previous:.0%}"
    elif mean_max < previous - MIN_CHANGE:
        change = f"More diffuse, from {previous:.0%}"
    else:
        change = "Little changed"
    return f"{change}: {amount}. {roles_sentence}"


def _roles(frame_roles: npt.NDArray[np.object_]) -> str:
    """Return a sentence that counts the heads of one kind by role."""
    heads: list[Role] = frame_roles.ravel().tolist()
    counts = {group: sum(role.group == group for role in heads) for group in ROLE_PHRASES}
    parts = [
        f"{count} {ROLE_PHRASES[group][count > 1]}" for group, count in counts.items() if count
    ]
    if not parts:
        return f"No recognised pattern in any of {len(heads)} heads."
    return f"Of {len(heads)} heads {', '.join(parts)}."
