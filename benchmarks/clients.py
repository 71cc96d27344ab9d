"""Compare the numbers of an exported checkpoint in other programs with ours.

    python -m benchmarks.clients [--checkpoint en-fr] [--sentences 20]

Exports the checkpoint as a Marian folder and opens it with those of these programs that are
installed: `transformers`, TransformerLens and nnsight. All get the same sentences and our
greedy translations of them. docs/measured.md shows how to install them.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.harness import option_parser
from transformer import Translator
from transformer.analysis.corpora import Corpus
from transformer.exchange import export_marian
from transformer.hooks import Hooks
from transformer.inference.device import describe_computed
from transformer.inference.trace import Trace
from transformer.measures.kinds import KINDS, AttentionKind

ABLATED = (2, 3)
"""Layer and head of the cross-attention head that is switched off in both programs."""


@dataclass
class Case:
    """Input of every program.

    Attributes:
        translator: our model, in float32.
        folder: the exported checkpoint.
        traces: our traces of the sentences and their greedy translations.
        columns: our id of each piece of the export, in its order, without `<pad>`.
    """

    translator: Translator
    folder: Path
    traces: list[Trace]
    columns: list[int]

    def ids(self, tokenizer: Any, trace: Trace) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the export's ids of the source and of the decoder input, `<pad>` y1 … yn-1."""
        source = tokenizer.convert_tokens_to_ids([*trace.src_tokens])
        target = tokenizer.convert_tokens_to_ids([*trace.predicted_tokens])
        decoder_input = [tokenizer.pad_token_id, *target[:-1]]
        return torch.tensor([source]), torch.tensor([decoder_input])

    def tokenizer_and_model(self) -> tuple[Any, Any]:
        from transformers import MarianMTModel, MarianTokenizer

        model = MarianMTModel.from_pretrained(self.folder, attn_implementation="eager")
        return MarianTokenizer.from_pretrained(self.folder), model.eval()


def difference(expected: np.ndarray, actual: Any) -> float:
    """Return the largest absolute difference."""
    return float(np.abs(expected - np.asarray(actual, dtype=np.float64)).max())


def check_transformers(case: Case) -> dict[str, Any]:
    tokenizer, model = case.tokenizer_and_model()
    logits, weights, n_equal_texts = [], [], 0
    for trace in case.traces:
        source, decoder_input = case.ids(tokenizer, trace)
        with torch.no_grad():
            output = model(
                input_ids=source, decoder_input_ids=decoder_input, output_attentions=True
            )
            generated = model.generate(source, num_beams=1)
        logits.append(difference(trace["hook_logits"][:, case.columns], output.logits[0, :, :-1]))
        names = ("encoder_attentions", "decoder_attentions", "cross_attentions")
        for kind, name in zip(KINDS, names, strict=True):
            layers = torch.cat(list(getattr(output, name))).numpy()
            weights.append(difference(trace.all_weights(kind), layers))
        n_equal_texts += tokenizer.decode(generated[0], skip_special_tokens=True) == trace.text
    return {"logits": max(logits), "attention": max(weights), "greedy texts": n_equal_texts}


def check_transformer_lens(case: Case) -> dict[str, Any]:
    from transformer_lens.model_bridge import TransformerBridge

    tokenizer, _ = case.tokenizer_and_model()
    bridge = TransformerBridge.boot_transformers(str(case.folder), device="cpu")
    blocks: dict[AttentionKind, str] = {
        "encoder": "encoder_blocks.{}.attn",
        "decoder": "decoder_blocks.{}.self_attn",
    }
    blocks["cross"] = "decoder_blocks.{}.cross_attn"
    logits, weights = [], []
    for trace in case.traces:
        source, decoder_input = case.ids(tokenizer, trace)
        with torch.no_grad():
            bridge_logits, cache = bridge.run_with_cache(source, decoder_input=decoder_input)
        logits.append(difference(trace["hook_logits"][:, case.columns], bridge_logits[0, :, :-1]))
        for kind, block in blocks.items():
            for layer in range(trace.depth(kind)):
                pattern = cache[f"{block.format(layer)}.hook_pattern"][0]
                weights.append(difference(trace.weights(kind, layer), pattern))
    return {"logits": max(logits), "attention": max(weights)}


def check_nnsight(case: Case) -> dict[str, Any]:
    """Compare the logits, and the logits when each program switches the same head off."""
    from nnsight import NNsight

    tokenizer, marian_model = case.tokenizer_and_model()
    model = NNsight(marian_model)
    layer, head = ABLATED
    d_k = case.translator.model.config.d_model // case.translator.model.config.n_heads
    head_columns = slice(head * d_k, (head + 1) * d_k)

    def ablate(heads: torch.Tensor, name: str) -> torch.Tensor:
        changed = heads.clone()
        changed[:, head] = 0
        return changed

    hooks = Hooks({f"decoder.layers.{layer}.cross_attn.hook_heads": ablate})
    logits, ablated_logits, effects = [], [], []
    for trace in case.traces:
        source, decoder_input = case.ids(tokenizer, trace)
        with torch.no_grad(), model.trace(input_ids=source, decoder_input_ids=decoder_input):
            projected = model.lm_head.output.save()
        bias = marian_model.final_logits_bias
        logits.append(
            difference(trace["hook_logits"][:, case.columns], (projected + bias)[0, :, :-1])
        )
        with torch.no_grad(), model.trace(input_ids=source, decoder_input_ids=decoder_input):
            projection = model.model.decoder.layers[layer].encoder_attn.out_proj
            projection.input[:, :, head_columns] = 0
            projected = model.lm_head.output.save()
        ablated = case.translator.trace(trace.source, trace.predicted_ids, hooks=hooks)
        effects.append(difference(ablated["hook_logits"], trace["hook_logits"]))
        expected = ablated["hook_logits"][:, case.columns]
        ablated_logits.append(difference(expected, (projected + bias)[0, :, :-1]))
    return {
        "logits": max(logits),
        f"logits without head {layer}.{head}": max(ablated_logits),
        "(effect of the head)": max(effects),
    }


CHECKS: dict[str, Callable[[Case], dict[str, Any]]] = {
    "transformers": check_transformers,
    "transformer_lens": check_transformer_lens,
    "nnsight": check_nnsight,
}
"""By the name of the package."""


def main() -> None:
    parser = option_parser(__doc__)
    parser.add_argument("--checkpoint", default="en-fr")
    parser.add_argument("--sentences", type=int, default=20)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    translator = Translator.load(options.checkpoint, "cpu")
    sources = [sentence.source for sentence in Corpus.bundled(options.sentences).sentences]
    traces = [translator.trace(source) for source in sources]
    print(f"{len(traces)} sentences, {sum(len(t.predicted_ids) for t in traces)} output tokens")
    print(describe_computed(translator.computed_with))
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "marian"
        assert translator.folder is not None
        export_marian(translator.folder, folder)
        pieces = json.loads((folder / "vocab.json").read_text(encoding="utf-8"))
        columns = [translator.vocabulary.id(piece) for piece in [*pieces][:-1]]
        case = Case(translator, folder, traces, columns)
        for package, check in CHECKS.items():
            if importlib.util.find_spec(package) is None:
                print(f"{package:16} not installed")
                continue
            version = importlib.metadata.version(package.replace("_", "-"))
            for name, value in check(case).items():
                figure = f"{value:.3g}" if isinstance(value, float) else value
                print(f"{package:16} {version:8} {name:42} {figure}", flush=True)


if __name__ == "__main__":
    main()
