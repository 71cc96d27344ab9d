"""Traces of other models' attention weights: values, word boundaries and errors."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pytest
import torch
import transformers

from transformer import Trace
from transformer.inference.external_weights import mark_word_starts
from transformer.inference.trace import WEIGHTS
from transformer.measures.pieces import is_control
from transformer.measures.words import word_labels

COMMON_SETTINGS: dict[str, Any] = {"vocab_size": 40, "attn_implementation": "eager"}
SRC = ["▁a", "▁b", "c", "▁d", "</s>"]
TGT = ["<s>", "▁e", "f", "▁g"]


def random_ids(n: int, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(5, 40, (1, n), generator=generator, device="cpu")
    return ids.to(torch.get_default_device())


def bart(**changes: Any) -> Any:
    torch.manual_seed(1)
    shape: dict[str, Any] = {
        "d_model": 16, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 2,
        "decoder_attention_heads": 2, "encoder_ffn_dim": 16, "decoder_ffn_dim": 16,
        "max_position_embeddings": 32, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
        "decoder_start_token_id": 0, "forced_eos_token_id": None, **changes,
    }  # fmt: skip
    config = transformers.BartConfig(**COMMON_SETTINGS, **shape)
    return transformers.BartForConditionalGeneration(config).eval()


@torch.no_grad()
def test_encoder_decoder_weights_are_kept() -> None:
    out = bart()(
        input_ids=random_ids(5), decoder_input_ids=random_ids(4, 1), output_attentions=True
    )
    attentions = {kind: out[f"{kind}_attentions"] for kind in WEIGHTS}
    trace = Trace.from_weights(SRC, TGT, **attentions)
    for kind, layers in attentions.items():
        for layer, weights in enumerate(layers):
            np.testing.assert_array_equal(trace.weights(kind, layer), weights[0].cpu().numpy())
    assert trace.predicted_tokens == ("▁e", "f", "▁g", "…")
    assert (trace.source, trace.text) == ("a bc d", "ef g")
    assert trace.explore().html.count("</html>") == 1


@torch.no_grad()
def test_generated_steps_equal_one_forward_pass() -> None:
    model = bart()
    out = model.generate(
        random_ids(5), max_new_tokens=6, min_new_tokens=6, do_sample=False, num_beams=1,
        output_attentions=True, return_dict_in_generate=True,
    )  # fmt: skip
    decoder_input = out.sequences[:, :-1]
    tokens = [f"▁{id}" for id in decoder_input[0].tolist()]
    steps = Trace.from_weights(SRC, tokens, **{kind: out[f"{kind}_attentions"] for kind in WEIGHTS})
    forward = model(
        input_ids=random_ids(5), decoder_input_ids=decoder_input, output_attentions=True
    )
    for layer in range(2):
        for kind in ("decoder", "cross"):
            attentions = forward[f"{kind}_attentions"][layer][0].cpu().numpy()
            # Both are float32 softmaxes of sums of 16 products, so only rounding differs.
            np.testing.assert_allclose(steps.weights(kind, layer), attentions, atol=1e-5)


@torch.no_grad()
def test_an_encoder_may_be_deeper_than_its_decoder() -> None:
    out = bart(encoder_layers=3, decoder_layers=1)(
        input_ids=random_ids(5), decoder_input_ids=random_ids(4, 1), output_attentions=True
    )
    attentions = {kind: out[f"{kind}_attentions"] for kind in WEIGHTS}
    trace = Trace.from_weights(SRC, TGT, **attentions)
    assert trace.n_layers == 3
    assert {kind: trace.depth(kind) for kind in attentions} == {
        "encoder": 3,
        "decoder": 1,
        "cross": 1,
    }
    np.testing.assert_array_equal(
        trace.weights("encoder", 2), attentions["encoder"][2][0].cpu().numpy()
    )
    with pytest.raises(ValueError, match="there is no layer 1; the layers are 0 to 0"):
        trace.weights("cross", 1)
    with pytest.raises(ValueError, match="There is no layer 1; the layers are 0 to 0"):
        trace.explore(kind="cross", layer=1, head=0)
    explorer = trace.model(kind="encoder", layer=2, head=1)
    assert explorer.sides[0].kinds == ["encoder", "decoder", "cross"]


@torch.no_grad()
def test_a_trace_may_have_an_encoder_or_a_decoder_only() -> None:
    torch.manual_seed(1)
    shape: dict[str, Any] = {"hidden_size": 16, "num_hidden_layers": 3, "num_attention_heads": 4}
    bert = transformers.BertModel(
        transformers.BertConfig(**COMMON_SETTINGS, **shape, intermediate_size=16)
    )
    out = bert.eval()(random_ids(5), output_attentions=True)
    trace = Trace.from_weights(["[CLS]", "un", "##seen", "cat", "[SEP]"], encoder=out.attentions)
    assert word_labels(trace.src_tokens) == ["[CLS]", "unseen", "cat", "[SEP]"]
    assert trace.model().sides[0].kinds == ["encoder"]

    config = transformers.GPT2Config(**COMMON_SETTINGS, n_embd=16, n_layer=3, n_head=4)
    out = transformers.GPT2LMHeadModel(config).eval()(random_ids(4), output_attentions=True)
    trace = Trace.from_weights(tgt_tokens=["The", "Ġca", "fÃ©", "Ċ"], decoder=out.attentions)
    assert trace.tgt_tokens == ("The", "▁ca", "fé", "⏎")
    assert trace.model().sides[0].kinds == ["decoder"]
    np.testing.assert_array_equal(trace.weights("decoder", 2), out.attentions[2][0].cpu().numpy())
    assert "GPT" not in re.search("<title>.*</title>", trace.heatmap().html)[0]


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        (["▁the", "▁ho", "use"], ["▁the", "▁ho", "use"]),
        (["<s>", "the", "Ġhouse", "s", "</s>"], ["<s>", "the", "▁house", "s", "</s>"]),
        # An owl, F0 9F A6 89, in two tokens.
        (["an", "ĠðŁ", "¦ī", "!"], ["an", "▁<0xF0><0x9F>", "<0xA6><0x89>", "!"]),
        (["ðŁ", "¦ī"], ["<0xF0><0x9F>", "<0xA6><0x89>"]),
        (["the", "##ir"], ["▁the", "ir"]),
        (["##", "C", "##"], ["▁##", "▁C", "▁##"]),
        (["the", "house"], ["▁the", "▁house"]),
        (["Ġ\N{LATIN SMALL LETTER A WITH TILDE}"], ["Ġ\N{LATIN SMALL LETTER A WITH TILDE}"]),
        (["æĪĳ", "åĸľæ¬¢", "çĮ«", "ãĢĤ"], ["我", "喜欢", "猫", "。"]),
        (["<s>", "Stra", "ÃŁ", "en", "bahn", "</s>"], ["<s>", "Stra", "ß", "en", "bahn", "</s>"]),
        (["x", "=", "1", "Ċ", "y", "=x"], ["x", "=", "1", "⏎", "y", "=x"]),
        (["Le", "café", "où", "Ålesund"], ["▁Le", "▁café", "▁où", "▁Ålesund"]),
        (["我", "喜欢"], ["▁我", "▁喜欢"]),
        (["<s>", "stu@@", "dent", "@@", "."], ["<s>", "▁stu", "dent", "▁@@", "▁."]),
        (["<s>", "stu", "dent</w>", ".</w>"], ["<s>", "▁stu", "dent", "▁."]),
        (["a", "stu", "￭dent￭", "."], ["▁a", "▁stu", "dent", "."]),
        (["<｜begin▁of▁sentence｜>", "The", "Ġcat"], ["<｜begin▁of▁sentence｜>", "The", "▁cat"]),
        ([], []),
    ],
)
def test_word_starts_are_marked(tokens: list[str], expected: list[str]) -> None:
    assert list(mark_word_starts(tokens)) == expected


CONTROL = [
    *("<s>", "</s>", "<pad>", "<bos>", "<extra_id_0>", "<start_of_turn>", "<unused12>"),
    *("<fim_prefix>", "<to_fr>", "<|im_start|>", "<|en|>", "<|0.00|>", "<｜begin▁of▁sentence｜>"),
    *("<|reserved_special_token_7|>", "[CLS]", "[MASK]", "[INST]", "[/INST]", "[unused1]"),
    *("[gMASK]", "<<SYS>>", "<</SYS>>", "<2fr>", "<s>NOTUSED", "__en__", "fra_Latn", "zho_Hans"),
    *("fr_XX", ">>fra<<", ">>cmn_Hans<<"),
]
TEXTS = [
    *("<0x0A>", "<", ">", "<<", "<3", "[", "[]", "[1]", "[a]", "[Ab]", "<|", "|>", "a>", "<b>"),
    *("▁<s>", "<a b>", "a_b", "__init__", "snake_Case", ">>", ""),
]


def test_a_token_stands_for_text_or_not_whatever_its_tokenizer() -> None:
    """The same cases as in tests/figures/scripts/words.test.js."""
    assert [token for token in CONTROL if not is_control(token)] == []
    assert [token for token in TEXTS if is_control(token)] == []


@pytest.mark.parametrize("token", CONTROL)
def test_a_token_without_text_is_a_word_of_its_own(token: str) -> None:
    weights = np.tril(np.ones((4, 4))) / np.arange(1, 5)[:, None]
    trace = Trace.from_weights(
        tgt_tokens=[token, "The", "Ġcat", token], decoder=weights[None, None]
    )
    assert word_labels(trace.tgt_tokens) == [token, "The", "cat", token]


def random_weights(heads: int, n: int, m: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(2)
    scores = torch.randn(heads, n, m, generator=generator, device="cpu")
    return torch.softmax(scores, -1).to(torch.get_default_device())


def test_arrays_tensors_and_bfloat16_are_accepted(tmp_path: Any) -> None:
    weights = random_weights(2, 5, 5)
    for layer in (
        weights,
        weights.cpu().numpy(),
        weights[None],
        weights.bfloat16(),
        weights.tolist(),
    ):
        trace = Trace.from_weights(SRC, encoder=[layer])
        np.testing.assert_allclose(trace.weights("encoder", 0), weights.cpu().numpy(), atol=2**-8)
    trace.save_npz(tmp_path / "other.npz")
    loaded = Trace.load_npz(tmp_path / "other.npz")
    np.testing.assert_array_equal(loaded.weights("encoder", 0), trace.weights("encoder", 0))
    assert json.loads(trace.to_json())["src_tokens"] == list(trace.src_tokens)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({}, "no attention weights: pass"),
        (
            {"encoder": [random_weights(2, 4, 4)]},
            "has 4 × 4 weights per head; its tokens are 5 × 5",
        ),
        (
            {"encoder": [random_weights(2, 5, 5), random_weights(3, 5, 5)]},
            "layer 1 has 3 heads, but layer 0 has 2",
        ),
        ({"encoder": [random_weights(2, 5, 5) / 2]}, "sums to 0.500, not to 1: call model.eval()"),
        ({"encoder": [random_weights(2, 5, 5) * float("nan")]}, "negative, infinite or NaN"),
        ({"encoder": [torch.stack([random_weights(2, 5, 5)] * 3)]}, "has a batch of 3"),
        (
            {"encoder": [random_weights(2, 5, 5)] * 2, "cross": [random_weights(3, 4, 5)] * 2},
            "the same number of heads, not encoder 2, cross 3",
        ),
    ],
)
def test_mismatched_weights_are_refused(weights: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=r".") as raised:
        Trace.from_weights(SRC, TGT, **weights)
    assert message in str(raised.value)


def test_ids_instead_of_tokens_are_refused() -> None:
    message = r"a token must be a string, not 7; tokenizer\.convert_ids_to_tokens\(ids\) returns"
    with pytest.raises(ValueError, match=message):
        Trace.from_weights([7, 8], encoder=[random_weights(2, 2, 2)])  # type: ignore[list-item]
