"""Quality of translations: of text as visitors type it, and of news sentences.

    python -m benchmarks.quality [CHECKPOINT ...] [--pud FOLDER] [--beam 4]

Prints for each checkpoint how many of thirty everyday sentences keep their translation without the
final punctuation mark or with changed case, and the translations of greetings. With `--pud`, the
folder of the Universal Dependencies PUD treebanks (`en_pud-ud-test.conllu.gz` and that of the
target language), it also translates their 1,000 sentences and prints BLEU, chrF, repeated trigrams
in the output and in the reference, and words with a repeated syllable ("Markterererer") in the
first 500. `python -m transformer evaluate` prints BLEU and chrF on other files.
"""

from __future__ import annotations

import gzip
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from benchmarks.harness import option_parser
from transformer.inference import Translator
from transformer.inference.device import describe_computed
from transformer.text.typing_noise import without_final_mark
from transformer.training.quality import score

EVERYDAY_SENTENCES = """I am a student.
She is reading a book in the garden.
We went to the market yesterday.
Do you want a cup of tea?
My brother works in a big hospital.
The children are playing outside.
I forgot my keys at home.
Can you help me, please?
The train leaves at nine o'clock.
He has never been to London.
It will rain tomorrow.
This soup is too hot.
Where did you buy this bag?
They live in a small house near the river.
I would like to learn German.
Please close the window.
The dog is sleeping under the table.
What are you doing tonight?
I don't like coffee.
My aunt is a very good cook.
We have been waiting for an hour.
The shop is closed on Sunday.
He gave me a beautiful flower.
Why are you so late?
I can't find my phone.
She speaks three languages.
The cat ran across the street.
You should see a doctor.
There are many people in the museum.
I will call you when I arrive.""".splitlines()

GREETINGS: dict[str, dict[str, tuple[str, ...]]] = {
    "Hello": {"fr": ("bonjour", "salut"), "de": ("hallo",)},
    "Hi": {"fr": ("salut", "bonjour"), "de": ("hallo", "hi")},
    "good morning": {"fr": ("bonjour",), "de": ("guten morgen",)},
    "thank you very much": {
        "fr": ("merci beaucoup", "merci bien"),
        "de": ("vielen dank", "danke schön", "herzlichen dank", "danke sehr"),
    },
    "HELLO WORLD": {
        "fr": ("bonjour le monde", "salut le monde", "bonjour tout le monde"),
        "de": ("hallo welt", "hallo, welt"),
    },
}
"""Correct translations by target language, in lower case and without final punctuation."""

REPEATED_SYLLABLE = re.compile(r"(\w{2,4})\1{2,}")
N_CHECKED_SENTENCES = 500


def plain(text: str) -> str:
    """Return the text in lower case, without final punctuation and the space before it."""
    return re.sub(r"\s*[.!?…]+$", "", text.strip().lower())


def repeated_trigrams(texts: Sequence[str]) -> int:
    """Return how many word trigrams occur again within their own text, over all texts."""
    total = 0
    for text in texts:
        words = text.lower().split()
        counts = Counter(zip(words, words[1:], words[2:], strict=False))
        total += sum(count - 1 for count in counts.values())
    return total


def words_with_repeated_syllables(texts: Sequence[str]) -> list[str]:
    """Return the words in which two to four letters occur three times in a row; digits do not
    count."""
    words = (word for text in texts for word in text.split())
    return [word for word in words if REPEATED_SYLLABLE.search(re.sub(r"[\d_]", "-", word))]


def pud_sentences(path: Path) -> list[str]:
    """Return the `# text` lines of a gzipped CoNLL-U file."""
    with gzip.open(path, "rt", encoding="utf8") as file:
        return [line[9:].rstrip("\n") for line in file if line.startswith("# text = ")]


def report_typed(translator: Translator, language: str, beam: int) -> None:
    """Print how many translations change without punctuation or in lower or upper case, and the
    translations of greetings."""

    def translate(texts: Sequence[str]) -> list[str]:
        return [result.text for result in translator.translate_batch(texts, beam_size=beam)]

    reference = translate(EVERYDAY_SENTENCES)
    for name, change in (
        ("without the final mark", lambda text: without_final_mark(text, text)[0]),
        ("first letter in lower case", lambda text: text[:1].lower() + text[1:]),
        ("all in lower case", str.lower),
        ("all in upper case", str.upper),
    ):
        typed = translate([change(text) for text in EVERYDAY_SENTENCES])
        unchanged = [plain(a) == plain(b) for a, b in zip(reference, typed, strict=True)]
        print(f"  {name}: {sum(unchanged)} of {len(unchanged)} translations unchanged")
    for source, output in zip(GREETINGS, translate(list(GREETINGS)), strict=True):
        verdict = "right" if plain(output) in GREETINGS[source][language] else "WRONG"
        print(f"  {source!r} -> {output!r}  {verdict}")


def report_pud(translator: Translator, language: str, folder: Path, beam: int) -> None:
    """Print BLEU, repeated trigrams and words with repeated syllables on PUD."""
    source = pud_sentences(folder / "en_pud-ud-test.conllu.gz")
    reference = pud_sentences(folder / f"{language}_pud-ud-test.conllu.gz")
    output: list[str] = []
    for start in range(0, len(source), 50):
        part = source[start : start + 50]
        output += [result.text for result in translator.translate_batch(part, beam_size=beam)]
    scores = score(output, [[text] for text in reference])
    matches = words_with_repeated_syllables(output[:N_CHECKED_SENTENCES])
    print(f"  PUD, {len(source)} sentences: BLEU {scores['bleu']:.2f}, chrF {scores['chrf']:.2f}")
    print(
        f"  repeated trigrams: {repeated_trigrams(output)} in the output, "
        f"{repeated_trigrams(reference)} in the reference"
    )
    count = f"{len(matches)} in the first {N_CHECKED_SENTENCES} sentences"
    print(f"  words with a repeated syllable: {count} {matches[:8]}")


def main() -> None:
    parser = option_parser(__doc__)
    parser.add_argument(
        "checkpoints", nargs="*", default=["checkpoints/en-fr", "checkpoints/en-de"]
    )
    parser.add_argument("--pud", type=Path, help="folder of the PUD treebanks, gzipped CoNLL-U")
    parser.add_argument("--beam", type=int, default=4)
    options = parser.parse_args()
    for checkpoint in options.checkpoints:
        translator = Translator.load(checkpoint)
        language = "de" if "de" in Path(checkpoint).resolve().name.split("-") else "fr"
        print(f"{checkpoint}, beam size {options.beam}")
        print(describe_computed(translator.computed_with))
        report_typed(translator, language, options.beam)
        if options.pud:
            report_pud(translator, language, options.pud, options.beam)


if __name__ == "__main__":
    main()
