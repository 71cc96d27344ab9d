"""What is typed: arguments of the command line, and calls from Python."""

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

from tests.attack.door import Attack, forked
from tests.attack.hostile import BITS, VALUES, check_message, spoil, text
from tests.attack.training import small_checkpoint
from tests.leaks import changes, model_state
from transformer import Hooks, Trace, Translator
from transformer.analysis.interventions.patching_sweep import patching_sweep
from transformer.cli import main
from transformer.figures import heatmap

PATIENCE = 180.0  # seconds for one command or call, on a busy machine
MEMORY = 2_000_000_000  # additional bytes that one command may allocate

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
    "gates": ("--penalty", "--steps", "--weight-rate", "--round", "--seed", "--corpus", "--json"),
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
WORDS = (
    *("heads", "alignment", "known", "beam", "sample", "cpu", "cuda", "reverse", "french", "tiny"),
    *("ours-fr", "linked-de", "e0.0,c0", "n_train=3", "longest=99999", "x=1", "x.json", "x.npz"),
    *("learned", "additive", "bf16", "en", "x.tsv=0.5", "x.tsv=nan", "/", ".", "..", "/dev/null"),
)


@contextmanager
def commands(folder: Path) -> Iterator[Attack]:
    """`python -m transformer …` through its `main`, each in a copy of this process."""
    checkpoint = small_checkpoint(folder)
    pairs = "".join(f"I see {n} cats.\tJe vois {n} chats.\n" for n in range(40))
    (folder / "pairs.tsv").write_text(pairs)
    (folder / "noise.tsv").write_bytes(random.Random(0).randbytes(2000))
    spoilt = folder / "spoilt"
    spoilt.mkdir()
    (spoilt / "config.json").write_text(spoil(random.Random(4), {"d_model": 3, "n_heads": 2}))
    paths = [str(folder / "pairs.tsv"), str(folder / "noise.tsv"), str(checkpoint), str(spoilt)]

    def value(chance: random.Random) -> str:
        candidates = chance.choice((NUMBERS, NUMBERS, WORDS, paths, BITS))
        return chance.choice(candidates).replace("\0", "0")  # no argument can hold it

    def once(chance: random.Random) -> None:
        command = chance.choice([*OPTIONS])
        words = [command, *usual(command, chance, folder)]
        for option in chance.choices(OPTIONS[command], k=chance.choice((0, 1, 1, 2, 4))):
            words += [option, *(value(chance) for _ in range(chance.choice((0, 1, 1, 1, 2))))]
        if chance.random() < 0.2:
            words[chance.randrange(len(words))] = value(chance)
        stdin = chance.choice((b"", b"I sleep .\n", chance.randbytes(50), b"a" * 10**6, b"\n\n"))
        ended = forked(lambda: typed(words, stdin, folder), PATIENCE, MEMORY)
        shown_words = [word if len(word) < 60 else f"{word[:60]}…" for word in words]
        assert not ended.late, f"no end after {PATIENCE} s: {shown_words}"
        assert ended.code == 0, f"ended by {ended.code}: {shown_words}"
        assert not ended.error, f"{shown_words}: {ended.error[-1500:]}"

    yield Attack(once)


def usual(command: str, chance: random.Random, folder: Path) -> list[str]:
    """What makes the command right, and short."""
    checkpoint, pairs = str(folder / "tiny"), str(folder / "pairs.tsv")
    fresh = str(folder / f"new{chance.randrange(10**9)}")
    return {
        "translate": ["I sleep .", "--checkpoint", checkpoint, "--max-len", "9"],
        "trace": [pairs, f"{fresh}.zip", "--checkpoint", checkpoint, "--heads", "c0,e0.0"],
        "inspect": [checkpoint],
        "evaluate": [checkpoint, pairs, "--max-len", "5"],
        "analyse": [checkpoint, "--sentences", "3"],
        "gates": [checkpoint, fresh, "--penalty", "0.1", "--steps", "2", "--corpus", pairs],
        "train": [
            *([pairs] if chance.random() < 0.5 else ["--task", "reverse"]),
            *("--run-folder", fresh, "--preset", "tiny", "--steps", "2", "--minutes", "0.02"),
        ],
    }[command]


def typed(words: list[str], stdin: bytes, folder: Path) -> None:
    """Run it; what it says on standard error is a usage or one sentence, and it never raises."""
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="backslashreplace")
    sys.stdin = io.TextIOWrapper(io.BytesIO(stdin))
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), contextlib.chdir(folder):
        try:
            status = main(words)
        except SystemExit as stop:  # argparse's own way out
            status = int(stop.code or 0)
        out.flush()
        err.flush()
    output = err.buffer.getvalue().decode()  # type: ignore[attr-defined]
    assert "Traceback" not in output, output
    assert not any(ord(sign) < 32 and sign not in "\t\n\r" for sign in output), (
        f"escapes: {output!r}"
    )
    if status == 1:
        last = [line for line in output.splitlines() if line.startswith("error: ")]
        assert len(last) == 1, output
        assert output.rstrip().splitlines()[-1] == last[0], f"more than one line: {output}"
        assert len(last[0]) < 2000, f"{len(last[0]):,} characters: {last[0][:300]}"
        check_message(ValueError(last[0].removeprefix("error: ")))
    else:
        assert status in (0, 2), status


@contextmanager
def calls(folder: Path) -> Iterator[Attack]:
    """`Translator` and `Trace` with values of other types and sizes: ValueError or TypeError, and
    KeyError of a site that is not there; the model stays as it was."""
    translator = Translator.load(small_checkpoint(folder), "cpu")
    trace, before = translator.trace("I sleep ."), model_state(translator.model)
    trace.save_npz(folder / "whole.npz")

    def once(chance: random.Random) -> None:
        try:
            use(chance, translator, trace, folder)
        except (ValueError, TypeError, KeyError, FileNotFoundError) as error:
            check_message(error)

    yield Attack(once)
    assert not changes(before, model_state(translator.model))


def value(chance: random.Random) -> Any:
    """Anything: numbers, texts, tensors, things that cannot be compared."""
    odd = (object(), b"bytes", torch.ones(2), {1, 2}, lambda *_: None, 3 + 4j, "cross", "I sleep .")
    return chance.choice((*VALUES, *odd, text(chance), [chance.randrange(-9, 400)] * 3))


def use(chance: random.Random, translator: Translator, trace: Trace, folder: Path) -> None:
    """One call with one or two odd values among good ones."""
    some = value(chance)
    options = {"max_len": 4}
    if chance.random() < 0.6:
        names = ("method", "beam_size", "length_penalty", "temperature", "top_k", "top_p", "seed")
        options[chance.choice((*names, "max_len", "candidates", "target", "prefix"))] = some
    argument: Any = chance.choice(("I sleep .", "I sleep .", value(chance)))
    site = chance.choice(trace.names)
    hooked: Any = {chance.choice((site, "nowhere", some)): chance.choice((lambda *_: some, some))}
    number: Any = chance.choice((0, 0, some))
    kind: Any = chance.choice(("cross", "encoder", some))
    uses: tuple[Callable[[], object], ...] = (
        lambda: translator.translate(argument, **options),
        lambda: translator.translate_batch([argument, "I see ."], **options),
        lambda: translator.translate_batch(some, **options),
        lambda: translator.trace(argument, **options),
        lambda: translator.trace("I sleep .", names=some, max_len=3),
        lambda: translator.translate("I sleep .", hooks=Hooks(hooked), max_len=3),
        lambda: patching_sweep(
            translator, argument, "I see .", targets=chance.choice((None, ("I .", "We ."), some))
        ),
        lambda: trace.weights(kind, number),
        lambda: trace.labels(kind),
        lambda: trace.to_frame(kind, number, chance.choice((0, None, some))),
        lambda: trace[some],
        lambda: trace.to_json(some),
        lambda: Trace.from_json(some if isinstance(some, str) else text(chance)),
        lambda: trace.explore(view=some),
        lambda: trace.heatmap(kind=kind, layer=number, head=some),
        lambda: heatmap(trace.weights("cross", 0)[0], some, some),
        lambda: Trace.load_npz(spoilt(chance, folder)),
        lambda: Translator.load(chance.choice((folder, folder / "tiny")), some),
    )
    chance.choice(uses)()


def spoilt(chance: random.Random, folder: Path) -> Path:
    """A trace's file, cut off or turned over."""
    raw = bytearray((folder / "whole.npz").read_bytes())
    for _ in range(chance.randint(0, 4)):
        raw[chance.randrange(len(raw))] = chance.randrange(256)
    trace_file = folder / "spoilt.npz"
    trace_file.write_bytes(raw[: chance.choice((len(raw), len(raw), chance.randrange(len(raw))))])
    return trace_file
