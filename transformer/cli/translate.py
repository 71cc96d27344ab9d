"""`translate`: a text, or every line of standard input."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from transformer.cli.options import add_decoding, decoding_options
from transformer.inference import Trace, Translation, Translator
from transformer.text.files import atomic_path


def add_translate(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("text", nargs="?", help="left out: every line of standard input")
    parser.add_argument("--checkpoint", default="checkpoints/en-fr")
    parser.add_argument("--target", help="make it say this, to see how probable that is")
    parser.add_argument("--json", action="store_true", help="a JSON object a line, with all steps")
    parser.add_argument("--trace", metavar="FILE", help="keep every tensor: FILE.npz or FILE.json")
    add_decoding(parser)
    parser.set_defaults(run_command=_translate)


def _translate(options: argparse.Namespace) -> int:
    if options.text is None and (options.trace or options.target is not None):
        raise ValueError("--trace and --target need the text as an argument, not standard input")
    if options.trace and Path(options.trace).suffix not in (".npz", ".json"):
        raise ValueError(f"--trace writes .npz or .json, not {Path(options.trace).name!r}")
    translator = Translator.load(options.checkpoint, options.device)
    decoding = decoding_options(options)
    if options.text is None:
        return _translate_lines(translator, decoding, as_json=options.json)
    if options.trace:
        trace = translator.trace(options.text, options.target, **decoding)
        _save_trace(trace, Path(options.trace))
        _show(trace.translation, options.json)
    else:
        _show(translator.translate(options.text, target=options.target, **decoding), options.json)
    return 0


def _translate_lines(translator: Translator, decoding: dict[str, Any], *, as_json: bool) -> int:
    """Standard input in batches; a blank line gives a blank line, so that lines stay aligned."""
    read = 0
    lines = _stdin_lines()
    while batch := list(islice(lines, 32)):
        texts = [line for line in batch if line.strip()]
        try:
            translations = iter(translator.translate_batch(texts, **decoding) if texts else ())
        except ValueError as error:
            where = f"standard input, lines {read + 1} to {read + len(batch)}"
            raise ValueError(f"{where}: {error}") from error
        read += len(batch)
        for line in batch:
            if line.strip():
                _show(next(translations), as_json)
            else:
                print()
    if not read:
        raise ValueError("standard input is empty: give a text, or lines to translate")
    return 0


def _stdin_lines() -> Iterator[str]:
    for number, raw in enumerate(sys.stdin.buffer, start=1):
        try:
            yield raw.decode("utf-8").rstrip("\r\n")
        except UnicodeDecodeError as error:
            raise ValueError(
                f"standard input, line {number} is not UTF-8 (byte {raw[error.start]:#04x}): "
                "convert it first, for example with iconv -t utf-8"
            ) from error


def _save_trace(trace: Trace, path: Path) -> None:
    if path.suffix == ".npz":
        trace.save_npz(path)
    else:
        with atomic_path(path) as temporary:
            temporary.write_text(trace.to_json(trace.names), encoding="utf-8")


def _show(translation: Translation, as_json: bool) -> None:
    if as_json:
        print(json.dumps(translation.to_dict(), ensure_ascii=False), flush=True)
    else:
        print(translation.text, flush=True)
