"""Ways to follow attention held against blank-out (Abnar and Zuidema 2020, arXiv:2005.00928)."""

from __future__ import annotations

from typing import Literal

import numpy as np
import torch
from jaxtyping import Float

from transformer.analysis.attribution import alti, rollout, value_zeroing
from transformer.analysis.attribution.contribution import rank_correlations
from transformer.analysis.corpora import Corpus
from transformer.analysis.corpora.passes import Progress, encoded
from transformer.analysis.interventions.blanking import LOGITS
from transformer.inference import Translator
from transformer.inference.trace import Trace

Where = Literal["translation", "encoder"]
METHODS = ("raw weights", "rollout", "ALTI", "value zeroing")
"""In the order of `agreement`; over a whole translation ALTI is ALTI+."""
SHORTEST, LONGEST = 5, 80
"""Source pieces, `</s>` aside, between which a sentence is measured: fewer have no ranks to speak
of, and the work grows with the square of more."""


@torch.inference_mode()
def blank_out(translator: Translator, trace: Trace) -> Float[np.ndarray, "target source"]:
    """How the log-probability of each output token changes, nats, with a source token as `<unk>`.
    Given the output before it. The source's last token, `</s>`, is not blanked out: no column."""
    model, device = translator.model, translator.device
    tgt, wanted = (torch.tensor([i], device=device) for i in (trace.tgt_ids, trace.predicted_ids))
    parts = []
    sources = _blanked(translator, trace)
    for some in sources.split(max(1, LOGITS // (tgt.numel() * model.config.vocab_size))):
        states = model.decode(tgt.expand(len(some), -1), model.encode(some))
        logits = model.project(states)
        chosen = logits.gather(-1, wanted.expand(len(some), -1)[..., None])[..., 0]
        parts.append(chosen - logits.logsumexp(dim=-1))
    found = torch.cat(parts).double().cpu().numpy()
    return np.asarray((found[:-1] - found[-1]).T)


@torch.inference_mode()
def blank_out_memory(translator: Translator, trace: Trace) -> Float[np.ndarray, "source source"]:
    """1 − cos of each place of the memory as it is and with another source token as `<unk>`. The
    encoder alone, as the published method has it; `</s>` has neither row nor column."""
    states = translator.model.encode(_blanked(translator, trace))[:, :-1].double()
    unit = torch.nn.functional.normalize(states, dim=-1)
    return np.asarray(((unit[:-1] - unit[-1]).square().sum(dim=-1) / 2).T.cpu().numpy())


def _blanked(translator: Translator, trace: Trace) -> torch.Tensor:
    """The source with each token but `</s>` blanked out in its turn, and last as it is."""
    n = len(trace.src_ids) - 1
    sources = torch.tensor([trace.src_ids] * (n + 1), device=translator.device)
    sources[range(n), range(n)] = translator.model.config.unk_id
    return sources


def agreement(
    translator: Translator, corpus: Corpus, progress: Progress, where: Where = "translation"
) -> Float[np.ndarray, "sentence method layer"]:
    """Rank correlation of each of `METHODS` with blank-out, for every sentence that fits.

    For each output token the source tokens are put in order by |`blank_out`| and by each method up
    to a layer, and the rank correlations are averaged over the sentence's tokens. In the encoder,
    for each place the others by `blank_out_memory`: itself every method puts first.
    """
    pairs = encoded(translator, corpus)
    found = []
    for number, (sentence, pair) in enumerate(zip(corpus.sentences, pairs, strict=True)):
        progress(number / len(pairs), "blanking out")
        if not SHORTEST <= len(pair.src) - 1 <= LONGEST:
            continue
        trace = translator.trace(sentence.source, pair.out)
        ways = _ways(translator, trace, where)[..., :-1]
        if where == "encoder":
            effect, ways = _others(blank_out_memory(translator, trace)), _others(ways[..., :-1, :])
        else:
            effect = np.abs(blank_out(translator, trace))
        ranks = rank_correlations(ways, effect)
        if (kept := ~np.isnan(ranks).any(axis=(0, 1))).any():
            found.append(ranks[..., kept].mean(axis=-1))
    progress(1.0, "blanked out")
    shape = 0, len(METHODS), translator.model.config.n_layers
    return np.stack(found) if found else np.zeros(shape)


def _ways(
    translator: Translator, trace: Trace, where: Where
) -> Float[np.ndarray, "method layer query source"]:
    """Each of `METHODS`, up to each layer."""
    model, kind = translator.model, "encoder" if where == "encoder" else "cross"
    if where == "encoder":
        rolled = rollout.encoder(trace), alti.encoder(model, trace)
    else:
        rolled = rollout.joint(trace).source, alti.joint(model, trace).source
    zeroed = [value_zeroing.scores(model, trace, kind, n) for n in range(trace.n_layers)]
    return np.stack([rollout.matrices(trace, kind), *rolled, np.stack(zeroed)])


def _others(square: Float[np.ndarray, "*many n n"]) -> Float[np.ndarray, "*many n n-1"]:
    """Without the diagonal."""
    n = square.shape[-1]
    return np.asarray(square[..., ~np.eye(n, dtype=bool)].reshape(*square.shape[:-1], n - 1))
