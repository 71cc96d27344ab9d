"""Download a model of the Hugging Face hub by its name, with the optional package huggingface_hub.

The package keeps downloads in its cache, from which they load without a connection, and reads the
user's own token.
"""

from __future__ import annotations

from pathlib import Path

from huggingface_hub import snapshot_download
from huggingface_hub.errors import HfHubHTTPError, HFValidationError

from transformer.checkpoint import CARD, CHECKSUM, CONFIG, VOCABULARY, WEIGHTS, CheckpointError

FILES = [
    *(
        CONFIG,
        CARD,
        VOCABULARY,
        WEIGHTS,
        CHECKSUM,
        "generation_config.json",
        "tokenizer_config.json",
    ),
    *("source.spm", "target.spm", "vocab.json"),
]
"""All files of a checkpoint or a Marian folder that are downloaded: no pickle and no code."""


def download(name: str, revision: str | None = None) -> Path:
    """Download a model, or find it in the cache, and return its folder.

    Args:
        name: "owner/name" of a repository with a checkpoint or a Marian model.
        revision: a branch, tag or commit; the main branch if None.

    Raises CheckpointError if the repository cannot be downloaded.
    """
    try:
        return Path(snapshot_download(name, revision=revision, allow_patterns=FILES))
    except (HfHubHTTPError, HFValidationError, OSError) as error:
        reason = str(error).strip().split("\n")[0] or type(error).__name__
        raise CheckpointError(
            f"there is no folder {name}, and the Hugging Face hub gave no model of this name: "
            f"{reason}"
        ) from error
