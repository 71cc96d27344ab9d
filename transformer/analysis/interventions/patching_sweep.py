"""Activation patching, everywhere: what of the clean sentence brings the clean answer back.

    found = patching_sweep(translator, "My brother is tired.", "My sister is tired.")
    found.table                       # a line a patch: part, site, layer, head, position, restored
    found.map("stream", "encoder")    # names of the sites, and (site, position)

Two sentences of as many pieces differ in a word. The model reads the corrupted one, and one
activation of the clean run is put in its place; how far does the answer turn back? Meng et al.
2022 (arXiv:2202.05262, causal tracing) corrupt by noise, Wang et al. 2023 (arXiv:2211.00593) by
another word, as here; the metric is the difference of two logits, as Heimersheim and Nanda 2024
(arXiv:2404.15255) advise. What brings the answer back is enough for it, in what is there otherwise;
that it is needed, this direction (denoising, they say) does not show.

Both runs read the same beginning of an output, teacher-forced: what the translations of both
sentences have in common, up to the first piece in which they differ. The two pieces that follow are
the two answers. So the decoder's input is the same in both, and whatever differs came across.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, Self

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from transformer.analysis.corpora.passes import MAX_LOGITS, Progress, silent
from transformer.analysis.interventions.switching import KINDS, site
from transformer.hooks import Hooks
from transformer.inference import Translator
from transformer.inference.translator import load_unchanged
from transformer.model import Transformer

Part = Literal["stream", "attention", "ffn", "heads"]
STACKS = ("encoder", "decoder")
ROWS = 2**13
"""Most positions of one pass, all variants together; of a model with d_ff 2,048, 64 MB."""
LEAST = 1e-3
"""Logit differences that are closer than this are one, with float32's rounding."""


@dataclass(frozen=True)
class SitePatch:
    """What of the clean run is put in.

    Attributes:
        part: "stream" is the residual stream after the embedding and after every sublayer,
            "attention" and "ffn" what a sublayer adds to it, "heads" what one head hands to W^O.
        site: the hook; stack, layer: where it is, -1 for the embedding's.
        position: the one that is put in; None: all, as of heads.
        head: None but for heads; kind: of an attention, "" where there is none.
    """

    part: Part
    site: str
    stack: str
    layer: int
    kind: str = ""
    head: int | None = None
    position: int | None = None


@dataclass(frozen=True, eq=False)
class PatchingSweep:
    """Every patch of a pair of sentences, one at a time.

    Attributes:
        clean_tokens, corrupted_tokens: of the source. prefix_tokens: what the decoder reads.
        answers: the piece that the clean sentence's translation goes on with, and the other's.
        clean, corrupted: logit of the first answer minus that of the second, without a patch.
        table: a line a patch: the fields of `SitePatch`, logit_difference, and restored, which is
            (logit_difference - corrupted) / (clean - corrupted): 0 is as corrupted, 1 as clean.
    """

    clean_tokens: tuple[str, ...]
    corrupted_tokens: tuple[str, ...]
    prefix_tokens: tuple[str, ...]
    answers: tuple[str, str]
    clean: float
    corrupted: float
    table: pd.DataFrame

    def map(self, part: str, stack: str) -> tuple[list[str], Float[np.ndarray, "sites positions"]]:
        """`restored` of one part but the heads: the sites in the model's order, and the numbers."""
        lines = self.table[(self.table["part"] == part) & (self.table["stack"] == stack)]
        sites = list(dict.fromkeys(lines["site"]))
        return sites, lines["restored"].to_numpy(np.float64).reshape(len(sites), -1)

    def heads(self, kind: str) -> Float[np.ndarray, "layers heads"]:
        """`restored` of each head of one kind, put in at all positions."""
        lines = self.table[(self.table["part"] == "heads") & (self.table["kind"] == kind)]
        layers = 1 + int(lines["layer"].max())
        return lines["restored"].to_numpy(np.float64).reshape(layers, -1)

    def to_dict(self) -> dict[str, Any]:
        """As JSON can hold it."""
        found = {name: value for name, value in vars(self).items() if name != "table"}
        lines = json.loads(self.table.to_json(orient="records", double_precision=15))
        return {**found, "table": lines}

    @classmethod
    def from_dict(cls, told: Mapping[str, Any]) -> Self:
        """The inverse of `to_dict`."""
        names = ("clean_tokens", "corrupted_tokens", "prefix_tokens", "answers")
        tokens = {name: tuple(told[name]) for name in names}
        return cls(**{**told, **tokens, "table": _whole(pd.DataFrame(told["table"]))})


@torch.inference_mode()
def patching_sweep(
    translator: Translator,
    clean: str,
    corrupted: str,
    *,
    targets: tuple[str, str] | None = None,
    progress: Progress = silent,
) -> PatchingSweep:
    """Put every activation of the clean run into the corrupted one, and see what comes back.

    Many patches run side by side, as rows of one batch.

    Args:
        targets: translations of both to take the answers from; left out: the model's own, greedy.

    Raises:
        ValueError: as `Translator.translate`, and for sentences of other lengths or the same one,
            translations that do not differ, or a logit difference that does not.
    """
    progress(0.0, "translating")
    check_pair(translator, clean, corrupted)
    first, second = (None, None) if targets is None else targets
    outputs = (
        translator.translate(clean, target=first, candidates=1),
        translator.translate(corrupted, target=second, candidates=1),
    )
    sources = [output.src_ids for output in outputs]
    prefix, answers = _parting(outputs[0].ids, outputs[1].ids, translator)
    run = _Run(translator.model, sources[1], prefix, answers)
    patches = list(_patches(translator.model, len(sources[0]), len(prefix)))
    kept: dict[str, Tensor] = {}
    watch = Hooks({one.site: lambda x, name: kept.update({name: x[0]}) for one in patches})
    before = replace(run, source=sources[0]).difference(1, watch)[0]
    after = run.difference(1)[0]
    if abs(before - after) < LEAST:
        raise ValueError(
            f"the answers' logits differ by {before:.4f} after the clean sentence and by "
            f"{after:.4f} after the corrupted one; there must be something to bring back"
        )
    differences: list[float] = []
    for at, some in run.chunks(patches):
        progress(at / len(patches), "patching")
        differences += run.difference(len(some), _put(some, kept))
    progress(1.0, "patched")
    table = _whole(pd.DataFrame([asdict(one) for one in patches]))
    table["logit_difference"] = differences
    table["restored"] = (table["logit_difference"] - after) / (before - after)
    pieces = translator.vocabulary.tokens
    return PatchingSweep(
        tuple(pieces(sources[0])),
        tuple(pieces(sources[1])),
        tuple(pieces(prefix)),
        (pieces(answers[:1])[0], pieces(answers[1:])[0]),
        before,
        after,
        table,
    )


def compute(given: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """`patching_sweep` of two sentences, as a page asks for it.

    Args:
        given: "checkpoint", its folder; "hash"; "clean"; "corrupted".

    Raises:
        ValueError, OSError: for a checkpoint that is another by now, and as `patching_sweep`.
    """
    progress(0.0, "loading the model")
    translator = load_unchanged(given["checkpoint"], given["hash"])
    return patching_sweep(
        translator, given["clean"], given["corrupted"], progress=progress
    ).to_dict()


def check_pair(translator: Translator, clean: str, corrupted: str) -> None:
    """Raises ValueError for two sentences that cannot be patched, before anything is translated."""
    for text in (clean, corrupted):
        translator.check(text)
    first, second = (translator.vocabulary.encode(text) for text in (clean, corrupted))
    lengths = len(first) - 1, len(second) - 1  # without </s>
    if lengths[0] != lengths[1]:
        raise ValueError(
            f"the clean sentence has {lengths[0]} pieces and the corrupted one {lengths[1]}; "
            "exchange a word for one of as many pieces, so that both are equally long"
        )
    if first == second:
        raise ValueError("both sentences are the same; exchange a word of one of them")


def _parting(
    clean: Sequence[int], corrupted: Sequence[int], translator: Translator
) -> tuple[list[int], list[int]]:
    """What both outputs begin with, after `<s>`, and how each goes on."""
    for at, both in enumerate(zip(clean, corrupted, strict=False)):
        if both[0] != both[1]:
            return [translator.model.config.bos_id, *clean[:at]], list(both)
    raise ValueError(
        f"both translations begin alike and never part: {translator.vocabulary.decode(clean)!r}; "
        "exchange a word that changes the translation"
    )


def _patches(model: Transformer, n_src: int, n_tgt: int) -> Iterator[SitePatch]:
    """All of them, site after site in the model's order, the heads last."""
    endings: dict[str, Part] = {
        "embed": "stream", "self_attn_norm": "stream", "cross_attn_norm": "stream",
        "ffn_norm": "stream", "self_attn": "attention", "cross_attn": "attention", "ffn": "ffn",
    }  # fmt: skip
    for name in model.hook_names:
        if not name.endswith(".hook_output"):
            continue
        stack, *way, _ = name.split(".")  # encoder.layers.0.ffn.hook_output
        layer = int(way[1]) if len(way) > 1 else -1
        kind = {"cross_attn": "cross", "self_attn": stack}.get(way[-1], "")
        for position in range(n_src if stack == "encoder" else n_tgt):
            yield SitePatch(endings[way[-1]], name, stack, layer, kind, position=position)
    for kind in KINDS:
        stack = "encoder" if kind == "encoder" else "decoder"
        for layer in range(model.config.n_layers):
            for head in range(model.config.n_heads):
                yield SitePatch("heads", site(kind, layer, "heads"), stack, layer, kind, head=head)


@dataclass(frozen=True)
class _Run:
    """One pass of copies of a sentence, over the same beginning of an output."""

    model: Transformer
    source: Sequence[int]
    prefix: Sequence[int]
    answers: Sequence[int]

    def difference(self, copies: int, hooks: Hooks | None = None) -> list[float]:
        """Logit of the first answer minus that of the second, of each copy."""
        device = self.model.embedding.weight.device
        src, tgt = (
            torch.tensor([ids], device=device).expand(copies, -1)
            for ids in (self.source, self.prefix)
        )
        memory = self.model.encode(src, hooks=hooks)
        states = self.model.decode(tgt, memory, hooks=hooks)
        logits = self.model.project(states[:, -1:])[:, 0, list(self.answers)].double()
        return (logits[:, 0] - logits[:, 1]).tolist()

    def chunks(self, patches: Sequence[SitePatch]) -> Iterator[tuple[int, Sequence[SitePatch]]]:
        """As many patches as one pass takes, and the number of the first of them."""
        longest = max(len(self.source), len(self.prefix))
        at_once = max(1, min(ROWS // longest, MAX_LOGITS // self.model.config.vocab_size))
        for start in range(0, len(patches), at_once):
            yield start, patches[start : start + at_once]


def _put(patches: Sequence[SitePatch], clean: Mapping[str, Tensor]) -> Hooks:
    """SitePatch n put into copy n."""
    copies: dict[str, list[int]] = {}
    for copy, one in enumerate(patches):
        copies.setdefault(one.site, []).append(copy)

    def put(x: Tensor, name: str) -> Tensor:
        rows, changed = copies[name], x.clone()
        # A head is put in at all positions, a position of what has no heads alone.
        where = [
            at
            for row in rows
            if (at := patches[row].head if patches[row].position is None else patches[row].position)
            is not None
        ]
        changed[rows, where] = clean[name][where]
        return changed

    return Hooks(dict.fromkeys(copies, put))


def _whole(table: pd.DataFrame) -> pd.DataFrame:
    """Heads and positions as whole numbers, also where some have none."""
    return table.astype({"head": "Int64", "position": "Int64"})
