"""Compare the browser's tokenizer with SentencePiece: lines of text with different ids.

    python -m benchmarks.pieces CHECKPOINT FILE [FILE …]

Each FILE is text in UTF-8, compressed with gzip if its name ends in `.gz`. Every line is encoded
with the checkpoint's vocabulary, by the sentencepiece package and by `browser/model/vocabulary.js`
in deno, a development requirement. Prints how many lines differ, the first of them, and the speed
of both.
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
BATCH = 50_000  # lines that one deno process encodes
MAX_EXAMPLES = 5
SCRIPT = """
const [module, model, file] = Deno.args;
const { Vocabulary } = await import(module);
const vocabulary = new Vocabulary(Deno.readFileSync(model));
const texts = JSON.parse(Deno.readTextFileSync(file));
const start = performance.now();
const ids = texts.map((text) => vocabulary.encode(text));
console.log(JSON.stringify({ ids, seconds: (performance.now() - start) / 1000 }));
"""


def read_lines(path: Path) -> Iterator[str]:
    """Return the lines of a text file without their ends; only a newline ends a line."""
    open_text = gzip.open if path.suffix == ".gz" else open
    with open_text(path, "rt", encoding="utf-8", newline="\n") as file:
        for line in file:
            yield line.removesuffix("\n")


def browser_ids(model: Path, texts: Sequence[str]) -> tuple[list[list[int]], float]:
    """Return the ids of every text by the site's script, and the seconds of encoding.

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
        process = subprocess.run(
            [*command, module, str(model), str(file)], capture_output=True, encoding="utf-8"
        )
    if process.returncode:
        raise RuntimeError(f"deno ended with an error: {process.stderr.strip()}")
    result = json.loads(process.stdout)
    return result["ids"], result["seconds"]


def compare(model: Path, texts: Iterable[str]) -> tuple[int, list[str], float, float]:
    """Return the number of texts, those whose ids differ, and the seconds of SentencePiece and of
    the browser's script."""
    vocabulary = Vocabulary.load(model)
    count, different, browser_seconds, package_seconds = 0, [], 0.0, 0.0
    lines = iter(texts)
    while batch := list(itertools.islice(lines, BATCH)):
        start = time.perf_counter()
        expected = [vocabulary.encode(text) for text in batch]
        package_seconds += time.perf_counter() - start
        actual, seconds = browser_ids(model, batch)
        browser_seconds += seconds
        count += len(batch)
        different += [text for text, a, b in zip(batch, expected, actual, strict=True) if a != b]
    return count, different, package_seconds, browser_seconds


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pieces", description=__doc__)
    parser.add_argument("checkpoint", type=Path, help="folder of a checkpoint")
    parser.add_argument("files", type=Path, nargs="+", help="text in UTF-8, or gzipped: .gz")
    options = parser.parse_args(arguments)
    model = options.checkpoint / VOCABULARY
    totals = [0, 0, 0.0, 0.0]
    for path in options.files:
        count, different, *seconds = compare(model, read_lines(path))
        totals = [a + b for a, b in zip(totals, [count, len(different), *seconds], strict=True)]
        print(f"{path.name:<34} {count:>9,} lines, {len(different):,} differ", flush=True)
        for text in different[:MAX_EXAMPLES]:
            print(f"    {text!r}")
    count, n_different, package_seconds, browser_seconds = totals
    speeds = (
        f"sentencepiece {count / package_seconds:,.0f} lines/s, "
        f"the browser's script {count / browser_seconds:,.0f}"
    )
    print(f"{'all':<34} {count:>9,} lines, {n_different:,} differ; {speeds}")


if __name__ == "__main__":
    main()
