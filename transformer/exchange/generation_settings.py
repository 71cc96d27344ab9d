"""Settings of generation of a Marian folder that change outputs and are not applied here."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from transformer.exchange.folder import optional_json
from transformer.text.pair_pieces import PAD, UNKNOWN

LONG_ENOUGH = 512
"""A `max_length` from which no ordinary output is cut off."""
NEUTRAL: Mapping[str, tuple[Any, ...]] = {
    "forced_bos_token_id": (),
    "forced_decoder_ids": (),
    "bad_words_ids": (),
    "suppress_tokens": (),
    "begin_suppress_tokens": (),
    "force_words_ids": (),
    "constraints": (),
    "sequence_bias": (),
    "stop_strings": (),
    "exponential_decay_length_penalty": (),
    "watermarking_config": (),
    "max_new_tokens": (),
    "max_time": (),
    "dola_layers": (),
    "min_length": (0, 1),
    "min_new_tokens": (0,),
    "no_repeat_ngram_size": (0,),
    "encoder_no_repeat_ngram_size": (0,),
    "repetition_penalty": (1,),
    "encoder_repetition_penalty": (1,),
    "guidance_scale": (1,),
    "penalty_alpha": (0,),
    "diversity_penalty": (0,),
    "num_beam_groups": (1,),
    "do_sample": (False,),
    "token_healing": (False,),
}
"""Names of `transformers.GenerationConfig` (5.23) that change outputs besides the beam size and the
length penalty, each with its values that change nothing; None and empty values never do."""


def ignored_settings(folder: str | os.PathLike[str]) -> str:
    """Return a sentence with the settings of generation that an import of this folder leaves out;
    "" if there are none.

    Older models have them in config.json. Raises CheckpointError for files that are no JSON
    objects.
    """
    path = Path(folder)
    config = optional_json(path, "config.json")
    generation = optional_json(path, "generation_config.json")
    settings = config | {k: value for k, value in generation.items() if value is not None}
    never_generated = _ids(path, config)
    ignored = {
        name: settings[name]
        for name, neutral in NEUTRAL.items()
        if settings.get(name) and settings[name] not in neutral
        if not _are_within(settings[name], never_generated)
    }
    max_length = settings.get("max_length")
    if isinstance(max_length, int) and max_length < LONG_ENOUGH:
        ignored["max_length"] = max_length
    if settings.get("eos_token_id") != config.get("eos_token_id"):
        ignored["eos_token_id"] = settings["eos_token_id"]
    if not ignored:
        return ""
    names = ", ".join(f"{name} {json.dumps(value):.60}" for name, value in ignored.items())
    return f"these settings of generation are not applied, so outputs can differ: {names}"


def _ids(path: Path, config: Mapping[str, Any]) -> set[object]:
    """Return the ids of the pieces that are never generated here: padding and unknown."""
    pieces = optional_json(path, "vocab.json")
    return {pieces.get(PAD), pieces.get(UNKNOWN), config.get("pad_token_id")}


def _are_within(value: object, ids: set[object]) -> bool:
    """Whether a list of ids, or of lists with one id each, has only these ids."""
    if not isinstance(value, list):
        return False
    flat = [item[0] if isinstance(item, list) and len(item) == 1 else item for item in value]
    return all(isinstance(item, int) and item in ids for item in flat)
