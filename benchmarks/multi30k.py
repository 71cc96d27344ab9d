"""Reproduce a published result: BLEU on Multi30k's test2016, English to German.

    python -m benchmarks.multi30k FOLDER [--run-folder runs/multi30k] [--minutes 110]

Model and preprocessing are those of Wu et al. 2021 ("Good for Misconceived Reasons: An Empirical
Revisiting on the Need for Visual Context in Multimodal Machine Translation", Transformer-Tiny
without images): 4+4 layers, d_model 128, 4 heads, d_ff 256, one BPE vocabulary of 10,000 tokens for
both languages, dropout 0.3, label smoothing 0.1, text lowercased and tokenised by sacremoses, beam
size 5, the mean of the last ten saves. BLEU is computed on these tokens, as by multi-bleu. FOLDER
has train, val and test_2016_flickr as .en.gz and .de.gz; the data is not included. An interrupted
run resumes.
"""

from __future__ import annotations

import argparse
import gzip
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from sacrebleu.metrics.bleu import BLEU, BLEUScore
from sacremoses import MosesPunctNormalizer, MosesTokenizer

from transformer import Translator
from transformer.config import ModelConfig, TrainingConfig
from transformer.run_config import FilesRun
from transformer.text import Vocabulary, read_pairs
from transformer.text.files import atomic_path
from transformer.training.command import train_command
from transformer.training.quality import evaluate
from transformer.training.run import RunFolder

PUBLISHED = 41.02  # Wu et al. 2021, Transformer-Tiny, only text, test2016 En-De
PIECES = 10_000
SHAPE = ModelConfig(vocab_size=PIECES, d_model=128, n_layers=4, n_heads=4, d_ff=256, dropout=0.3)


def settings(steps: int, minutes: float) -> TrainingConfig:
    """Return batches of about 4,096 target positions, a peak rate of 0.005, and about 120 steps per
    epoch."""
    return TrainingConfig(
        steps=steps,
        minutes=minutes,
        batch_tokens=8192,
        warmup=min(2000, max(1, steps // 4)),
        learning_rate=0.005,
        cooldown=0.3,
        save_every=min(120, max(1, steps // 10)),
        valid_every=500,
        average=10,
    )


def sentences(path: Path, language: str) -> Iterator[str]:
    """Yield the lines of a file, normalised, tokenised and lowercased."""
    normalise = MosesPunctNormalizer(lang=language).normalize
    tokenise = MosesTokenizer(lang=language).tokenize
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield str(tokenise(normalise(line.strip()), return_str=True, escape=False)).lower()


def prepare(folder: Path, run: RunFolder) -> dict[str, Path]:
    """Create the run's tables and its vocabulary, if they do not exist; return the tables."""
    run.path.mkdir(parents=True, exist_ok=True)
    tables = {}
    for part in ("train", "val", "test_2016_flickr"):
        tables[part] = run.path / f"{part}.tsv"
        if tables[part].is_file():
            continue
        sides = [sentences(folder / f"{part}.{language}.gz", language) for language in ("en", "de")]
        text = "".join(f"{src}\t{tgt}\n" for src, tgt in zip(*sides, strict=True))
        with atomic_path(tables[part]) as temporary:
            temporary.write_text(text, encoding="utf-8")
    if not run.vocabulary_path.is_file():
        lines = chain.from_iterable(read_pairs(tables["train"]))
        Vocabulary.train(lines, PIECES, model_type="bpe").save(run.vocabulary_path)
    return tables


def bleu(run: RunFolder, table: Path, beam: int = 5) -> BLEUScore:
    """Return BLEU of the run's checkpoint over a table of tokenised pairs."""
    sources, targets = zip(*read_pairs(table), strict=True)
    translator = Translator.load(run.checkpoint_path)
    _, hypotheses = evaluate(translator, sources, [[target] for target in targets], beam_size=beam)
    return BLEU(tokenize="none", force=True).corpus_score(hypotheses, [targets])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--run-folder", default="runs/multi30k")
    parser.add_argument("--minutes", type=float, default=110)
    parser.add_argument("--steps", type=int, default=9000)
    options = parser.parse_args()
    run = RunFolder(options.run_folder)
    tables = prepare(options.folder, run)
    run_config = FilesRun(
        train=(str(tables["train"]),),
        valid=(str(tables["val"]),),
        model=SHAPE,
        training=settings(options.steps, options.minutes),
    )
    train_command(options.run_folder, run_config)
    score = bleu(run, tables["test_2016_flickr"])
    state = run.state()
    print(f"{state['step']:,} steps in {state['seconds'] / 60:.0f} minutes, {state['precision']}")
    print(f"BLEU on test2016, beam 5: {score.score:.2f} ({score})")
    print(f"Wu et al. 2021: {PUBLISHED}; a difference of {score.score - PUBLISHED:+.2f}")


if __name__ == "__main__":
    main()
