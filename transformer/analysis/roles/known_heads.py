"""What the heads of a checkpoint are known for: the clearest of each sort, for its model card."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from transformer.analysis.alignment.leaderboard import leaderboard
from transformer.analysis.corpora import Corpus
from transformer.analysis.corpora.passes import Progress, part, silent
from transformer.analysis.roles.head_measures import HeadMeasures, measure_heads
from transformer.analysis.roles.head_roles import WITHIN_TEXTS
from transformer.inference import Translator

VERB = ("subject_verb", "object_verb", "adverb_verb")
COLUMNS = ("what", "kind", "layer", "head", "figure", "beside", "of")


def known_for(translator: Translator, corpus: Corpus, progress: Progress = silent) -> pd.DataFrame:
    """The clearest positional head, the one that finds the verb best, and the best aligner.

    Of each its place, its figure, and beside it what the figure is to be held against: the offset
    for the first, the best offset's own share for the second, the diagonal's alignment error for
    the third. A line is missing where the corpus has nothing to tell it by: links of a grammar, or
    gold alignments.
    """
    measured = measure_heads(translator, corpus, part(progress, 0, 0.6))
    lines = [_positional(measured), *_verb(measured)]
    if any(sentence.gold is not None for sentence in corpus.sentences):
        board = leaderboard(translator, corpus, part(progress, 0.6, 0.4)).table
        best = board[board["aligner"] == "head"].iloc[0]
        diagonal = float(board.loc[board["aligner"] == "diagonal", "aer"].iloc[0])
        way = f"aligns words, by {best['by']} at its {best['to']}: alignment error"
        place = ("cross", int(best["layer"]), int(best["head"]))
        lines.append((way, *place, float(best["aer"]), diagonal, "diagonal"))
    return pd.DataFrame(lines, columns=COLUMNS)


Line = tuple[str, str, int, int, float, float, str]


def _positional(measured: HeadMeasures) -> Line:
    table = measured.table()
    table = table[(table["kind"] == "encoder") & (table["offset"] != 0)]
    best = table.nlargest(1, "positional").iloc[0]
    place = ("encoder", int(best["layer"]), int(best["head"]))
    shares = float(best["positional"]), float(best["offset"])
    return ("looks at one offset", *place, *shares, "offset")


def _verb(measured: HeadMeasures) -> Iterator[Line]:
    """Against the offset that finds it most often (Voita et al. 2019, section 5.2)."""
    table = measured.table()
    encoder = table[table["kind"] == "encoder"]
    found = []
    for name in VERB:
        if encoder[name].notna().any():
            best = encoder.nlargest(1, name).iloc[0]
            offset, share = measured.best_offsets[name]
            more = float(best[name]) - share
            place = ("encoder", int(best["layer"]), int(best["head"]))
            label = WITHIN_TEXTS[name][1]
            found.append((more, (label, *place, float(best[name]), share, f"offset {offset:+d}")))
    if found:
        yield max(found)[1]
