"""Create the split that `checkpoints/en-fr` or `en-de` was trained on, from the public file.

    python docs/tatoeba.py fra.txt pairs/fr
    python docs/tatoeba.py deu.txt pairs/de

The files are in archives of manythings.org/anki (sentences of tatoeba.org, CC BY 2.0), English with
French or German; the checkpoints used those of 2019-04-07 and 2018-05-13. English sentences that
differ only in case, punctuation and common contractions form a group, and each group is in one part
only. `tatoeba-held-out-*.txt` lists the groups of validation and test as hashes, so that the
repository contains none of their sentences. The original split also left out some other English
sentences, of which there is no list; here `train` includes them.
"""

from __future__ import annotations

import gzip
import hashlib
import re
import sys
from contextlib import ExitStack
from pathlib import Path

HELD_OUT = {
    name: Path(__file__).with_name(f"tatoeba-held-out-{code}.txt")
    for name, code in (("fra.txt", "fr"), ("deu.txt", "de"))
}
PARTS = ("train", "val", "test")

CONTRACTIONS = (
    (r"\bwon't\b", "will not"),
    (r"\bcan't\b", "can not"),
    (r"n't\b", " not"),
    (r"'m\b", " am"),
    (r"'re\b", " are"),
    (r"'ll\b", " will"),
)


def group(english: str) -> str:
    """Return 16 hexadecimal digits that are equal for sentences of one group."""
    text = english.lower().replace("’", "'")
    for pattern, full in CONTRACTIONS:
        text = re.sub(pattern, full, text)
    words = re.findall(r"\w+", text)
    return hashlib.sha256(" ".join(words).encode()).hexdigest()[:16]


def held_out(name: str) -> dict[str, str]:
    """Return the part, "val" or "test", of every held-out group of this public file."""
    lines = HELD_OUT[name].read_text(encoding="ascii").split("\n")
    return {line.split()[1]: line.split()[0] for line in lines if line}


def main(source: Path, folder: Path) -> None:
    parts, counts = held_out(source.name), dict.fromkeys(PARTS, 0)
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        files = {
            part: stack.enter_context(gzip.open(folder / f"{part}.tsv.gz", "wt", encoding="utf-8"))
            for part in PARTS
        }
        for line in source.open(encoding="utf-8"):
            english, translation = line.rstrip("\n").split("\t")[:2]
            part = parts.get(group(english), "train")
            files[part].write(f"{english}\t{translation}\n")
            counts[part] += 1
    print(", ".join(f"{part} {count:,} pairs" for part, count in counts.items()))


if __name__ == "__main__":
    if len(sys.argv) != 3 or Path(sys.argv[1]).name not in HELD_OUT:
        sys.exit(__doc__)
    main(Path(sys.argv[1]), Path(sys.argv[2]))
