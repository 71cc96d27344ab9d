"""Hostile arguments of the command line, and calls from Python with values of wrong types."""

from __future__ import annotations

import contextlib
import io
import random
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from tests.attack.random_input import (
    ODD_VALUES,
    TEXT_FRAGMENTS,
    check_message,
    corrupt_json,
    random_text,
)
from tests.attack.short_runs import small_checkpoint
from tests.attack.target import Attack, run_forked
from tests.leaks import changes, model_state
from transformer import Hooks, Trace, Translator
from transformer.analysis.interventions.patching_sweep import patching_sweep
from transformer.cli import main
from transformer.figures import heatmap

TIMEOUT_SECONDS = 180.0  # seconds for one command or call, on a busy machine
EXTRA_MEMORY = 2_000_000_000  # additional bytes that one command may allocate

OPTIONS: dict[str, tuple[str, ...]] = {
    "translate": (
        *("--beam", "--length-penalty", "--temperature", "--top-k", "--top-p", "--seed"),
        *("--max-len", "--method", "--device", "--target", "--json", "--trace", "--checkpoint"),
    ),
    "trace": (
        *("--heads", "--checkpoint", "--beam", "--method", "--temperature", "--seed", "--max-len"),
        "--device",
    ),
    "inspect": ("--json", "--hooks"),
    "evaluate": ("--json", "--batch", "--join", "--output", "--beam", "--seed", "--max-len"),
    "analyse": (
        *("--what", "--corpus", "--links", "--sentences", "--bleu", "--heads", "--csv", "--json"),
        *("--output", "--device"),
    ),
    "train": (
        *("--task", "--option", "--valid", "--add", "--probes", "--start-from", "--preset"),
        *("--vocab-size", "--languages", "--max-pieces", "--device", "--d-model", "--n-layers"),
        *("--n-heads", "--d-ff", "--dropout", "--max-len", "--positions", "--score", "--steps"),
        *("--batch-tokens", "--warmup", "--learning-rate", "--cooldown", "--label-smoothing"),
        *(
            "--concat-prob",
            "--sharpness-penalty",
            "--clip-norm",
            "--valid-every",
            "--save-every",
            "--average",
        ),
        *("--patience", "--precision", "--seed"),
    ),
}
NUMBERS = ("0", "1", "2", "-1", "0.5", "1e-9", "1e30", "9" * 30, "nan", "inf", "-inf", "1_0", "٣")
ARGUMENT_VALUES = (
    *("heads", "alignment", "known", "beam", "sample", "cpu", "cuda", "reverse", "french", "tiny"),
    *("bundled-fr", "linked-de", "e0.0,c0", "n_train=3", "longest=99999", "x=1", "x.json", "x.npz"),
    *("learned", "additive", "bf16", "en", "x.tsv=0.5", "x.tsv=nan", "/", ".", "..", "/dev/null"),
)


@contextmanager
def commands(folder: Path) -> Iterator[Attack]:
    """Attack `python -m transformer …`, each command in a fork of this process."""
    checkpoint = small_checkpoint(folder)
    pairs = "".join(f"I see {n} cats.\tJe vois {n} chats.\n" for n in range(40))
    (folder / "pairs.tsv").write_text(pairs)
    (folder / "noise.tsv").write_bytes(random.Random(0).randbytes(2000))
    corrupted = folder / "corrupted"
    corrupted.mkdir()
    config = corrupt_json(random.Random(4), {"d_model": 3, "n_heads": 2})
    (corrupted / "config.json").write_text(config)
    paths = [str(folder / "pairs.tsv"), str(folder / "noise.tsv"), str(checkpoint), str(corrupted)]

    def random_argument(rng: random.Random) -> str:
        candidates = rng.choice((NUMBERS, NUMBERS, ARGUMENT_VALUES, paths, TEXT_FRAGMENTS))
        return rng.choice(candidates).replace("\0", "0")  # an argument cannot contain \0

    def try_input(rng: random.Random) -> None:
        command = rng.choice([*OPTIONS])
        arguments = [command, *valid_arguments(command, rng, folder)]
        for option in rng.choices(OPTIONS[command], k=rng.choice((0, 1, 1, 2, 4))):
            arguments += [
                option,
                *(random_argument(rng) for _ in range(rng.choice((0, 1, 1, 1, 2)))),
            ]
        if rng.random() < 0.2:
            arguments[rng.randrange(len(arguments))] = random_argument(rng)
        stdin = rng.choice((b"", b"I sleep .\n", rng.randbytes(50), b"a" * 10**6, b"\n\n"))
        result = run_forked(
            lambda: run_command(arguments, stdin, folder), TIMEOUT_SECONDS, EXTRA_MEMORY
        )
        shortened = [text if len(text) < 60 else f"{text[:60]}…" for text in arguments]
        assert not result.timed_out, f"not finished after {TIMEOUT_SECONDS} s: {shortened}"
        assert result.code == 0, f"exit code {result.code}: {shortened}"
        assert not result.error, f"{shortened}: {result.error[-1500:]}"

    yield Attack(try_input)


def valid_arguments(command: str, rng: random.Random, folder: Path) -> list[str]:
    """Return arguments with which the command succeeds quickly."""
    checkpoint, pairs = str(folder / "tiny"), str(folder / "pairs.tsv")
    new_path = str(folder / f"new{rng.randrange(10**9)}")
    return {
        "translate": ["I sleep .", "--checkpoint", checkpoint, "--max-len", "9"],
        "trace": [pairs, f"{new_path}.zip", "--checkpoint", checkpoint, "--heads", "c0,e0.0"],
        "inspect": [checkpoint],
        "evaluate": [checkpoint, pairs, "--max-len", "5"],
        "analyse": [checkpoint, "--sentences", "3"],
        "train": [
            *([pairs] if rng.random() < 0.5 else ["--task", "reverse"]),
            *(
                "--run-folder",
                new_path,
                "--preset",
                "tiny",
                "--steps",
                "2",
                "--minutes",
                "0.02",
            ),
        ],
    }[command]


def run_command(arguments: list[str], stdin: bytes, folder: Path) -> None:
    """Run a command and check that it fails only with its usage or one sentence on standard
    error."""
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="backslashreplace")
    sys.stdin = io.TextIOWrapper(io.BytesIO(stdin))
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), contextlib.chdir(folder):
        try:
            status = main(arguments)
        except SystemExit as error:  # raised by argparse
            status = int(error.code or 0)
        out.flush()
        err.flush()
    output = err.buffer.getvalue().decode()  # type: ignore[attr-defined]
    assert "Traceback" not in output, output
    assert not any(ord(character) < 32 and character not in "\t\n\r" for character in output), (
        f"control characters: {output!r}"
    )
    if status == 1:
        error_lines = [line for line in output.splitlines() if line.startswith("error: ")]
        assert len(error_lines) == 1, output
        assert output.rstrip().splitlines()[-1] == error_lines[0], f"more than one line: {output}"
        assert len(error_lines[0]) < 2000, (
            f"{len(error_lines[0]):,} characters: {error_lines[0][:300]}"
        )
        check_message(ValueError(error_lines[0].removeprefix("error: ")))
    else:
        assert status in (0, 2), status


@contextmanager
def calls(folder: Path) -> Iterator[Attack]:
    """Attack `Translator` and `Trace` with values of wrong types and sizes.

    They raise ValueError, TypeError or, for an unknown hook point, KeyError, and do not change the
    model.
    """
    translator = Translator.load(small_checkpoint(folder), "cpu")
    trace, before = translator.trace("I sleep ."), model_state(translator.model)
    trace.save_npz(folder / "intact.npz")

    def try_input(rng: random.Random) -> None:
        try:
            call_with_odd_values(rng, translator, trace, folder)
        except (ValueError, TypeError, KeyError, FileNotFoundError) as error:
            check_message(error)

    yield Attack(try_input)
    assert not changes(before, model_state(translator.model))


def odd_value(rng: random.Random) -> Any:
    """Return a number, text, tensor, or an object that cannot be compared."""
    other_values = (
        object(),
        b"bytes",
        torch.ones(2),
        {1, 2},
        lambda *_: None,
        3 + 4j,
        "cross",
        "I sleep .",
    )
    return rng.choice((*ODD_VALUES, *other_values, random_text(rng), [rng.randrange(-9, 400)] * 3))


def call_with_odd_values(
    rng: random.Random, translator: Translator, trace: Trace, folder: Path
) -> None:
    """Make one call with one or two odd values among valid ones."""
    odd = odd_value(rng)
    options = {"max_len": 4}
    if rng.random() < 0.6:
        names = ("method", "beam_size", "length_penalty", "temperature", "top_k", "top_p", "seed")
        options[rng.choice((*names, "max_len", "candidates", "target", "prefix"))] = odd
    argument: Any = rng.choice(("I sleep .", "I sleep .", odd_value(rng)))
    hook_name = rng.choice(trace.names)
    hook_functions: Any = {
        rng.choice((hook_name, "missing", odd)): rng.choice((lambda *_: odd, odd))
    }
    layer: Any = rng.choice((0, 0, odd))
    kind: Any = rng.choice(("cross", "encoder", odd))
    possible_calls: tuple[Callable[[], object], ...] = (
        lambda: translator.translate(argument, **options),
        lambda: translator.translate_batch([argument, "I see ."], **options),
        lambda: translator.translate_batch(odd, **options),
        lambda: translator.trace(argument, **options),
        lambda: translator.trace("I sleep .", names=odd, max_len=3),
        lambda: translator.translate("I sleep .", hooks=Hooks(hook_functions), max_len=3),
        lambda: patching_sweep(
            translator, argument, "I see .", targets=rng.choice((None, ("I .", "We ."), odd))
        ),
        lambda: trace.weights(kind, layer),
        lambda: trace.labels(kind),
        lambda: trace.to_frame(kind, layer, rng.choice((0, None, odd))),
        lambda: trace[odd],
        lambda: trace.to_json(odd),
        lambda: Trace.from_json(odd if isinstance(odd, str) else random_text(rng)),
        lambda: trace.explore(view=odd),
        lambda: trace.heatmap(kind=kind, layer=layer, head=odd),
        lambda: heatmap(trace.weights("cross", 0)[0], odd, odd),
        lambda: Trace.load_npz(corrupted_trace(rng, folder)),
        lambda: Translator.load(rng.choice((folder, folder / "tiny")), odd),
    )
    rng.choice(possible_calls)()


def corrupted_trace(rng: random.Random, folder: Path) -> Path:
    """Return the path of a trace file that may be truncated or have changed bytes."""
    raw = bytearray((folder / "intact.npz").read_bytes())
    for _ in range(rng.randint(0, 4)):
        raw[rng.randrange(len(raw))] = rng.randrange(256)
    trace_file = folder / "corrupted.npz"
    trace_file.write_bytes(raw[: rng.choice((len(raw), len(raw), rng.randrange(len(raw))))])
    return trace_file
