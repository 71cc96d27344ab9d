"""`Trace.of`: small models of `transformers`, each compared with its own output."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from transformer import Trace

transformers = pytest.importorskip("transformers")
tokenizers = pytest.importorskip("tokenizers")

WORDS = ["<s>", "<pad>", "</s>", "<unk>", "the", "cat", "sat", "le", "chat", "dort"]
SIZE = len(WORDS)
EAGER: dict[str, Any] = {"attn_implementation": "eager"}
SEQ2SEQ: dict[str, Any] = {
    "vocab_size": SIZE,
    "d_model": 16,
    "encoder_layers": 2,
    "decoder_layers": 3,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 32,
    "decoder_ffn_dim": 32,
    "bos_token_id": 0,
    "pad_token_id": 1,
    "eos_token_id": 2,
    "decoder_start_token_id": 2,
}
Model = Any


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    model = tokenizers.models.WordLevel({word: n for n, word in enumerate(WORDS)}, "<unk>")
    word_tokenizer = tokenizers.Tokenizer(model)
    word_tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    word_tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        "$A </s>", None, [("</s>", 2)]
    )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=word_tokenizer, eos_token="</s>", pad_token="<pad>", unk_token="<unk>"
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("tokenizer", ["▁tokeniz", "er"]),
        ("喜欢", ["▁喜欢"]),
        ("tokenizer a", ["tokeniz", "er", "▁a"]),
        ("a", ["▁a"]),
    ],
)
def test_byte_level_tokens_of_a_decoder(text: str, expected: list[str]) -> None:
    """Also one token gives a trace of a decoder, and the tokens of one word stay together."""
    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    bpe = tokenizers.Tokenizer(tokenizers.models.BPE())
    bpe.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = tokenizers.trainers.BpeTrainer(
        initial_alphabet=sorted(alphabet), vocab_size=400, min_frequency=1, show_progress=False
    )
    bpe.train_from_iterator(["tokeniz", "喜欢"], trainer)
    byte_level = transformers.PreTrainedTokenizerFast(tokenizer_object=bpe)
    sizes = {"n_embd": 16, "n_layer": 2, "n_head": 2}
    config = transformers.GPT2Config(vocab_size=len(byte_level), **sizes, **EAGER)
    trace = Trace.of(transformers.GPT2LMHeadModel(config).eval(), byte_level, text)
    assert len(trace.tgt_tokens) == len(byte_level(text)["input_ids"])
    assert "".join(trace.tgt_tokens) == "".join(expected)
    assert not trace.src_tokens


def bert() -> Model:
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
    return transformers.BertModel(
        transformers.BertConfig(vocab_size=SIZE, intermediate_size=32, **sizes, **EAGER)
    )


def gpt2() -> Model:
    sizes = {"n_embd": 16, "n_layer": 2, "n_head": 2}
    return transformers.GPT2LMHeadModel(transformers.GPT2Config(vocab_size=SIZE, **sizes, **EAGER))


def bart() -> Model:
    return transformers.BartForConditionalGeneration(transformers.BartConfig(**SEQ2SEQ, **EAGER))


def marian() -> Model:
    return transformers.MarianMTModel(transformers.MarianConfig(**SEQ2SEQ, **EAGER))


def m2m100() -> Model:
    return transformers.M2M100ForConditionalGeneration(
        transformers.M2M100Config(**SEQ2SEQ, **EAGER)
    )


def t5() -> Model:
    sizes = {"d_model": 16, "d_kv": 8, "d_ff": 32, "num_layers": 2, "num_heads": 2}
    config = transformers.T5Config(
        vocab_size=SIZE, **sizes, **EAGER, pad_token_id=1, eos_token_id=2, decoder_start_token_id=1
    )
    return transformers.T5ForConditionalGeneration(config)


def seeded_model(build: Callable[[], Model]) -> Model:
    torch.manual_seed(3)
    return build().eval()


def test_bert_has_encoder_attention_only(tokenizer: Any) -> None:
    model = seeded_model(bert)
    trace = Trace.of(model, tokenizer, "the cat sat")
    out = model(**tokenizer("the cat sat", return_tensors="pt"), output_attentions=True)
    for layer in range(2):
        expected = out.attentions[layer][0].detach().cpu().numpy()
        np.testing.assert_allclose(trace.weights("encoder", layer), expected, atol=1e-6)
    assert trace.src_tokens == ("▁the", "▁cat", "▁sat", "</s>")
    assert not trace.tgt_tokens


def test_gpt2_has_decoder_attention_only(tokenizer: Any) -> None:
    model = seeded_model(gpt2)
    trace = Trace.of(model, tokenizer, "the cat sat")
    out = model(**tokenizer("the cat sat", return_tensors="pt"), output_attentions=True)
    expected = out.attentions[1][0].detach().cpu().numpy()
    np.testing.assert_allclose(trace.weights("decoder", 1), expected, atol=1e-6)
    assert not trace.src_tokens


@pytest.mark.parametrize("build", [bart, marian, m2m100, t5])
def test_an_encoder_decoder_has_all_three_kinds(tokenizer: Any, build: Callable[[], Model]) -> None:
    model = seeded_model(build)
    trace = Trace.of(model, tokenizer, "the cat sat", target="le chat dort")
    assert trace.predicted_tokens == ("▁le", "▁chat", "▁dort", "</s>")
    start = WORDS[model.config.decoder_start_token_id]
    assert trace.tgt_tokens == (start, "▁le", "▁chat", "▁dort")
    ids = tokenizer("le chat dort", return_tensors="pt")["input_ids"]
    # The model shifts the labels itself.
    out = model(**tokenizer("the cat sat", return_tensors="pt"), labels=ids, output_attentions=True)
    for kind, attentions in (
        ("encoder", out.encoder_attentions),
        ("decoder", out.decoder_attentions),
        ("cross", out.cross_attentions),
    ):
        for layer, expected in enumerate(attentions):
            weights = trace.weights(kind, layer)  # type: ignore[arg-type]
            np.testing.assert_allclose(weights, expected[0].detach().cpu().numpy(), atol=1e-6)


def test_without_a_target_the_generated_output_is_traced(tokenizer: Any) -> None:
    model = seeded_model(bart)
    model.generation_config.max_new_tokens = 5
    trace = Trace.of(model, tokenizer, "the cat")
    generated = model.generate(**tokenizer("the cat", return_tensors="pt"))[0].tolist()
    expected = [WORDS[id] for id in generated]
    assert [token.removeprefix("▁") for token in trace.tgt_tokens] == expected[:-1]
    assert [token.removeprefix("▁") for token in trace.predicted_tokens] == expected[1:]


def test_unsupported_models_are_refused_in_one_sentence(tokenizer: Any) -> None:
    with pytest.raises(ValueError, match="pass one text and no target"):
        Trace.of(seeded_model(bert), tokenizer, "the cat", target="le chat")
    with pytest.raises(ValueError, match="the text must not be blank, but it is ' '"):
        Trace.of(seeded_model(bert), tokenizer, " ")
    with pytest.raises(ValueError, match=r"call model\.eval\(\) first"):
        Trace.of(bert(), tokenizer, "the cat")
    model = seeded_model(bart)
    model.set_attn_implementation("sdpa")
    with pytest.raises(ValueError, match="set_attn_implementation"):
        Trace.of(model, tokenizer, "the cat", target="le chat")
