"""`inspect`: print a checkpoint's languages, sizes and hooks."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from transformer.checkpoint import checkpoint_hash, load_checkpoint, load_languages
from transformer.cli.options import add_checkpoint, print_result
from transformer.text.languages import language_name


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_checkpoint(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--hooks", action="store_true", help="list every hook by name")


def run(options: argparse.Namespace) -> int:
    model, vocabulary = load_checkpoint(options.checkpoint)
    folder = Path(options.checkpoint)
    languages = load_languages(folder)
    facts: dict[str, Any] = {
        "languages": languages,
        **model.config.to_dict(),
        "d_k": model.config.d_k,
        "parameters": sum(p.numel() for p in model.parameters()),
        "hooks": len(model.hook_names),
        "pieces": len(vocabulary),
        "bytes": sum(path.stat().st_size for path in folder.iterdir() if path.is_file()),
        "hash": checkpoint_hash(folder),
    }
    if options.hooks:
        print_result("\n".join(model.hook_names))
    elif options.json:
        print_result(json.dumps(facts, indent=2))
    else:
        facts["languages"] = " to ".join(map(language_name, languages)) if languages else "unknown"
        width = max(map(len, facts))
        for name, value in facts.items():
            print_result(
                f"{name:<{width}}  {value:,}" if type(value) is int else f"{name:<{width}}  {value}"
            )
    return 0
