"""Activation patching at every site: which activations of the clean sentence restore its answer.

    sweep = patching_sweep(translator, "My brother is tired.", "My sister is tired.")
    sweep.table                       # a row per patch: part, site, layer, head, position, restored
    sweep.map("stream", "encoder")    # names of the sites, and (site, position)

Two sentences with the same number of pieces differ in one word. The model processes the corrupted
one with one activation replaced by that of the clean run; the result is how far this restores the
clean answer. Meng et al. 2022 (arXiv:2202.05262, causal tracing) corrupt by noise, Wang et al. 2023
(arXiv:2211.00593) by another word, as here; the metric is the difference of two logits, as
Heimersheim and Nanda 2024 (arXiv:2404.15255) advise. An activation that restores the answer is
sufficient for it in the corrupted run; this direction (denoising) does not show that it is
necessary.

Both runs have the same target prefix: the common beginning of the translations of both sentences.
The two pieces that follow are the two answers. So the decoder's input is the same in both, and
every difference comes from the encoder.
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

from transformer.analysis.corpora.passes import MAX_LOGITS, Progress, no_progress
from transformer.analysis.interventions.switching import site
from transformer.hooks import Hooks
from transformer.inference import Translator
from transformer.inference.translator import load_unchanged
from transformer.measures.kinds import KINDS, AttentionKind
from transformer.model import Transformer

Part = Literal["stream", "attention", "ffn", "heads"]
STACKS = ("encoder", "decoder")
MAX_POSITIONS = 2**13
"""Maximum number of positions of one pass, all variants together; for a model with d_ff 2,048, 64
MB."""
MIN_DIFFERENCE = 1e-3
"""Logit differences closer than this are equal, given float32 rounding."""


@dataclass(frozen=True)
class SitePatch:
    """The activation of the clean run that is patched in.

    Attributes:
        part: "stream" is the residual stream after the embedding and after every sublayer,
            "attention" and "ffn" the output of a sublayer, "heads" the output of one head before
            W^O.
        site: the hook.
        stack, layer: where it is, layer -1 for the embedding.
        kind: of an attention, "" elsewhere.
        head: None except for heads.
        position: the position that is patched; None for all, as for heads.
    """

    part: Part
    site: str
    stack: str
    layer: int
    kind: AttentionKind | Literal[""] = ""
    head: int | None = None
    position: int | None = None


@dataclass(frozen=True, eq=False)
class PatchingSweep:
    """Every patch of a pair of sentences, one at a time.

    Attributes:
        clean_tokens, corrupted_tokens: of the source.
        prefix_tokens: the decoder's input.
        answers: the next piece of the clean sentence's translation, and that of the other.
        clean, corrupted: logit of the first answer minus that of the second, without a patch.
        table: a row for each patch: the fields of `SitePatch`, logit_difference, and restored,
            which is (logit_difference - corrupted) / (clean - corrupted): 0 is as corrupted, 1 as
            clean.
    """

    clean_tokens: tuple[str, ...]
    corrupted_tokens: tuple[str, ...]
    prefix_tokens: tuple[str, ...]
    answers: tuple[str, str]
    clean: float
    corrupted: float
    table: pd.DataFrame

    def map(self, part: str, stack: str) -> tuple[list[str], Float[np.ndarray, "sites positions"]]:
        """Return `restored` of one part except heads: the sites in the model's order, and the
        numbers."""
        rows = self.table[(self.table["part"] == part) & (self.table["stack"] == stack)]
        sites = list(dict.fromkeys(rows["site"]))
        return sites, rows["restored"].to_numpy(np.float64).reshape(len(sites), -1)

    def heads(self, kind: AttentionKind) -> Float[np.ndarray, "layers heads"]:
        """Return `restored` of each head of one kind, patched at all positions."""
        rows = self.table[(self.table["part"] == "heads") & (self.table["kind"] == kind)]
        layers = 1 + int(rows["layer"].max())
        return rows["restored"].to_numpy(np.float64).reshape(layers, -1)

    def to_dict(self) -> dict[str, Any]:
        """Return a dictionary for JSON."""
        fields = {name: value for name, value in vars(self).items() if name != "table"}
        records = json.loads(self.table.to_json(orient="records", double_precision=15))
        return {**fields, "table": records}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Restore a sweep from `to_dict`."""
        names = ("clean_tokens", "corrupted_tokens", "prefix_tokens", "answers")
        tokens = {name: tuple(values[name]) for name in names}
        return cls(
            **{**values, **tokens, "table": _with_integer_columns(pd.DataFrame(values["table"]))}
        )


@torch.inference_mode()
def patching_sweep(
    translator: Translator,
    clean: str,
    corrupted: str,
    *,
    targets: tuple[str, str] | None = None,
    progress: Progress = no_progress,
) -> PatchingSweep:
    """Patch every activation of the clean run into the corrupted one, and measure what is restored.

    Many patches run as rows of one batch.

    Args:
        targets: translations of both to take the answers from; default: the model's own, greedy.

    Raises:
        ValueError: as `Translator.translate`, and for sentences of different lengths or the same
            one, translations that do not differ, or equal logit differences.
    """
    progress(0.0, "translating")
    check_pair(translator, clean, corrupted)
    clean_target, corrupted_target = (None, None) if targets is None else targets
    outputs = (
        translator.translate(clean, target=clean_target, candidates=1),
        translator.translate(corrupted, target=corrupted_target, candidates=1),
    )
    sources = [output.src_ids for output in outputs]
    prefix, answers = _split_outputs(outputs[0].ids, outputs[1].ids, translator)
    run = _PrefixRun(translator.model, sources[1], prefix, answers)
    patches = list(_patches(translator.model, len(sources[0]), len(prefix)))
    clean_activations: dict[str, Tensor] = {}
    record = Hooks(
        {patch.site: lambda x, name: clean_activations.update({name: x[0]}) for patch in patches}
    )
    clean_difference = replace(run, source=sources[0]).difference(1, record)[0]
    corrupted_difference = run.difference(1)[0]
    if abs(clean_difference - corrupted_difference) < MIN_DIFFERENCE:
        raise ValueError(
            f"the answers' logits differ by {clean_difference:.4f} after the clean sentence and by "
            f"{corrupted_difference:.4f} after the corrupted one; the two must differ"
        )
    differences: list[float] = []
    for n_done, chunk in run.chunks(patches):
        progress(n_done / len(patches), "patching")
        differences += run.difference(len(chunk), _patch_hooks(chunk, clean_activations))
    progress(1.0, "patched")
    table = _with_integer_columns(pd.DataFrame([asdict(patch) for patch in patches]))
    table["logit_difference"] = differences
    table["restored"] = (table["logit_difference"] - corrupted_difference) / (
        clean_difference - corrupted_difference
    )
    pieces = translator.vocabulary.tokens
    return PatchingSweep(
        tuple(pieces(sources[0])),
        tuple(pieces(sources[1])),
        tuple(pieces(prefix)),
        (pieces(answers[:1])[0], pieces(answers[1:])[0]),
        clean_difference,
        corrupted_difference,
        table,
    )


def compute(request: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """Run `patching_sweep` on two sentences for a page.

    Args:
        request: "checkpoint", its folder; "hash"; "clean"; "corrupted".

    Raises:
        ValueError, OSError: for a checkpoint that has changed, and as `patching_sweep`.
    """
    progress(0.0, "loading the model")
    translator = load_unchanged(request["checkpoint"], request["hash"])
    return patching_sweep(
        translator, request["clean"], request["corrupted"], progress=progress
    ).to_dict()


def check_pair(translator: Translator, clean: str, corrupted: str) -> None:
    """Raise ValueError for two sentences that cannot be patched, before anything is translated."""
    for text in (clean, corrupted):
        translator.check(text)
    clean_ids, corrupted_ids = (translator.vocabulary.encode(text) for text in (clean, corrupted))
    lengths = len(clean_ids) - 1, len(corrupted_ids) - 1  # without </s>
    if lengths[0] != lengths[1]:
        raise ValueError(
            f"the clean sentence has {lengths[0]} tokens and the corrupted one {lengths[1]}; "
            "replace a word by one with the same number of tokens"
        )
    if clean_ids == corrupted_ids:
        raise ValueError("both sentences are the same; replace a word in one of them")


def _split_outputs(
    clean: Sequence[int], corrupted: Sequence[int], translator: Translator
) -> tuple[list[int], list[int]]:
    """Return the common prefix of both outputs, after `<s>`, and the next token of each."""
    for index, tokens in enumerate(zip(clean, corrupted, strict=False)):
        if tokens[0] != tokens[1]:
            return [translator.model.config.bos_id, *clean[:index]], list(tokens)
    raise ValueError(
        f"the two translations do not differ: {translator.vocabulary.decode(clean)!r}; "
        "replace a word that changes the translation"
    )


def _patches(model: Transformer, n_src: int, n_tgt: int) -> Iterator[SitePatch]:
    """Yield all patches, site by site in the model's order, the heads last."""
    parts_by_module: dict[str, Part] = {
        "embed": "stream", "self_attn_norm": "stream", "cross_attn_norm": "stream",
        "ffn_norm": "stream", "self_attn": "attention", "cross_attn": "attention", "ffn": "ffn",
    }  # fmt: skip
    for name in model.hook_names:
        if not name.endswith(".hook_output"):
            continue
        stack, *path, _ = name.split(".")  # encoder.layers.0.ffn.hook_output
        layer = int(path[1]) if len(path) > 1 else -1
        kind = {"cross_attn": "cross", "self_attn": stack}.get(path[-1], "")
        for position in range(n_src if stack == "encoder" else n_tgt):
            yield SitePatch(parts_by_module[path[-1]], name, stack, layer, kind, position=position)
    for kind in KINDS:
        stack = "encoder" if kind == "encoder" else "decoder"
        for layer in range(model.config.n_layers):
            for head in range(model.config.n_heads):
                yield SitePatch("heads", site(kind, layer, "heads"), stack, layer, kind, head=head)


@dataclass(frozen=True)
class _PrefixRun:
    """One pass of copies of a sentence over the same target prefix."""

    model: Transformer
    source: Sequence[int]
    prefix: Sequence[int]
    answers: Sequence[int]

    def difference(self, copies: int, hooks: Hooks | None = None) -> list[float]:
        """Return the logit of the first answer minus that of the second, for each copy."""
        device = self.model.embedding.weight.device
        src, tgt = (
            torch.tensor([ids], device=device).expand(copies, -1)
            for ids in (self.source, self.prefix)
        )
        memory = self.model.encode(src, hooks=hooks)
        states = self.model.decode(tgt, memory, hooks=hooks)
        logits = self.model.project(states[:, -1:])[:, 0, list(self.answers)].cpu().double()
        return (logits[:, 0] - logits[:, 1]).tolist()

    def chunks(self, patches: Sequence[SitePatch]) -> Iterator[tuple[int, Sequence[SitePatch]]]:
        """Yield chunks of patches that fit one pass, each with the index of its first patch."""
        longest = max(len(self.source), len(self.prefix))
        chunk_size = max(
            1, min(MAX_POSITIONS // longest, MAX_LOGITS // self.model.config.vocab_size)
        )
        for start in range(0, len(patches), chunk_size):
            yield start, patches[start : start + chunk_size]


def _patch_hooks(patches: Sequence[SitePatch], clean: Mapping[str, Tensor]) -> Hooks:
    """Apply patch n in copy n."""
    copies: dict[str, list[int]] = {}
    for copy, patch in enumerate(patches):
        copies.setdefault(patch.site, []).append(copy)

    def apply_patches(x: Tensor, name: str) -> Tensor:
        rows, changed = copies[name], x.clone()
        # A head is patched at all positions; a site without heads at one position.
        indices = [
            index
            for row in rows
            if (
                index := patches[row].head
                if patches[row].position is None
                else patches[row].position
            )
            is not None
        ]
        changed[rows, indices] = clean[name][indices]
        return changed

    return Hooks(dict.fromkeys(copies, apply_patches))


def _with_integer_columns(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table with integer heads and positions, also where some are missing."""
    return table.astype({"head": "Int64", "position": "Int64"})
