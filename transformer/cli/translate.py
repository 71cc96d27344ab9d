"""`translate`: translate a text or every line of standard input."""

from __future__ import annotations

import argparse
import io
import json
import math
import sys
from itertools import islice
from pathlib import Path
from typing import Any, cast

from transformer.cli.options import (
    add_checkpoint,
    add_decoding,
    check_output,
    decoding_options,
    print_result,
)
from transformer.inference import Decoding, Trace, Translation, Translator
from transformer.inference.device import describe_computed
from transformer.text.corpus import decoded_lines
from transformer.text.files import write_text
from transformer.text.visible import is_blank
from transformer.training.console import log


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("text", nargs="?", help="the text; default: every line of standard input")
    add_checkpoint(parser, "--checkpoint")
    parser.add_argument("--target", help="force this translation and report its probability")
    parser.add_argument(
        "--into",
        metavar="CODE",
        help="target language of a multilingual imported model: fra, deu, …",
    )
    parser.add_argument(
        "--json", action="store_true", help="print a JSON object per line, with all steps"
    )
    parser.add_argument("--trace", metavar="FILE", help="store every tensor: FILE.npz or FILE.json")
    add_decoding(parser)


def run(options: argparse.Namespace) -> int:
    if options.text is None and (options.trace or options.target is not None):
        raise ValueError("--trace and --target need the text as an argument, not standard input")
    if options.trace and Path(options.trace).suffix not in (".npz", ".json"):
        raise ValueError(f"--trace writes .npz or .json, not {Path(options.trace).name!r}")
    check_output(options.trace)
    translator = Translator.load(options.checkpoint, options.device)
    decoding = decoding_options(options)
    into = options.into
    if options.text is None:
        return _translate_lines(translator, decoding, as_json=options.json, into=into)
    text = options.text if into is None else translator.vocabulary.with_language(options.text, into)
    if options.trace:
        trace = translator.trace(text, options.target, **decoding)
        _save_trace(trace, Path(options.trace))
        translation = trace.translation
    else:
        translation = translator.translate(text, target=options.target, **decoding)
    if options.target is not None and not options.json:
        _show_forced(translation)
        print_result(describe_computed(translator.computed_with))
    else:
        _show(translator, translation, options.json)
    return 0


def _translate_lines(
    translator: Translator, decoding: dict[str, Any], *, as_json: bool, into: str | None
) -> int:
    """Translate standard input in batches. A blank line gives a blank line, and so does one that
    cannot be translated, with an error message and exit code 1: lines stay aligned."""
    if sys.stdin is None:
        raise ValueError("standard input is closed: give a text, or lines to translate")
    n_read = n_rejected = 0
    Decoding.of(decoding)  # report errors in the options once, not for every line
    lines = decoded_lines(cast(io.BufferedReader, sys.stdin.buffer), "standard input")
    while batch := list(islice(lines, 32)):
        reasons = {number: _rejection_reason(translator, line) for number, line in enumerate(batch)}
        texts = [line for number, line in enumerate(batch) if reasons[number] is None]
        if into is not None:
            texts = [translator.vocabulary.with_language(text, into) for text in texts]
        translations = iter(translator.translate_batch(texts, **decoding) if texts else ())
        for number, reason in reasons.items():
            if reason is None:
                _show(translator, next(translations), as_json)
                continue
            print_result("")
            if reason:
                n_rejected += 1
                log(f"error: standard input, line {n_read + number + 1}: {reason}")
        n_read += len(batch)
    if not n_read:
        raise ValueError("standard input is empty: give a text, or lines to translate")
    return 1 if n_rejected else 0


def _rejection_reason(translator: Translator, line: str) -> str | None:
    """Return why a line cannot be translated, "" if it is blank, None if it can be."""
    if is_blank(line):
        return ""
    try:
        translator.check(line)
    except ValueError as error:
        return str(error)
    return None


def _save_trace(trace: Trace, path: Path) -> None:
    if path.suffix == ".npz":
        trace.save_npz(path)
    else:
        write_text(path, trace.to_json())


def _show_forced(translation: Translation) -> None:
    """Print a forced translation and its probability."""
    print_result(translation.text)
    log_probability = translation.log_probability
    print_result(
        f"probability {math.exp(log_probability):.3g}, log probability {log_probability:.3f}"
    )


def _show(translator: Translator, translation: Translation, as_json: bool) -> None:
    if as_json:
        record = {**translation.to_dict(), "computed": translator.computed_with}
        print_result(json.dumps(record, ensure_ascii=False))
    else:
        print_result(translation.text)
