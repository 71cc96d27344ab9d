"""Uploaded files: pairs to train on, corpora, gold links, probes; packed, ragged, huge,
in other encodings, and called by names that are paths."""

from __future__ import annotations

import gzip
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.attack.door import Attack
from tests.attack.hostile import BITS, check_message, text
from tests.jobs.conftest import still_jobs
from transformer.analysis.corpora import Corpus
from transformer.jobs import Jobs
from transformer.text.corpus import read_pairs
from transformer.training.estimate import workload
from transformer.training.recipe import PAIRS_FILE, make_run_config
from transformer.ui.pages.training.own_pairs import parse_own_pairs, tsv
from transformer.ui.services.uploads import decode_text
from transformer.ui.widgets.corpus import MAX_UPLOAD_BYTES, corpus_of_upload

MAX_PAIR_BYTES = 100_000  # bytes of pairs: what the limit is does not matter here
PATIENCE = 5.0  # seconds of a processor that one use of a file may take
NAMES = ("../../x", "/etc/passwd", "pairs.tsv", "config.json", "lock", "a\0b", "CON", ".hidden")
ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32", "latin-1", "cp1252", "utf-7")


def content(chance: random.Random) -> bytes:
    """A file: mostly ragged, at times of another encoding, packed, of one line, or of noise."""
    kind = chance.randrange(40)
    if kind == 0:
        return chance.choice((b"a", b"a\t", b"\xc3\xa9", b"\0")) * chance.choice((10**6, 5 * 10**7))
    if kind < 4:
        return chance.randbytes(chance.choice((1, 100, 10_000)))
    if kind < 6:
        return gzip.compress(b"a" * chance.choice((10, 10**6)) + b"\tb\n")
    columns = chance.randint(1, 5)
    separator = chance.choice(("\t", "\t", "\t", ",", ";", " "))
    rows = [
        separator.join(cell(chance) for _ in range(chance.choice((columns, columns, 1, 7))))
        for _ in range(chance.choice((0, 1, 25, 25, 60, 6000 if kind == 6 else 30)))
    ]
    lines = chance.choice(("\n", "\n", "\r\n", "\r", "\x85", "\u2028")).join(rows)
    raw = lines.encode(chance.choice(ENCODINGS) if kind < 12 else "utf-8", "replace")
    return raw[: chance.randrange(len(raw) + 1)] if kind == 13 else raw


def cell(chance: random.Random) -> str:
    """A sentence, links, or something else."""
    n = chance.choice((0, 3, 5000))
    choices = ("I sleep .", "je dors .", "0-0 1-1", f"{'9' * n}-{'1' * n}", "0?1 1p0", '"', "1--1")
    return chance.choice((*choices, text(chance)))


@contextmanager
def opened(folder: Path) -> Iterator[Attack]:
    """The functions of the page and the command line, and the queue that stores files with runs."""
    longest = 0.0
    jobs = still_jobs(folder / "runs", disk_free=1)

    def once(chance: random.Random) -> None:
        nonlocal longest
        raw, name = content(chance), chance.choice((*NAMES, chance.choice(BITS), "x.tsv"))
        path = folder / chance.choice(("brought", "brought.gz"))
        path.write_bytes(raw)
        uses: tuple[Callable[[], object], ...] = (
            lambda: train(jobs, raw, name),
            lambda: measured(corpus_of_upload(raw, name)),
            lambda: measured(Corpus.read(path, chance.choice((None, path)))),
            lambda: [*read_pairs(path)],
            lambda: [*read_pairs(path, path)],
            lambda: jobs.submit(
                make_run_config(), "ann", {PAIRS_FILE: raw[:MAX_PAIR_BYTES], name: raw[:99]}
            ),
        )
        for use in uses:
            began = time.process_time()
            try:
                use()
            except ValueError as error:
                check_message(error)
            spent = time.process_time() - began
            longest = max(longest, spent)
            assert spent < PATIENCE, f"a file of {len(raw):,} bytes took {spent:.1f} s"
        for info in jobs.runs():
            assert info.status == "queued"
            jobs.delete(info.name, "ann")
        files = {path.name for path in folder.iterdir()} | {p.name for p in folder.parent.iterdir()}
        assert files <= {"runs", "brought", "brought.gz", *before}, f"a file got out: {files}"

    before = {path.name for path in folder.parent.iterdir()}
    yield Attack(once, lambda: f"at most {longest:.1f} s for one file")
    jobs.close()


def train(jobs: Jobs, raw: bytes, name: str) -> None:
    """Like the page: read, estimate, and queue with the pairs as the run stores them."""
    assert MAX_UPLOAD_BYTES >= MAX_PAIR_BYTES
    pairs = parse_own_pairs(decode_text(raw, name), name, MAX_PAIR_BYTES)
    config = make_run_config()
    assert workload(config, pairs).n_src > 0
    run = jobs.submit(config, "ann", {PAIRS_FILE: tsv(pairs)})
    stored_pairs = [*read_pairs(jobs.folder(run).path / PAIRS_FILE)]
    assert len(stored_pairs) == len(pairs)


def measured(corpus: Corpus) -> None:
    """What is taken can be asked about: it has a hash, and comes back from a file."""
    assert Corpus.from_dict(corpus.to_dict()).hash == corpus.hash
