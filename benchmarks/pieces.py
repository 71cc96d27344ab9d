"""The browser's tokenizer and SentencePiece: lines of text that they split differently.

    python -m benchmarks.pieces CHECKPOINT FILE [FILE …]

Each FILE is text in UTF-8, with gzip if its name ends in `.gz`. Every line is encoded with the
checkpoint's vocabulary by the sentencepiece package and by `browser/model/vocabulary.js` in deno,
which comes with the development requirements. Prints how many lines differ, the first of them, and
the speed of both.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from transformer.checkpoint import VOCABULARY
from transformer.figures.live_page import BROWSER
from transformer.text.vocabulary import Vocabulary

DENO = Path(sys.executable).with_name("deno")
BATCH = 50_000  # lines that one process of deno encodes
SHOWN = 5
SCRIPT = """
const [module, model, file] = Deno.args;
const { Vocabulary } = await import(module);
const vocabulary = new Vocabulary(Deno.readFileSync(model));
const texts = JSON.parse(Deno.readTextFileSync(file));
const start = performance.now();
const ids = texts.map((text) => vocabulary.encode(text));
console.log(JSON.stringify({ ids, seconds: (performance.now() - start) / 1000 }));
"""


def lines_of(path: Path) -> Iterator[str]:
    """The lines of a text file without their ends; only a newline ends a line."""
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8", newline="\n") as file:
        for line in file:
            yield line.removesuffix("\n")


def browser_ids(model: Path, texts: Sequence[str]) -> tuple[list[list[int]], float]:
    """The ids of every text as the site's script gives them, and the seconds of encoding.

    Args:
        model: the checkpoint's `vocabulary.model`.

    Raises:
        RuntimeError: if deno ends with an error.
    """
    module = (BROWSER / "model" / "vocabulary.js").as_uri()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "texts.json"
        file.write_text(json.dumps(texts), encoding="utf-8")
        script = Path(folder) / "script.js"
        script.write_text(SCRIPT, encoding="utf-8")
        command = [str(DENO), "run", "--quiet", "--allow-read", str(script)]
        done = subprocess.run(
            [*command, module, str(model), str(file)], capture_output=True, encoding="utf-8"
        )
    if done.returncode:
        raise RuntimeError(f"deno ended with an error: {done.stderr.strip()}")
    answer = json.loads(done.stdout)
    return answer["ids"], answer["seconds"]


def compare(model: Path, texts: Iterable[str]) -> tuple[int, list[str], float, float]:
    """Return the count of texts, those whose ids differ, and the seconds of SentencePiece and of
    the browser's script."""
    vocabulary = Vocabulary.load(model)
    count, different, ours, theirs = 0, [], 0.0, 0.0
    lines = iter(texts)
    while batch := list(itertools.islice(lines, BATCH)):
        start = time.perf_counter()
        expected = [vocabulary.encode(text) for text in batch]
        theirs += time.perf_counter() - start
        found, seconds = browser_ids(model, batch)
        ours += seconds
        count += len(batch)
        different += [text for text, a, b in zip(batch, expected, found, strict=True) if a != b]
    return count, different, theirs, ours


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pieces", description=__doc__)
    parser.add_argument("checkpoint", type=Path, help="folder of a checkpoint")
    parser.add_argument("files", type=Path, nargs="+", help="text in UTF-8, or with gzip: .gz")
    given = parser.parse_args(arguments)
    model = given.checkpoint / VOCABULARY
    totals = [0, 0, 0.0, 0.0]
    for path in given.files:
        count, different, *seconds = compare(model, lines_of(path))
        totals = [a + b for a, b in zip(totals, [count, len(different), *seconds], strict=True)]
        print(f"{path.name:<34} {count:>9,} lines, {len(different):,} differ", flush=True)
        for text in different[:SHOWN]:
            print(f"    {text!r}")
    count, wrong, theirs, ours = totals
    speeds = (
        f"sentencepiece {count / theirs:,.0f} lines/s, the browser's script {count / ours:,.0f}"
    )
    print(f"{'all':<34} {count:>9,} lines, {wrong:,} differ; {speeds}")


if __name__ == "__main__":
    main()
