"""`train`: train a model on sentence pairs or a built-in task."""

from __future__ import annotations

import argparse
import inspect
import re
from dataclasses import fields
from typing import Any

from transformer.app_folders import find_checkpoint
from transformer.checkpoint import load_config
from transformer.cli.options import PAIR_FILES, add_device, add_languages, add_pairs, check_pairs
from transformer.config import (
    IMPORTED_ONLY,
    PRESETS,
    ModelConfig,
    TrainingConfig,
)
from transformer.text import read_pairs
from transformer.text.languages import check_languages
from transformer.training.command import train_command
from transformer.training.recipe import make_run_config
from transformer.training.run_config import MAX_PIECES, FilesRun

# The vocabulary sets the ids; fields for imported models cannot be trained.
NOT_OPTIONS = {"vocab_size", "pad_id", "bos_id", "eos_id", "unk_id", *IMPORTED_ONLY}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "train", nargs="*", metavar="FILE", help=f"pairs to learn from: {PAIR_FILES}"
    )
    parser.add_argument("--task", help="a built-in task instead of files: reverse, french, …")
    parser.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="NAME=NUMBER",
        help="an option of the task: n_train, n_valid, or one that only this task has, such as "
        "longest=12",
    )
    add_pairs(parser, "--valid", "validation pairs (default: some of the training pairs)")
    parser.add_argument(
        "--add",
        action="append",
        default=[],
        metavar="TABLE=WEIGHT",
        help="more training pairs, and how often an epoch reads them: with more.tsv=0.5, a random "
        "half of them",
    )
    parser.add_argument(
        "--probes", metavar="TABLE", help="pairs whose attention is stored during training"
    )
    parser.add_argument(
        "--run-folder",
        dest="run",
        required=True,
        metavar="FOLDER",
        help="the run's folder; an existing run is resumed",
    )
    parser.add_argument(
        "--start-from",
        metavar="CHECKPOINT",
        type=lambda checkpoint: str(find_checkpoint(checkpoint)),
        help="start from the weights of this checkpoint (a folder or a name) and use its model "
        "config and, without --vocab-size, its vocabulary",
    )
    parser.add_argument(
        "--preset", choices=PRESETS, help="model size (small for files, tiny for a task)"
    )
    parser.add_argument(
        "--vocab-size", type=int, help="vocabulary size for files (8000); tasks have a fixed one"
    )
    add_languages(parser, " for the model card")
    parser.add_argument(
        "--max-pieces",
        type=int,
        help="maximum tokens of a sentence (128); longer pairs are left out",
    )
    add_device(parser)
    sizes = ", ".join(sorted({name for preset in PRESETS.values() for name in preset}))
    shape = parser.add_argument_group(
        "model",
        f"The preset, or the checkpoint of --start-from, gives {sizes}.",
    )
    _add_fields(shape, ModelConfig, skip=NOT_OPTIONS)
    training = parser.add_argument_group(
        "training", "The defaults shown are for training on files; tasks have other defaults."
    )
    _add_fields(training, TrainingConfig, skip=set())


def _add_fields(
    group: argparse._ArgumentGroup, config: type[ModelConfig] | type[TrainingConfig], skip: set[str]
) -> None:
    """Add an option for every field; the class docstring has its help text."""
    types = {"int": int, "float": float}
    texts = attribute_texts(config)
    preset_sizes = {name for preset in PRESETS.values() for name in preset}
    for field in fields(config):
        if field.name in skip:
            continue
        option = f"--{field.name.replace('_', '-')}"
        option_type = types.get(str(field.type), str)
        has_preset_value = config is ModelConfig and field.name in preset_sizes
        default = "" if has_preset_value else f" (default: {field.default})"
        group.add_argument(
            option,
            dest=field.name,
            type=option_type,
            metavar={int: "N", float: "X"}.get(option_type, "NAME"),
            help=(texts[field.name].rstrip(".") + default).replace("%", "%%"),
        )


def attribute_texts(documented_class: type) -> dict[str, str]:
    """Return the description of each attribute in the "Attributes" section of a docstring."""
    section = inspect.cleandoc(documented_class.__doc__ or "").partition("Attributes:\n")[2]
    entries = re.findall(r"^    (\w[\w, ]*): (.*(?:\n {8}.*)*)", section, flags=re.MULTILINE)
    return {name: " ".join(text.split()) for names, text in entries for name in names.split(", ")}


def _specified_fields(
    options: argparse.Namespace, config: type[ModelConfig] | type[TrainingConfig]
) -> dict[str, Any]:
    names = [field.name for field in fields(config)]
    return {n: getattr(options, n) for n in names if getattr(options, n, None) is not None}


def run(options: argparse.Namespace) -> int:
    if not options.run:
        raise ValueError("--run-folder is empty; give the path of a folder")
    if options.task is not None:
        return _train_task(options)
    if not options.train:
        raise ValueError(f"give {PAIR_FILES}, or a task with --task")
    if options.option:
        raise ValueError("--option needs --task with the name of a task")
    check_pairs(options.train)
    check_pairs(options.valid)
    run_config = FilesRun(
        train=tuple(options.train),
        valid=tuple(options.valid) if options.valid else None,
        added=dict(map(_parse_table_weight, options.add)),
        start_from=options.start_from,
        max_pieces=MAX_PIECES if options.max_pieces is None else options.max_pieces,
        model=_model_config(options),
        training=TrainingConfig.from_dict(_specified_fields(options, TrainingConfig)),
        device=options.device,
        languages=check_languages(options.languages) if options.languages else None,
        probes=tuple(read_pairs(options.probes)) if options.probes else (),
    )
    new_vocabulary = options.start_from is not None and options.vocab_size is not None
    return train_command(options.run, run_config, learn_vocabulary=new_vocabulary)


def _train_task(options: argparse.Namespace) -> int:
    """Train a task with the config that the Train page makes."""
    for name in (
        *("train", "valid", "add", "probes"),
        *("start_from", "vocab_size", "max_pieces", "languages"),
    ):
        if getattr(options, name) not in (None, []):
            option = "the files" if name == "train" else f"--{name.replace('_', '-')}"
            raise ValueError(f"a task generates its own sentences: omit {option} or --task")
    config = make_run_config(
        options.task,
        preset=options.preset or "tiny",
        settings=_specified_fields(options, ModelConfig)
        | _specified_fields(options, TrainingConfig),
        options=dict(map(_parse_task_option, options.option)),
        device=options.device,
    )
    return train_command(options.run, config)


def _parse_task_option(text: str) -> tuple[str, int]:
    name, _, value = text.partition("=")
    if not value.lstrip("-").isdecimal():
        raise ValueError(
            f"--option needs a name and a whole number, such as longest=12, not {text!r}"
        )
    return name, int(value)


def _parse_table_weight(text: str) -> tuple[str, float]:
    table, equals, weight = text.rpartition("=")
    try:
        number = float(weight) if equals else 1.0
    except ValueError:
        number = -1.0
    if not 0 < number < 1e6:
        raise ValueError(
            f"--add needs a table and a number above 0, such as more.tsv=0.5, not {text!r}"
        )
    return table if equals else text, number


def _model_config(options: argparse.Namespace) -> ModelConfig:
    shape = _specified_fields(options, ModelConfig)
    if options.start_from is None:
        size = shape.pop("vocab_size", 8000)
        return ModelConfig.preset(options.preset or "small", vocab_size=size, **shape)
    return ModelConfig.from_dict({**load_config(options.start_from).to_dict(), **shape})
