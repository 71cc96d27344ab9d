"""The live part of a site: the models, the scripts that run them, and the first page."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from transformer.checkpoint import VOCABULARY, WEIGHTS
from transformer.figures.explorer_sides import fixed_header
from transformer.figures.glance import glance_data
from transformer.figures.live_page import live_page, live_script, service_worker, worker_scripts
from transformer.figures.state import KINDS
from transformer.ui.services import trace_cache
from transformer.ui.services.models import Model

TITLE = "Heads Up: see attention"
LEAD = "A model translates what you type, in your browser. Watch where it looks for every word."
MODELS = "models"
NOT_KEPT = (MODELS, "films", "views")
"""Folders that a first visit does not fetch; the models have a cache of their own."""
FOOTER = (
    "The model runs in your browser; what you type stays there. Only the full app trains models, "
    "tests heads over a corpus in its lab, and repeats what papers found. The model is that of "
    "*Attention Is All You Need*."
)


def runs_in_browser(model: Model) -> bool:
    """Whether `browser/model/` can read it: one vocabulary for both sides."""
    return model.translator.vocabulary.pair is None and model.translator.folder is not None


def write_live(folder: Path, models: Sequence[Model]) -> None:
    """Write index.html, the scripts and the models' files into the site's folder."""
    site = {
        "models": {model.name: _model(folder, model) for model in models},
        "explorer": fixed_header(),
        "kinds": KINDS,
    }
    joined = live_script()
    (folder / "live.js").write_text(joined.script, encoding="utf-8")
    (folder / "live.css").write_text(joined.style, encoding="utf-8")
    for path, script in worker_scripts().items():
        file = folder / "scripts" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(script, encoding="utf-8")
    page = live_page(site, TITLE, (LEAD,), FOOTER)
    (folder / "index.html").write_text(page, encoding="utf-8")


def write_service_worker(folder: Path) -> None:
    """Write the script that keeps the site for a visit without a network; the rest is there."""
    files = sorted(
        path.relative_to(folder)
        for path in folder.rglob("*")
        if path.is_file() and path.relative_to(folder).parts[0] not in NOT_KEPT
    )
    digest = hashlib.sha256()
    for file in files:
        digest.update(str(file).encode() + b"\0" + (folder / file).read_bytes())
    script = service_worker(digest.hexdigest()[:16], [file.as_posix() for file in files])
    (folder / "service-worker.js").write_text(script, encoding="utf-8")


def _model(folder: Path, model: Model) -> dict[str, Any]:
    """What the page knows of one model; its files are copied."""
    about, source = model.about, model.translator.folder
    assert source is not None, "asked of `runs_in_browser`"
    (folder / MODELS / model.name).mkdir(parents=True)
    files = []
    for name in (WEIGHTS, VOCABULARY):
        path = f"{MODELS}/{model.name}/{name}"
        shutil.copyfile(source / name, folder / path)
        content = (source / name).read_bytes()
        digest = hashlib.sha256(content).hexdigest()
        files.append({"path": path, "bytes": len(content), "sha256": digest})
    aligner = model.aligner
    picture = glance_data(trace_cache.first(model, about.first).trace, aligner=aligner)
    return {
        "label": f"{about.source} → {about.target}",
        "reads": about.source,
        "writes": about.target,
        "languages": list(about.languages or ("", "")),
        "hint": about.hint,
        "examples": list(about.examples),
        "config": json.loads(json.dumps(model.translator.model.config.to_dict())),
        "files": files,
        "aligner": aligner
        and {name: getattr(aligner, name) for name in ("layer", "head", "weights_to")},
        "measured": model.aligner_agreement,
        "first": {"text": about.first, **picture},
    }
