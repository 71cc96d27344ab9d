"""Sentences with human-made dependency trees, from CoNLL-U files (Universal Dependencies).

https://universaldependencies.org/format.html: one word per line, ten columns separated by tabs, a
blank line after each sentence, and the sentence itself in the comment `# text = …`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from transformer.text import CorpusError
from transformer.text.corpus import read_lines

N_COLUMNS = 10
_ID = re.compile(r"\d{1,6}([-.]\d{1,6})?", re.ASCII)
RELATIONS = {"nsubj": "subject", "obj": "object", "amod": "adjective", "advmod": "adverb"}
"""Name in the built-in grammar of each universal relation; subtypes ("nsubj:pass") count too."""


@dataclass(frozen=True)
class Tree:
    """A sentence and its dependency tree.

    Attributes:
        id: `sent_id` of the file; parallel treebanks share it.
        text: the sentence as it is written.
        words: its tokens as they are written, contractions ("aux") as one; without spaces they
            make up the text.
        dependencies: relation, position of the governor and of the dependent in `words`, for the
            relations of `RELATIONS`.
    """

    id: str
    text: str
    words: tuple[str, ...]
    dependencies: tuple[tuple[str, int, int], ...]


def read_trees(path: str | os.PathLike[str]) -> list[Tree]:
    """Return the sentences of a CoNLL-U file, which may be compressed (.gz).

    Raises CorpusError, naming the line, for a line that is not CoNLL-U, and for a file without a
    sentence.
    """
    trees = [_tree(block, str(path)) for block in _blocks(read_lines(path))]
    if not trees:
        raise CorpusError(f"{path} has no sentence; a CoNLL-U file has one word per line.")
    return trees


def _blocks(lines: Iterable[str]) -> Iterator[list[tuple[int, str]]]:
    """Split numbered lines at blank ones."""
    block: list[tuple[int, str]] = []
    for number, raw in enumerate(lines, start=1):
        line = raw.rstrip("\r\n")
        if line:
            block.append((number, line))
        elif block:
            yield block
            block = []
    if block:
        yield block


def _tree(block: list[tuple[int, str]], path: str) -> Tree:
    comments = dict(
        line[1:].strip().split(" = ", 1) for _, line in block if line[0] == "#" and " = " in line
    )
    words: list[str] = []
    position: dict[str, int] = {}  # CoNLL-U id to the index in `words`
    arcs: list[tuple[str, str, str]] = []  # relation, governor's id, dependent's id
    contraction_end = 0
    for number, line in block:
        if line[0] == "#":
            continue
        columns = line.split("\t")
        if len(columns) != N_COLUMNS:
            raise CorpusError(
                f"{path}, line {number}: {len(columns)} columns; CoNLL-U has {N_COLUMNS}, "
                "separated by tabs."
            )
        name, form, governor, relation = columns[0], columns[1], columns[6], columns[7]
        if not _ID.fullmatch(name):
            raise CorpusError(
                f"{path}, line {number}: the first column is {name[:20]!r}; CoNLL-U has a word's "
                "number there, such as 3, 3-4 or 3.1."
            )
        if "." in name:  # an empty node, which is not written
            continue
        if "-" in name:  # a contraction; its parts follow and have no form of their own
            words.append(form)
            contraction_end = int(name.partition("-")[2])
            continue
        if int(name) > contraction_end:
            words.append(form)
        position[name] = len(words) - 1
        arcs.append((relation.partition(":")[0], governor, name))
    dependencies = tuple(
        (RELATIONS[relation], position[governor], position[dependent])
        for relation, governor, dependent in arcs
        if relation in RELATIONS and governor in position
        if position[governor] != position[dependent]
    )
    text = comments.get("text", " ".join(words))
    return Tree(comments.get("sent_id", ""), text, tuple(words), dependencies)
