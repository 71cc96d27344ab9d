"""`train`: a model from sentence pairs."""

from __future__ import annotations

import argparse
from dataclasses import fields
from typing import Any

from transformer.checkpoint import load_config
from transformer.cli.options import add_device, add_pairs, check_pairs
from transformer.config import PRESETS, ModelConfig, TrainingConfig
from transformer.training.command import train_command


def add_train(parser: argparse.ArgumentParser) -> None:
    add_pairs(parser, "train", "pairs to learn from")
    add_pairs(parser, "--valid", "validation pairs, else a part is set aside")
    parser.add_argument(
        "--run-folder",
        "--run",  # torchrun takes this one for a beginning of its own --run-path, and refuses it
        dest="run",
        required=True,
        metavar="FOLDER",
        help="where the run is kept; an existing one is resumed",
    )
    parser.add_argument(
        "--start-from",
        metavar="CHECKPOINT",
        help="begin with its weights, its vocabulary and its shape instead of a preset",
    )
    parser.add_argument("--preset", default="small", choices=PRESETS)
    parser.add_argument("--vocab-size", type=int, default=8000)
    parser.add_argument("--max-pieces", type=int, default=128, help="longer pairs are left out")
    add_device(parser)
    shape = parser.add_argument_group("model (over the preset)")
    _add_fields(shape, ModelConfig, skip={"vocab_size", "pad_id", "bos_id", "eos_id", "unk_id"})
    _add_fields(parser.add_argument_group("training"), TrainingConfig, skip=set())
    parser.set_defaults(run_command=_train)


def _add_fields(
    group: argparse._ArgumentGroup,
    config: type[ModelConfig] | type[TrainingConfig],
    skip: set[str],
) -> None:
    """An option for every field, under the field's own name; left out means its default."""
    kinds = {"int": int, "float": float}
    for field in fields(config):
        if field.name not in skip:
            option = f"--{field.name.replace('_', '-')}"
            group.add_argument(option, dest=field.name, type=kinds.get(str(field.type), str))


def _given(
    options: argparse.Namespace, config: type[ModelConfig] | type[TrainingConfig]
) -> dict[str, Any]:
    names = [field.name for field in fields(config)]
    return {n: getattr(options, n) for n in names if getattr(options, n, None) is not None}


def _train(options: argparse.Namespace) -> int:
    check_pairs(options.train)
    check_pairs(options.valid)
    return train_command(
        train=options.train,
        valid=options.valid,
        run_path=options.run,
        model_config=_model_config(options),
        config=TrainingConfig.from_dict(_given(options, TrainingConfig)),
        max_pieces=options.max_pieces,
        device_name=options.device,
        start_from=options.start_from,
    )


def _model_config(options: argparse.Namespace) -> ModelConfig:
    shape = _given(options, ModelConfig)
    if options.start_from is None:
        return ModelConfig.preset(options.preset, **shape)
    del shape["vocab_size"]  # has a default here; the checkpoint's vocabulary says it
    return ModelConfig.from_dict({**load_config(options.start_from).to_dict(), **shape})
