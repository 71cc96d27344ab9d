"""One `Jobs` for all sessions of this server, and what a session asks of it."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from typing import Any

import streamlit as st

from transformer.jobs import JobError, Jobs, Limits, RunInfo, runs_folder
from transformer.jobs.info import read
from transformer.jobs.limits import FILE
from transformer.training.estimate import Estimate, estimate
from transformer.ui import models

_measuring = threading.Lock()


def jobs() -> Jobs:
    """The server's jobs, with workers that are warm, or about to be.

    Raises:
        ValueError: if limits.toml or the folder of runs cannot be used.
    """
    return _jobs(str(runs_folder()), os.environ.get(FILE, ""), str(models.shipped_folder()))


@st.cache_resource(show_spinner=False, on_release=Jobs.close)
def _jobs(folder: str, limits: str, shipped: str) -> Jobs:
    """Workers end, and save, with this process: they hold the other end of a pipe."""
    made = Jobs(folder, Limits.load(limits or None), shipped=shipped)
    made.start()
    return made


def look(name: str) -> RunInfo:
    """One run as it stands, without reading all others unless it waits in line.

    Raises:
        JobError: if there is none of this name.
    """
    found = read(jobs().folder(name))
    if found is None:
        raise JobError(f"there is no run {name!r}; it may have been deleted")
    return jobs().run(name) if found.status == "queued" else found


def estimated(config: Mapping[str, Any], pairs: tuple[tuple[str, str], ...] = ()) -> Estimate:
    """As `training.estimate`, one at a time: a measurement sets torch's threads for a moment."""
    with _measuring:
        return estimate(config, pairs)
