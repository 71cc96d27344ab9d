"""What can be computed beside the app: a function, what it is given, and the line it waits in."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from transformer.app_folders import PACKAGE

if TYPE_CHECKING:
    from transformer.analysis.corpora import Corpus

EXCLUDED_PACKAGES = ("app", "cli", "cluster", "jobs", "ui")
"""Rooms that show results or have them made, and change no number of them. The rules of roles and
the words that pieces make are in `figures`."""
_SERVER_ID = secrets.token_hex(8)  # a machine's speed today says little about it next month


@dataclass(frozen=True)
class Lane:
    """A line with one process of its own, so that short questions never wait for long ones.

    Attributes:
        kept: results that are kept, those looked at last.
        seconds: of the clock, that one computation may take; 0: the operator's `pass_minutes`.
        processor: seconds of a processor that one may take, however busy the machine is; 0: any.
        hint: what to do about one that took too long or too much memory.
        places: computations under way; an address may have half of them.
        of_a_visitor: those that one visitor may have asked for at a time.
        left: seconds after which one that none of its visitors looks at makes room for others.
        newest_first: who asked last comes next, and the oldest question makes room for another;
            else everyone's first comes before anyone's second, and what is too much is refused.
        threads: of the process; 0: half the cores.
        idle: seconds without a computation after which the process ends and gives its memory back.
        here: it measures this machine, so that no other may answer.
    """

    max_results: int
    seconds: float = 0.0
    max_cpu_seconds: int = 0
    hint: str = "ask again when the machine has more time"
    capacity: int = 44
    max_per_visitor: int = 20
    abandoned_after: float = 180.0
    newest_first: bool = False
    threads: int = 0
    idle_seconds: float = 5.0
    local_only: bool = False


LANES: Mapping[str, Lane] = MappingProxyType(
    {
        # A result over a thousand sentences is about 500 kB; 20 are every finding at once.
        "corpus": Lane(max_results=80, hint="take fewer sentences"),
        # A dataset is a file of up to some 200 MB.
        "dataset": Lane(
            max_results=6, hint="take fewer sentences, or fewer heads", max_per_visitor=2
        ),
        "timing": Lane(
            max_results=16, seconds=120, threads=1, local_only=True
        ),  # it ends itself after some 40
        "step": Lane(
            max_results=256,
            seconds=120,
            max_cpu_seconds=20,  # it needs about one, and the first some more to start
            hint="take a smaller model, or a smaller batch",
            capacity=16,
            abandoned_after=5,
            newest_first=True,
            idle_seconds=60,
            local_only=True,
        ),
    }
)


@dataclass(frozen=True)
class Computation:
    """One question; whoever asks the same one gets the same result.

    Attributes:
        function: "module:name" of what answers it, called in another process as
            `name(given, progress)`. `progress(fraction, stage)` says how far it is, 0 to 1, and
            `progress(fraction, stage, so_far)` also what there is already. It returns a dict that
            JSON can hold, and raises ValueError for a question that has no answer.
        given: what JSON can hold.
        lane: one of `LANES`.
        known_by: what tells it from other questions, if that is not all of `given`.
        subject: what it is one of several questions about; `ComputationService.latest` finds the
            last answer.
            "": nobody may be shown it who does not ask the same.
        file: the name of a file that is kept beside its result; the function finds in
            `given["file"]` where to write it, and `ComputationService.file` where it is.
    """

    function: str
    arguments: Mapping[str, Any]
    lane: str = "corpus"
    identity: Sequence[Any] = ()
    subject: str = ""
    file: str = ""

    @property
    def key(self) -> str:
        """A hash of the code, the function and the question; names the folder of its result."""
        about = [fingerprint(), self.function, self.identity or self.arguments]
        digest = hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()
        return f"{self.lane}-{digest[:24]}"


@lru_cache
def fingerprint(root: Path = PACKAGE, excluded: tuple[str, ...] = EXCLUDED_PACKAGES) -> str:
    """16 hexadecimal digits of all Python below `house` but the rooms `beside`, and of the versions
    of what computes. Read once: a process keeps the code that it has begun with."""
    versions = ", ".join(f"{name} {version(name)}" for name in ("torch", "numpy"))
    digest = hashlib.sha256(versions.encode())
    for path in sorted(root.rglob("*.py")):
        name = path.relative_to(root)
        if name.parts[0] not in excluded:
            content = path.read_bytes()
            digest.update(f"{name.as_posix()} {len(content)}\n".encode() + content)
    return digest.hexdigest()[:16]


def lane_of(key: str) -> str:
    """The lane's name."""
    return key.partition("-")[0]


def report_computation(
    checkpoint: str | os.PathLike[str],
    digest: str,
    report: str,
    corpus: Corpus,
    options: Mapping[str, Any] | None = None,
) -> Computation:
    """What `analyse --json` writes.

    Args:
        checkpoint: its folder; `digest`, its `checkpoint_hash`.
        what, options: as `analysis.reports.report` takes them.
    """
    options = dict(options or {})
    arguments: dict[str, Any] = {"checkpoint": str(Path(checkpoint).resolve()), "hash": digest}
    arguments |= {"what": report, "options": options, "corpus": corpus.to_dict()}
    return Computation(
        "transformer.analysis.reports:compute",
        arguments,
        identity=(digest, corpus.hash, report, sorted(options.items())),
    )


def dataset_computation(
    checkpoint: str | os.PathLike[str],
    digest: str,
    corpus: Corpus,
    heads: str = "",
    options: Mapping[str, Any] | None = None,
) -> Computation:
    """What `trace FILE OUT.zip` writes, as a file beside the result.

    Args:
        checkpoint: its folder; `digest`, its `checkpoint_hash`.
        heads: as `--heads` has them; options: of decoding.
    """
    options = dict(options or {})
    arguments: dict[str, Any] = {"checkpoint": str(Path(checkpoint).resolve()), "hash": digest}
    arguments |= {"corpus": corpus.to_dict(), "heads": heads, "options": options}
    return Computation(
        "transformer.analysis.dataset.writing:compute",
        arguments,
        "dataset",
        (digest, corpus.name, corpus.hash, heads, sorted(options.items())),
        file="dataset.zip",
    )


def timing_computation(d: int, k: int, r: int) -> Computation:
    """Seconds of the layers of Table 1 on this machine."""
    arguments = {"d": d, "k": k, "r": r}
    return Computation("transformer.analysis.table1.timing:compute", arguments, "timing")


def step_timing_computation(workload: Mapping[str, Any]) -> Computation:
    """Seconds of one training step on this machine; asked anew by every server."""
    identity = (_SERVER_ID, workload)
    return Computation("transformer.training.estimate:compute", workload, "step", identity)
