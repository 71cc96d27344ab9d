"""A run to take home: its checkpoint, what it was asked to do, and its curves."""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import replace

from transformer.jobs.errors import JobError
from transformer.jobs.folder import JobFolder
from transformer.training.run import RunError


def archive(folder: JobFolder) -> bytes:
    """A zip with one folder of the run's name: checkpoint/, config.json, metrics.jsonl.

    The owner's id is left out, for it is what controls the run; so is the state to resume from.

    Raises:
        JobError: if there is no checkpoint yet, or a file cannot be read.
    """
    if not (folder.checkpoint_path / "config.json").is_file():
        raise JobError(f"{folder.name} has no checkpoint yet: it comes with the first save")
    try:
        config = replace(folder.config(), owner="").to_dict()
        contents = {"config.json": (json.dumps(config, indent=2) + "\n").encode()}
        for name in ("metrics.jsonl", "examples.jsonl"):
            if (folder.path / name).is_file():
                contents[name] = (folder.path / name).read_bytes()
        for path in sorted(folder.checkpoint_path.iterdir()):
            if path.is_file() and not path.name.startswith("."):
                contents[f"checkpoint/{path.name}"] = path.read_bytes()
    except (OSError, RunError) as error:
        raise JobError(f"{folder.name} could not be packed: {error}") from error
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file:
        for name, content in contents.items():
            file.writestr(f"{folder.name}/{name}", content)
    return packed.getvalue()
