"""`python -m transformer train …`: a thin door to the rooms below."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import fields

from transformer.config import PRESETS, ModelConfig, TrainingConfig
from transformer.device import DEVICES

Command = Callable[[argparse.Namespace], int]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; 0 if it went well, 1 with a sentence on standard error if not."""
    options = _parser().parse_args(arguments)
    try:
        run: Command = options.run_command
        return run(options)
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return 130
    except (ValueError, OSError, RuntimeError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m transformer", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _add_train(commands.add_parser("train", help="train a model on sentence pairs"))
    return parser


def _add_device(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--device", default="auto", help=f"one of {', '.join(DEVICES)}")


def _add_train(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("train", nargs="+", help="one .tsv[.gz], or two parallel text files")
    parser.add_argument("--valid", nargs="+", help="validation pairs; else a part is set aside")
    parser.add_argument("--run", required=True, help="run folder; an existing one is resumed")
    parser.add_argument("--preset", default="small", choices=PRESETS)
    parser.add_argument("--vocab-size", type=int, default=8000)
    parser.add_argument("--max-pieces", type=int, default=128, help="longer pairs are left out")
    _add_device(parser)
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
) -> dict[str, object]:
    names = [field.name for field in fields(config)]
    return {n: getattr(options, n) for n in names if getattr(options, n, None) is not None}


def _train(options: argparse.Namespace) -> int:
    # Imported here: the other commands start faster without it.
    from transformer.training.command import train_command

    shape = _given(options, ModelConfig)
    shape.pop("vocab_size", None)
    return train_command(
        train=options.train,
        valid=options.valid,
        run_path=options.run,
        model_config=ModelConfig.preset(options.preset, vocab_size=options.vocab_size, **shape),
        config=TrainingConfig.from_dict(_given(options, TrainingConfig)),
        max_pieces=options.max_pieces,
        device_name=options.device,
    )
