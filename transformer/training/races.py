"""The defined races: runs that differ in one setting, with the same seeds, data and steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from transformer.analysis.evidence.verdicts import Claim, Measure
from transformer.config import did_you_mean
from transformer.training.recipe import make_run_config
from transformer.training.run_config import RaceEntry, TrainingRun


@dataclass(frozen=True)
class Race:
    """The definition of a race.

    Attributes:
        question: one sentence.
        look_for: what to look at while it runs, and what may mislead.
        task, options: the task of all entries.
        shared: settings of all entries.
        entries: by name, the settings that each entry changes.
        claims: the claims to test with `measure`.
        seeds: default seeds.
        minutes: approximate total time on a laptop's two cores.
        make_run_config: a function like `recipe.make_run_config`.
    """

    name: str
    title: str
    question: str
    look_for: str
    task: str
    shared: Mapping[str, Any]
    entries: Mapping[str, Mapping[str, Any]]
    claims: tuple[Claim, ...]
    minutes: float
    measure: Measure = "loss"
    options: Mapping[str, int] = field(default_factory=dict)
    seeds: tuple[int, ...] = (1, 2, 3)
    make_run_config: Callable[..., TrainingRun] = make_run_config

    @property
    def groups(self) -> dict[str, list[str]]:
        """Entries to compare with each other, by the part of their names after the comma."""
        groups: dict[str, list[str]] = {}
        for entry in self.entries:
            groups.setdefault(entry.partition(", ")[2], []).append(entry)
        return groups

    def config(self, entry: str, seed: int, race_id: str) -> TrainingRun:
        """Return the config of one run. Raises ValueError for an unknown entry."""
        if entry not in self.entries:
            names = ", ".join(self.entries)
            raise ValueError(f"{self.name} has no entry {entry!r}; it has {names}")
        return self.make_run_config(
            self.task,
            settings={**self.shared, **self.entries[entry], "seed": seed},
            options=self.options,
            title=f"{self.title}: {entry}, seed {seed}",
            race=RaceEntry(race_id, self.name, entry, seed),
        )


def race_named(name: str) -> Race:
    """Return the race of this name. Raises ValueError for an unknown name."""
    if name not in RACES:
        names = ", ".join(RACES)
        raise ValueError(f"no race {name!r}: choose one of {names}{did_you_mean(name, RACES)}")
    return RACES[name]


_SMALL = {"d_model": 64, "n_layers": 1, "n_heads": 4, "d_ff": 128, "steps": 600}
_SCORES = {"scaled": "scaled_dot", "unscaled": "dot", "additive": "additive"}
_WIDTHS = (16, 64, 256)


def _make_layer_run_config(*args: Any, **settings: Any) -> TrainingRun:
    from transformer.training.layer_race import make_layer_run_config  # which imports torch

    return make_layer_run_config(*args, **settings)


_RACE_LIST = (
    Race(
        name="scores",
        title="Scores",
        question="Does a dot product of long queries and keys need to be divided by √d_k?",
        look_for=(
            "With d_k = 16 the three are similar. The longer the queries, the larger the dot "
            "products, and the softmax of large scores is nearly one-hot, with tiny gradients. "
            "Additive scores are bounded. Compare within one d_k: wider models are larger."
        ),
        task="reverse",
        options={"longest": 6},
        shared={
            "n_layers": 1,
            "n_heads": 1,
            "d_ff": 128,
            "steps": 300,
            "batch_tokens": 512,
            "learning_rate": 0.001,
        },
        entries={
            f"{name}, d_k {width}": {"score": score, "d_model": width}
            for width in _WIDTHS
            for name, score in _SCORES.items()
        },
        claims=tuple(
            Claim(text.format(width), f"{better}, d_k {width}", f"unscaled, d_k {width}")
            for text, better in (
                ("Dividing by √d_k helps at d_k {}", "scaled"),
                ("Without the scaling, additive scores win at d_k {}", "additive"),
            )
            for width in _WIDTHS
        ),
        minutes=3,
    ),
    Race(
        name="positions",
        title="Positions",
        question="How well does a Transformer learn word order with sinusoidal, learned or no "
        "positions?",
        look_for=(
            "Reversing needs positions. Without them the encoder sees a bag of letters; only the "
            "decoder's causal mask shows how much it has written."
        ),
        task="reverse",
        shared=_SMALL,
        entries={
            "sinusoidal": {"positions": "sinusoidal"},
            "learned": {"positions": "learned", "max_len": 64},
            "none": {"positions": "none"},
        },
        claims=(
            Claim("Sinusoidal positions beat none", "sinusoidal", "none"),
            Claim("Learned positions beat none", "learned", "none"),
            Claim("Sinusoidal positions beat learned ones", "sinusoidal", "learned"),
        ),
        minutes=1.5,
    ),
    Race(
        name="heads",
        title="Heads",
        question="Are many narrow heads better than one wide head with the same total width?",
        look_for=(
            "d_model is 64 for all, so the number of weights is the same: 8 heads have 8 numbers "
            "for each query, 1 head has 64. One head computes a single average of all values."
        ),
        task="reverse",
        shared={**_SMALL, "steps": 400},
        entries={
            "1 head": {"n_heads": 1},
            **{f"{count} heads": {"n_heads": count} for count in (2, 4, 8)},
        },
        claims=(
            Claim("2 heads beat 1", "2 heads", "1 head"),
            Claim("4 heads beat 1", "4 heads", "1 head"),
            Claim("8 heads beat 1", "8 heads", "1 head"),
            Claim("8 heads beat 4", "8 heads", "4 heads"),
        ),
        minutes=1.5,
    ),
    Race(
        name="warm-up",
        title="Warm-up",
        question="Does a learning-rate warm-up help?",
        look_for=(
            "Adam's second moments are poor estimates in the first steps, so full steps can move "
            "a model far off. Watch the first hundred steps of the curves, then whether the run "
            "that began at the full rate ever catches up."
        ),
        task="reverse",
        shared={**_SMALL, "learning_rate": 0.01},
        entries={"warm-up of 100 steps": {"warmup": 100}, "no warm-up": {"warmup": 1}},
        claims=(Claim("Warm-up helps", "warm-up of 100 steps", "no warm-up"),),
        minutes=1,
    ),
    Race(
        name="layers",
        title="Layers",
        question="Which layer of the paper's Table 1 can remember a symbol over a long gap?",
        look_for=(
            "Stacks of two layers with equally many weights copy three letters over a gap of "
            "blanks. A kernel or a neighbourhood carries them as far as its receptive field; "
            "beyond it, accuracy is chance. A recurrent layer reaches every distance step by step: "
            "watch how its accuracy falls with distance. LSTM and GRU are recurrent too, with "
            "gates that decide what is kept and what is forgotten."
        ),
        task="gap",
        shared={},
        entries={
            "self-attention": {"layer": "self-attention"},
            "recurrent": {"layer": "recurrent"},
            "LSTM": {"layer": "lstm"},
            "GRU": {"layer": "gru"},
            "convolutional": {"layer": "convolutional", "k": 7},
            "restricted": {"layer": "restricted", "r": 9},
            "dilated": {"layer": "dilated", "k": 7},
        },
        claims=(
            Claim("Self-attention beats a recurrent layer", "self-attention", "recurrent"),
            Claim("Self-attention beats a convolution", "self-attention", "convolutional"),
            Claim("Self-attention beats its restricted form", "self-attention", "restricted"),
            Claim("Dilation helps a convolution", "dilated", "convolutional"),
            Claim("A recurrent layer beats a convolution", "recurrent", "convolutional"),
            Claim("An LSTM’s gates help a recurrent layer", "LSTM", "recurrent"),
            Claim("A GRU’s gates help a recurrent layer", "GRU", "recurrent"),
            Claim("Self-attention beats an LSTM", "self-attention", "LSTM"),
        ),
        minutes=4,
        measure="accuracy",
        make_run_config=_make_layer_run_config,
    ),
)
RACES: Mapping[str, Race] = MappingProxyType({race.name: race for race in _RACE_LIST})
