"""Make more training pairs from existing ones: other names and numbers, joined sentences.

    python docs/extra_pairs.py OUT EUROPARL.tsv.gz de=PAIRS.tsv.gz fr=PAIRS.tsv.gz

Writes for every language, in the order of the arguments and from one random generator:

- `extra-LANGUAGE.tsv`: up to 30,000 pairs with other names and numbers on both sides, and 50,000
  pairs joined from two to four sentences by a comma and a conjunction, or by a semicolon.
- `phrases-LANGUAGE.tsv`: the pairs of `docs/phrases.tsv`.
- `variants-LANGUAGE.tsv`: each of them without its final mark, in lower case and in upper case.

Names are those that occur on both sides of a Europarl pair, but fewer than 400 times, and invented
ones, so that the model learns to copy what it has never seen.
"""

from __future__ import annotations

import argparse
import gzip
import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

Pair = tuple[str, str]

N_RENAMED, N_JOINED = 30_000, 50_000
MAX_NAME_COUNT = 400
CONSONANTS = "b c d f g h j k l m n p r s t v w z br ch dr fr gr kl kr pr sch sh st th tr"
VOWELS = "a e i o u ai ei ie au oo ou ea ä ö ü é"
N_COMMON_VOWELS = 5
ENDINGS = " n r l s t ck m nn rt ld ng son man ton berg i a o e"

# The most frequent names in the English sentences of Tatoeba.
FREQUENT_NAMES = (
    "Tom Mary John Boston Jim Ken Bob Maria Jack Bill Nancy Emily Betty Tony Fred Jane Mike Ann "
    "Marie Jackson Sami Layla Kate George Linda"
)
# First words that are written in lower case in the middle of a sentence.
LOWER_CASE = {
    "en": "he she it we they you this that there my his her our their the a an in on at when if "
    "some many all no one i",
    "de": "ich er sie es wir ihr du das der die dies diese dieser dieses ein eine einen mein meine "
    "sein seine unser unsere in auf am im wenn man alle niemand hier heute dort manche viele kein "
    "keine was wo wer wie",
    "fr": "je j'ai il elle ils elles nous vous tu on ce c'est cette ces le la les un une des mon "
    "ma mes son sa ses notre nos leur leurs dans en sur quand si aujourd'hui ici tous personne",
}
ALWAYS_CAPITAL = ("I", "I'm", "I've", "I'll", "I'd")
# English and translated text between two sentences; "and" is twice as frequent as the others.
CONJUNCTIONS = {
    "de": [(", and ", ", und "), (", but ", ", aber "), ("; ", "; "), (", and ", ", und ")],
    "fr": [(", and ", ", et "), (", but ", ", mais "), (" and ", " et "), ("; ", " ; ")],
}


def read_pairs(path: Path) -> Iterator[Pair]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            fields = line.rstrip("\n").split("\t")
            if len(fields) >= 2:
                yield fields[0], fields[1]


def europarl_names(pairs: Iterable[Pair]) -> list[str]:
    """Return the capitalised words on both sides of a pair, except frequent ones."""
    counts: Counter[str] = Counter()
    for source, target in pairs:
        in_target = set(re.findall(r"[A-Z][a-zA-Zà-ÿÀ-Ý'-]{2,}", target))
        for word in re.findall(r"(?<=[a-z,] )[A-Z][a-zA-Zà-ÿÀ-Ý'-]{2,}", source):
            if word in in_target:
                counts[word] += 1
    return [name for name, count in counts.items() if count < MAX_NAME_COUNT]


class Generator:
    """Random names, numbers and joined sentences."""

    def __init__(self, names: list[str], seed: int = 7) -> None:
        self._names, self._random = names, random.Random(seed)

    def extra_pairs(self, pairs: list[Pair], language: str) -> list[Pair]:
        """Return pairs with replaced names and numbers, then joined pairs."""
        renamed = [pair for pair in (self._replace(*pair) for pair in pairs) if pair]
        selection = list(renamed)
        self._random.shuffle(selection)
        return selection[:N_RENAMED] + self._join(pairs + renamed, language)

    def _replace(self, source: str, target: str) -> Pair | None:
        """Replace frequent names and numbers on both sides; None if there is none."""
        before = (source, target)
        for name in FREQUENT_NAMES.split():
            word = re.compile(rf"\b{name}\b")
            if word.search(source) and word.search(target):
                new_name = self._full_name()
                if name + "s " in target:  # a genitive
                    continue
                source, target = word.sub(new_name, source), word.sub(new_name, target)
        for digits in sorted(set(re.findall(r"(?<![\d:.,])\d{2,4}(?![\d:,.]\d)", source))):
            word = re.compile(rf"\b{digits}\b")
            if word.search(target) and len(word.findall(source)) == 1:
                number = self._number()
                source, target = word.sub(number, source), word.sub(number, target)
        return None if (source, target) == before else (source, target)

    def _full_name(self) -> str:
        draw = self._random.random()
        if draw < 0.5:
            return self._name()
        if draw < 0.9:
            return f"{self._name()} {self._name()}"
        return f"{self._name()} {self._name()[0]}. {self._name()}"

    def _name(self) -> str:
        if self._random.random() < 0.6:
            return self._random.choice(self._names)
        syllables, vowels = "", VOWELS.split()
        for _ in range(self._random.choice([1, 2, 2, 3])):
            syllables += self._random.choice(CONSONANTS.split())
            common = self._random.random() < 0.8
            syllables += self._random.choice(vowels[:N_COMMON_VOWELS] if common else vowels)
        return (syllables + self._random.choice(ENDINGS.split(" "))).capitalize()

    def _number(self) -> str:
        draw = self._random.random()
        low, high = (1900, 2020) if draw < 0.4 else (11, 99) if draw < 0.75 else (100, 999)
        return str(self._random.randint(low, high))

    def _join(self, pairs: list[Pair], language: str) -> list[Pair]:
        """Return pairs of two to four statements in one sentence."""
        statements = [
            (source, target)
            for source, target in pairs
            if source.endswith(".") and target.endswith(".") and 4 <= len(source.split()) <= 14
        ]
        continuations = []
        for source, target in statements:
            lower_source = lower_first(source, "en")
            lower_target = lower_first(target, language)
            if lower_source and lower_target:
                continuations.append((lower_source, lower_target))
        joined = []
        for _ in range(N_JOINED):
            source, target = self._random.choice(statements)
            for _ in range(self._random.choice([1, 1, 1, 2, 2, 3])):
                next_source, next_target = self._random.choice(continuations)
                conjunction, translated_conjunction = self._random.choice(CONJUNCTIONS[language])
                source = source[:-1] + conjunction + next_source
                target = target[:-1].rstrip() + translated_conjunction + next_target
            joined.append((source, target))
        return joined


def lower_first(sentence: str, language: str) -> str | None:
    """Return the sentence as it continues another one; None if its first word may be a name."""
    first = sentence.split(" ", 1)[0]
    if language == "en" and first in ALWAYS_CAPITAL:
        return sentence
    if first.lower() not in LOWER_CASE[language].split():
        return None
    return sentence[0].lower() + sentence[1:]


def phrase_variants(source: str, target: str) -> list[Pair]:
    """Return a phrase without its final mark, in lower case and in upper case."""
    bare_source, bare_target = source.rstrip(".!?"), target.rstrip(".!?").rstrip()
    return [
        (bare_source, bare_target),
        (source.lower(), target),
        (bare_source.lower(), bare_target),
        (source.upper(), target.upper()),
        (bare_source.upper(), bare_target.upper()),
    ]


def write_pairs(path: Path, pairs: Iterable[Pair]) -> None:
    path.write_text("".join(f"{source}\t{target}\n" for source, target in pairs), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path, help="folder for the files")
    parser.add_argument("europarl", type=Path, help="pairs that contain names")
    parser.add_argument("pairs", nargs="+", help="LANGUAGE=FILE, pairs of English and de or fr")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    generator = Generator(europarl_names(read_pairs(options.europarl)))
    table = (Path(__file__).parent / "phrases.tsv").read_text(encoding="utf-8")
    rows = [line.split("\t") for line in table.splitlines()]
    for argument in options.pairs:
        language, _, path = argument.partition("=")
        if language not in CONJUNCTIONS or not path:
            parser.error(
                f"{argument!r} is not LANGUAGE=FILE with the language {', '.join(CONJUNCTIONS)}"
            )
        extra = generator.extra_pairs(list(read_pairs(Path(path))), language)
        write_pairs(options.out / f"extra-{language}.tsv", extra)
        column = {"fr": 1, "de": 2}[language]
        phrases = [(row[0], row[column]) for row in rows if len(row) >= 3]
        write_pairs(options.out / f"phrases-{language}.tsv", phrases)
        variants = [variant for phrase in phrases for variant in phrase_variants(*phrase)]
        write_pairs(options.out / f"variants-{language}.tsv", variants)


if __name__ == "__main__":
    main()
