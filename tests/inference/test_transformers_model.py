"""`Trace.of`: small models of `transformers`, each compared with its own output."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from transformer import Trace
from transformer.measures.pieces import is_control
from transformer.measures.words import word_labels

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


def test_special_tokens_come_from_the_tokenizer(tokenizer: Any) -> None:
    """Whatever they look like, they are words of their own."""
    special = copy.deepcopy(tokenizer)
    names = ["$$", "<n>", "#", "< end >", "</hl>"]
    special.add_special_tokens({"additional_special_tokens": names})
    model = seeded_model(gpt2)
    model.resize_token_embeddings(len(special))
    text = "".join(f"{name}the cat" for name in names)
    trace = Trace.of(model, special, text)
    expected = ["<|$$|>", "<|n|>", "<|#|>", "<|end|>", "<|/hl|>"]
    assert [token for token in trace.tgt_tokens if is_control(token)] == [*expected, "</s>"]
    labels = word_labels(trace.tgt_tokens)
    assert [label for label in labels if is_control(label)] == [*expected, "</s>"]


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


def test_settings_of_generation_do_not_change_what_is_traced(tokenizer: Any) -> None:
    model = seeded_model(bart)
    model.generation_config.max_new_tokens = 5
    expected = Trace.of(model, tokenizer, "the cat").predicted_tokens
    model.generation_config.return_dict_in_generate = True
    model.generation_config.output_scores = True
    assert Trace.of(model, tokenizer, "the cat").predicted_tokens == expected
    model.generation_config.num_beams = model.generation_config.num_return_sequences = 2
    best = model.generate(**tokenizer("the cat", return_tensors="pt")).sequences[0].tolist()
    predicted = Trace.of(model, tokenizer, "the cat").predicted_tokens
    assert [WORDS.index(token.removeprefix("▁")) for token in predicted] == best[1:][
        : len(predicted)
    ]


@pytest.mark.parametrize("build", [bart, marian, t5])
def test_inputs_that_the_model_does_not_take_are_left_out(
    tokenizer: Any, build: Callable[[], Model]
) -> None:
    model = seeded_model(build)
    model.generation_config.max_new_tokens = 5
    expected = Trace.of(model, tokenizer, "the cat")
    names = tokenizer.model_input_names
    tokenizer.model_input_names = ["input_ids", "token_type_ids", "attention_mask"]
    try:
        trace = Trace.of(model, tokenizer, "the cat")
    finally:
        tokenizer.model_input_names = names
    np.testing.assert_array_equal(trace.all_weights("decoder"), expected.all_weights("decoder"))


SHORT = {"max_position_embeddings": 10}
SMALL = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2} | {
    "intermediate_size": 32,
    "vocab_size": SIZE,
}


@pytest.mark.parametrize(
    ("kind", "sizes", "limit"),
    [
        ("Bert", {**SMALL, **SHORT}, 10),
        ("Electra", {**SMALL, "embedding_size": 16, **SHORT}, 10),
        ("Roberta", {**SMALL, **SHORT}, 8),  # its positions begin after that of the padding, 1
        ("OPT", {**SMALL, "ffn_dim": 32, "word_embed_proj_dim": 16, **SHORT}, 10),
        ("GPT2", {"n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 10}, 10),
        (
            "GPTNeo",
            {"hidden_size": 16, "num_layers": 2, "num_heads": 2, **SHORT}
            | {"attention_types": [[["global"], 2]]},
            10,
        ),
    ],
)
def test_texts_have_at_most_the_positions_of_the_model(
    tokenizer: Any, kind: str, sizes: dict[str, Any], limit: int
) -> None:
    config = getattr(transformers, f"{kind}Config")(**{"vocab_size": SIZE, **sizes}, **EAGER)
    model = getattr(transformers, f"{kind}Model")(config).eval()
    longest = " ".join(["cat"] * (limit - 1))  # and </s>
    assert Trace.of(model, tokenizer, longest).n_layers == 2
    with pytest.raises(ValueError, match=f"has {limit + 1} tokens.* at most {limit}"):
        Trace.of(model, tokenizer, f"{longest} cat")


def test_a_token_without_an_embedding_is_named(tokenizer: Any) -> None:
    config = transformers.GPT2Config(vocab_size=5, n_embd=16, n_layer=1, n_head=2, **EAGER)
    with pytest.raises(ValueError, match="'sat' the id 6, but the model's vocabulary has 5"):
        Trace.of(transformers.GPT2LMHeadModel(config).eval(), tokenizer, "the sat")


def test_a_target_needs_the_token_that_begins_an_output(tokenizer: Any) -> None:
    model = seeded_model(bart)
    model.config.decoder_start_token_id = model.generation_config.decoder_start_token_id = None
    with pytest.raises(ValueError, match="has no decoder_start_token_id"):
        Trace.of(model, tokenizer, "the cat", target="le chat")


def test_models_without_attention_or_with_a_sink_are_refused(tokenizer: Any) -> None:
    mamba = transformers.MambaConfig(vocab_size=SIZE, hidden_size=16, num_hidden_layers=1)
    with pytest.raises(ValueError, match="MambaForCausalLM has no attention"):
        Trace.of(transformers.MambaForCausalLM(mamba).eval(), tokenizer, "the cat")
    sizes = {**SMALL, "num_key_value_heads": 2, "head_dim": 8}
    experts = {"num_local_experts": 2, "num_experts_per_tok": 1}
    model = transformers.GptOssForCausalLM(transformers.GptOssConfig(**sizes, **experts, **EAGER))
    for layer in model.model.layers:
        torch.nn.init.ones_(layer.self_attn.sinks)
    with pytest.raises(ValueError, match="a learned sink"):
        Trace.of(model.eval(), tokenizer, "the cat")


def test_a_hybrid_model_keeps_the_numbers_of_its_layers(tokenizer: Any) -> None:
    sizes = {**SMALL, "num_hidden_layers": 4, "num_key_value_heads": 2}
    config = transformers.Lfm2Config(**sizes, full_attn_idxs=[1, 3], **EAGER)
    model = transformers.Lfm2ForCausalLM(config).eval()
    trace = Trace.of(model, tokenizer, "the cat")
    has_attention = [hasattr(layer, "self_attn") for layer in model.model.layers]
    assert [has_attention[n] for n in trace.config["layer_numbers"]] == [True, True]
    assert trace.config["layer_numbers"] == [n for n in range(4) if has_attention[n]]
    out = model(**tokenizer("the cat", return_tensors="pt"), output_attentions=True)
    weights = [layer for layer in out.attentions if layer is not None]
    expected = weights[1][0].detach().cpu().numpy()
    np.testing.assert_allclose(trace.weights("decoder", 1), expected, atol=1e-6)
    assert "layer_numbers" not in Trace.of(seeded_model(gpt2), tokenizer, "the cat").config
