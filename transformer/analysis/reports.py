"""What can be asked of a checkpoint over a corpus, by name: for the shell and for the pages.

Each of `REPORTS` makes a `Report`: a table, and everything else as JSON can hold it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from transformer.analysis.alignment.leaderboard import leaderboard
from transformer.analysis.corpora import Corpus
from transformer.analysis.corpora.passes import Progress, part, silent
from transformer.analysis.findings import FINDINGS, Published
from transformer.analysis.importance.ablation import leave_one_out, measure_without
from transformer.analysis.importance.by_gradient import BY, gradient_importances
from transformer.analysis.importance.pruning import kinds_pruned, pruning_curve
from transformer.analysis.inside.decoder_lens import bleu_by_encoder_layer
from transformer.analysis.interventions.switching import Head, named_heads
from transformer.analysis.roles.head_measures import HeadMeasures, measure_heads
from transformer.analysis.roles.head_roles import RULES, WITHIN_TEXTS, head_roles
from transformer.config import did_you_mean
from transformer.inference import Translator
from transformer.inference.translator import load_unchanged
from transformer.measures import MEASURES

MAX_OFFSET = 16
"""Offsets beyond are counted here: of a distribution people look at the middle."""


@dataclass(frozen=True)
class Report:
    """Figures of one checkpoint over one corpus.

    Attributes:
        table: the figures, a line a head, an aligner or a point of a curve.
        more: what does not fit a table.
    """

    what: str
    corpus: Corpus
    table: pd.DataFrame
    more: Mapping[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """As JSON can hold it: "what", "corpus" (its name, hash and number of sentences), "table"
        (a list of lines; null where a figure has no meaning) and what `more` holds."""
        about = {"name": self.corpus.name, "hash": self.corpus.hash, "sentences": len(self.corpus)}
        lines = json.loads(self.table.to_json(orient="records", double_precision=15))
        return {"what": self.what, "corpus": about, "table": lines, **self.more}


def report(
    translator: Translator,
    corpus: Corpus,
    what: str,
    options: Mapping[str, Any] | None = None,
    progress: Progress = silent,
) -> Report:
    """Measure `what`, one of `REPORTS`.

    Args:
        options: of "ablation" and "without": bleu, whether to translate the corpus each time as
            well; of "without": heads, those that are off, as "e3.2,c5".

    Raises:
        ValueError: for something else to measure or another option, and as the measuring does.
    """
    if what not in REPORTS:
        raise ValueError(
            f"{what!r} cannot be measured: choose one of {', '.join(REPORTS)}"
            f"{did_you_mean(what, REPORTS)}"
        )
    for name in options or {}:
        if name not in OPTIONS.get(what, ()):
            raise ValueError(f"{what} has no option {name!r}")
    table, more = REPORTS[what](translator, corpus, progress, **(options or {}))
    return Report(what, corpus, table, more)


def compute(given: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """What `analyse --json` writes, for a checkpoint that must still be the one asked about.

    Args:
        given: "checkpoint", its folder; "hash"; "corpus", as `Corpus.to_dict`; "what"; "options".

    Raises:
        ValueError, OSError: for a checkpoint that is another by now, and as the measuring does.
    """
    progress(0.0, "loading the model")
    translator = load_unchanged(given["checkpoint"], given["hash"])
    corpus = Corpus.from_dict(given["corpus"])
    return report(translator, corpus, given["what"], given["options"], progress).to_dict()


Made = tuple[pd.DataFrame, dict[str, Any]]


def _heads(translator: Translator, corpus: Corpus, progress: Progress) -> Made:
    """A card for every head, and beside it how many rows have their greatest weight at each offset
    ("offsets"); "texts" are the sentences that its "strongest" count from 0."""
    measured = measure_heads(translator, corpus, progress)
    made, keys = head_roles(measured), measured.strongest_keys
    table = measured.table()
    table.insert(3, "role", [card.role.group for card in made])
    table.insert(4, "does", [card.role.text for card in made])
    decode = translator.vocabulary.decode
    texts = [
        [sentence.source, decode(pair.out)]
        for sentence, pair in zip(corpus.sentences, measured.pairs, strict=True)
    ]
    chance = {
        kind: {name: None if value != value else value for name, value in found.items()}
        for kind, found in measured.chance.items()
    }
    own = sum(pair.own for pair in measured.pairs)
    return table, {
        "cards": [card.to_dict() for card in made],
        "offsets": [
            [list(pair) for pair in zip(counts.index.tolist(), counts.tolist(), strict=True)]
            for counts in (keys[c.kind].offsets(c.layer, c.head, MAX_OFFSET) for c in made)
        ],
        "chance": chance,
        "best_offsets": {name: list(best) for name, best in measured.best_offsets.items()},
        "texts": texts,
        "own_translations": own,
        "rules": RULES,
        "measures": {one.name: one.note for one in MEASURES.values()},
    }


def _known(translator: Translator, corpus: Corpus, progress: Progress) -> Made:
    """The clearest heads, for a model card."""
    return known_for(translator, corpus, progress), {}


def _alignment(translator: Translator, corpus: Corpus, progress: Progress) -> Made:
    """The leaderboard of heads."""
    board = leaderboard(translator, corpus, progress)
    return board.table, {
        "counted": board.n_sentences,
        "left_out": list(board.left_out),
        "taught": board.n_taught,
    }


def _importance(translator: Translator, corpus: Corpus, progress: Progress) -> Made:
    """Michel et al. 2019, as it is and normalised within its layer: by their equation for each
    sentence, and by their program for each position ("position")."""
    found = gradient_importances(translator, corpus, progress=progress)
    table = found["sentence"].to_frame()
    table["normalised"] = found["sentence"].normalised().to_frame()["importance"]
    table["position"] = found["position"].to_frame()["importance"]
    table["position_normalised"] = found["position"].normalised().to_frame()["importance"]
    return table, {}


def _ablation(
    translator: Translator, corpus: Corpus, progress: Progress, bleu: bool = False
) -> Made:
    """Each head left out in its turn."""
    found = leave_one_out(translator, corpus, bleu=bleu, progress=progress)
    return found.to_frame(), {"loss": found.loss, "bleu": found.bleu}


def _without(
    translator: Translator, corpus: Corpus, progress: Progress, heads: str = "", bleu: bool = False
) -> Made:
    """All of these heads off together."""
    found = named_heads(translator.model.config, heads)
    made = measure_without(translator, corpus, [found], bleu=bleu, progress=progress)
    table = made.to_frame().drop(columns=["kind", "layer", "head"], errors="ignore")
    return table, {"loss": made.loss, "bleu": made.bleu}


def _kinds(translator: Translator, corpus: Corpus, progress: Progress) -> Made:
    """Each kind of heads pruned alone, the least important first, and by chance."""
    orders = _orders(translator, corpus, part(progress, 0, 0.1))
    return kinds_pruned(translator, corpus, orders, progress=part(progress, 0.1, 0.9)), {}


def _pruning(translator: Translator, corpus: Corpus, progress: Progress) -> Made:
    """More and more heads off, the least important first, as many at a time as a layer has; a
    curve for each reading of importance."""
    orders = _orders(translator, corpus, part(progress, 0, 0.1))
    curves = []
    for n, (name, order) in enumerate(orders.items()):
        counts = range(0, len(order) + 1, translator.model.config.n_heads)
        then = part(progress, 0.1 + 0.45 * n, 0.45)
        curve = pruning_curve(translator, corpus, order, counts=counts, progress=then)
        curve.insert(0, "order", name)
        curves.append(curve)
    listed = {name: [list(head) for head in order] for name, order in orders.items()}
    return pd.concat(curves, ignore_index=True), {"orders": listed}


def _orders(translator: Translator, corpus: Corpus, progress: Progress) -> dict[str, list[Head]]:
    """All heads, the least important first, by each reading of importance."""
    found = gradient_importances(translator, corpus, progress=progress)
    return {by: found[by].normalised().order() for by in BY}


def _decoder_lens(translator: Translator, corpus: Corpus, progress: Progress) -> Made:
    """BLEU from the embeddings and from each encoder layer (Langedijk et al. 2023)."""
    return bleu_by_encoder_layer(translator, corpus, progress), {}


def _findings(translator: Translator, corpus: Corpus, progress: Progress) -> Made:
    """All published findings, a line each; "findings" has their figures."""
    rows, all_of = [], []
    for n, one in enumerate(FINDINGS.values()):
        found = one.run(translator, corpus, part(progress, n / len(FINDINGS), 1 / len(FINDINGS)))
        all_of.append({**one.about(), **found.to_dict()})
        rows.append({key: value for key, value in all_of[-1].items() if key != "figures"})
    return pd.DataFrame(rows), {"findings": all_of}


def _finding(published: Published) -> Callable[..., Made]:
    def made(translator: Translator, corpus: Corpus, progress: Progress) -> Made:
        found = published.run(translator, corpus, progress)
        summary = found.summary()
        summary["measured"] = summary.pop("sentences")
        # Without figures the reason is the table, so that a file of it is not empty.
        table = found.figures if len(found.figures) else pd.DataFrame([summary])
        return table, {**published.about(), **summary}

    return made


REPORTS: dict[str, Callable[..., Made]] = {
    "heads": _heads,
    "known": _known,
    "alignment": _alignment,
    "importance": _importance,
    "ablation": _ablation,
    "without": _without,
    "pruning": _pruning,
    "pruning-kinds": _kinds,
    "decoder-lens": _decoder_lens,
    "findings": _findings,
    **{f"finding-{name}": _finding(published) for name, published in FINDINGS.items()},
}
"""Everything that `analyse --what` and a pass of the pages can be asked for."""
OPTIONS = {"ablation": ("bleu",), "without": ("heads", "bleu")}
"""What may be set, of the few that have something to set."""


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
