"""Models on the Hugging Face hub: download a repository by its name, upload a folder.

Needs the optional package huggingface_hub (`pip install "heads-up[hub]"`), which keeps downloads in
its cache and reads the user's own token. Only JSON, safetensors, vocabularies and the card are
downloaded, by name; no pickle and no code.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NoReturn

from huggingface_hub import HfApi, snapshot_download
from huggingface_hub.errors import (
    GatedRepoError,
    HfHubHTTPError,
    HFValidationError,
    LocalEntryNotFoundError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)

from transformer.checkpoint import CARD, CONFIG, VOCABULARY, WEIGHTS, CheckpointError, load_config
from transformer.exchange.folder import PICKLED, SHARDED, optional_json
from transformer.exchange.importing import is_marian
from transformer.exchange.marian_config import check

SMALL_FILES = [
    *(CONFIG, CARD, VOCABULARY, "generation_config.json", "tokenizer_config.json"),
    *("source.spm", "target.spm", "vocab.json"),
]
"""All files of a checkpoint or a Marian folder except the weights."""
_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}")


def download(name: str, revision: str | None = None) -> Path:
    """Download a model, or find it in the cache, and return its folder.

    config.json is checked before the weights are downloaded. Without a connection, a model is
    loaded from the cache.

    Args:
        name: "owner/name" of a repository with a checkpoint or a Marian model.
        revision: a branch, tag or commit; the main branch if None.

    Raises:
        CheckpointError: for a repository that is missing, not readable, or has another kind of
            model or no safetensors file.
    """
    _check_name(name)
    try:
        folder = Path(snapshot_download(name, revision=revision, allow_patterns=SMALL_FILES))
        _check_config(name, folder)
        snapshot_download(name, revision=folder.name, allow_patterns=[*SMALL_FILES, WEIGHTS])
    except (HfHubHTTPError, OSError, HFValidationError) as error:
        _refuse(name, revision, error)
    if not (folder / WEIGHTS).is_file():
        raise CheckpointError(_without_weights(name, folder.name))
    return folder


def upload(folder: Path, name: str, *, private: bool, message: str) -> str:
    """Upload all files of a folder as one commit and return the commit's address.

    Creates the repository if it does not exist. Files that only the repository has are kept.

    Raises:
        CheckpointError: for an invalid name, or a repository that the user may not write to.
    """
    _check_name(name)
    api = HfApi()
    try:
        api.create_repo(name, private=private, exist_ok=True)
        commit = api.upload_folder(repo_id=name, folder_path=folder, commit_message=message)
    except (HfHubHTTPError, OSError, HFValidationError) as error:
        raise CheckpointError(
            f"{name} could not be written ({_reason(error)}); log in with `hf auth login`, with "
            f"a token that has write access"
        ) from error
    return str(commit.commit_url)


def _check_name(name: str) -> None:
    """Raise CheckpointError for anything but "owner/name" as the hub spells it."""
    if not _NAME.fullmatch(name) or "--" in name or ".." in name or name[-1] in ".-":
        raise CheckpointError(
            f"names on the hub are like owner/name, with letters, digits, '-', '_' and '.', not "
            f"{name!r}"
        )


def _check_config(name: str, folder: Path) -> None:
    """Raise CheckpointError unless config.json is that of a checkpoint or a Marian model."""
    if not (folder / CONFIG).is_file():
        raise CheckpointError(
            f"{name} on the hub has no {CONFIG}, so it is neither a checkpoint nor a Marian model"
        )
    try:
        if is_marian(folder):
            check(optional_json(folder, CONFIG))
        else:
            load_config(folder)
    except CheckpointError as error:
        reason = str(error).replace(str(folder), name)
        raise CheckpointError(f"{name} on the hub cannot be loaded: {reason}") from error


def _without_weights(name: str, commit: str) -> str:
    """Return the message about a repository without model.safetensors."""
    try:
        files = set(HfApi().list_repo_files(name, revision=commit))
    except (HfHubHTTPError, OSError):
        files = set()
    if PICKLED in files:
        return (
            f"{name} has its weights in {PICKLED}, a pickle, which is not read; load a revision "
            f"that has {WEIGHTS}, with revision='refs/pr/NUMBER' if one is proposed there"
        )
    if SHARDED in files:
        return f"{name} has its weights in several files; only one file, {WEIGHTS}, is read"
    return f"{name} on the hub has no {WEIGHTS}"


def _refuse(name: str, revision: str | None, error: Exception) -> NoReturn:
    """Raise CheckpointError with a message for the user about a failed download."""
    if isinstance(error, GatedRepoError):
        message = (
            f"{name} requires that you accept its conditions: accept them on its page, and log "
            "in with `hf auth login`"
        )
    elif isinstance(error, RepositoryNotFoundError):
        message = (
            f"there is no folder {name}, and the hub has no model of this name that you may read"
        )
    elif isinstance(error, RevisionNotFoundError):
        message = f"{name} on the hub has no revision {revision!r}"
    elif isinstance(error, LocalEntryNotFoundError):
        message = (
            f"there is no folder {name}, the hub cannot be reached, and its cache on this machine "
            "has no model of this name"
        )
    else:
        message = f"{name} could not be downloaded: {_reason(error)}"
    raise CheckpointError(message) from error


def _reason(error: Any) -> str:
    """Return the first line of a client error, with its HTTP status if it has one."""
    status = getattr(getattr(error, "response", None), "status_code", None)
    if status is not None:
        return f"the hub answered with status {status}"
    return str(error).strip().split("\n")[0] or type(error).__name__
