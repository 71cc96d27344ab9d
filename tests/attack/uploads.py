"""Uploaded files (training pairs, corpora, gold links): compressed, huge, with missing cells, in
other encodings, or with a path as their name."""

from __future__ import annotations

import gzip
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.attack.random_input import TEXT_FRAGMENTS, check_message, random_text
from tests.attack.target import Attack
from tests.jobs.conftest import idle_jobs
from transformer.analysis.corpora import Corpus
from transformer.jobs import Jobs
from transformer.text.corpus import read_pairs
from transformer.training.estimate import workload
from transformer.training.recipe import PAIRS_FILE, make_run_config
from transformer.ui.pages.training.own_pairs import parse_own_pairs, tsv
from transformer.ui.services.uploads import decode_text
from transformer.ui.widgets.corpus import MAX_UPLOAD_BYTES, corpus_of_upload

MAX_PAIR_BYTES = 100_000  # limit for training pairs; any value would do
MAX_CPU_SECONDS = 5.0  # maximum CPU time for reading a file once
FILE_NAMES = (
    "../../x",
    "/etc/passwd",
    "pairs.tsv",
    "config.json",
    "lock",
    "a\0b",
    "CON",
    ".hidden",
)
ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32", "latin-1", "cp1252", "utf-7")


def random_file(rng: random.Random) -> bytes:
    """Return a table, mostly with missing cells; sometimes in another encoding, compressed, of one
    line, or random bytes."""
    case = rng.randrange(40)
    if case == 0:
        return rng.choice((b"a", b"a\t", b"\xc3\xa9", b"\0")) * rng.choice((10**6, 5 * 10**7))
    if case < 4:
        return rng.randbytes(rng.choice((1, 100, 10_000)))
    if case < 6:
        return gzip.compress(b"a" * rng.choice((10, 10**6)) + b"\tb\n")
    columns = rng.randint(1, 5)
    separator = rng.choice(("\t", "\t", "\t", ",", ";", " "))
    rows = [
        separator.join(random_cell(rng) for _ in range(rng.choice((columns, columns, 1, 7))))
        for _ in range(rng.choice((0, 1, 25, 25, 60, 6000 if case == 6 else 30)))
    ]
    lines = rng.choice(("\n", "\n", "\r\n", "\r", "\x85", "\u2028")).join(rows)
    raw = lines.encode(rng.choice(ENCODINGS) if case < 12 else "utf-8", "replace")
    return raw[: rng.randrange(len(raw) + 1)] if case == 13 else raw


def random_cell(rng: random.Random) -> str:
    """Return a sentence, alignment links, or a random text."""
    n = rng.choice((0, 3, 5000))
    choices = ("I sleep .", "je dors .", "0-0 1-1", f"{'9' * n}-{'1' * n}", "0?1 1p0", '"', "1--1")
    return rng.choice((*choices, random_text(rng)))


@contextmanager
def start_attack(folder: Path) -> Iterator[Attack]:
    """Attack the functions of the pages and the command line, and the queue, which stores uploaded
    files with the run."""
    max_seconds = 0.0
    jobs = idle_jobs(folder / "runs", disk_free=1)

    def try_input(rng: random.Random) -> None:
        nonlocal max_seconds
        raw, name = random_file(rng), rng.choice((*FILE_NAMES, rng.choice(TEXT_FRAGMENTS), "x.tsv"))
        path = folder / rng.choice(("uploaded", "uploaded.gz"))
        path.write_bytes(raw)
        functions: tuple[Callable[[], object], ...] = (
            lambda: queue_run(jobs, raw, name),
            lambda: check_round_trip(corpus_of_upload(raw, name)),
            lambda: check_round_trip(Corpus.read(path, rng.choice((None, path)))),
            lambda: [*read_pairs(path)],
            lambda: [*read_pairs(path, path)],
            lambda: jobs.submit(
                make_run_config(), "ann", {PAIRS_FILE: raw[:MAX_PAIR_BYTES], name: raw[:99]}
            ),
        )
        for function in functions:
            start = time.process_time()
            try:
                function()
            except ValueError as error:
                check_message(error)
            cpu_seconds = time.process_time() - start
            max_seconds = max(max_seconds, cpu_seconds)
            assert cpu_seconds < MAX_CPU_SECONDS, (
                f"a file of {len(raw):,} bytes took {cpu_seconds:.1f} s"
            )
        for info in jobs.runs():
            assert info.status == "queued"
            jobs.delete(info.name, "ann")
        files = {path.name for path in folder.iterdir()} | {p.name for p in folder.parent.iterdir()}
        expected = {"runs", "uploaded", "uploaded.gz", *files_before}
        assert files <= expected, f"a file was written elsewhere: {files}"

    files_before = {path.name for path in folder.parent.iterdir()}
    yield Attack(try_input, lambda: f"at most {max_seconds:.1f} s for one file")
    jobs.close()


def queue_run(jobs: Jobs, raw: bytes, name: str) -> None:
    """Queue a run on the pairs as the page does: read them, estimate the time, store the pairs."""
    assert MAX_UPLOAD_BYTES >= MAX_PAIR_BYTES
    pairs = parse_own_pairs(decode_text(raw, name), name, MAX_PAIR_BYTES)
    config = make_run_config()
    assert workload(config, pairs).n_src > 0
    run = jobs.submit(config, "ann", {PAIRS_FILE: tsv(pairs)})
    stored_pairs = [*read_pairs(jobs.folder(run).path / PAIRS_FILE)]
    assert len(stored_pairs) == len(pairs)


def check_round_trip(corpus: Corpus) -> None:
    """Check that an accepted corpus equals its stored copy."""
    assert Corpus.from_dict(corpus.to_dict()).hash == corpus.hash
