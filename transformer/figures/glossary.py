"""Definitions of terms, shown in tooltips and on the glossary page."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Term:
    """One term.

    Attributes:
        name, also: its heading, and other names under which pages show the same tooltip.
        definition: in one or two sentences, plain text.
        see: the path of a page, with a query, that shows it.
        formula: LaTeX; "" if none is needed.
    """

    name: str
    definition: str
    see: str
    also: tuple[str, ...] = ()
    formula: str = ""


TERMS = (
    Term(
        "Attention",
        "For each token, a weighted average of the value vectors of all tokens that it may read, "
        "in self-attention its own included; the weights say how relevant each of them is.",
        "?depth=heads",
        formula=r"\mathrm{Attention}(Q, K, V) = "
        r"\mathrm{softmax}\left(\frac{QK^\top}{\sqrt{d_k}}\right) V",
    ),
    Term(
        "Head",
        "One attention with its own matrices for queries, keys and values. Each layer has several "
        "heads that work in parallel and learn different patterns.",
        "?depth=heads",
        ("Heads",),
        r"\mathrm{head}_i = \mathrm{Attention}(XW_i^Q,\ YW_i^K,\ YW_i^V)",
    ),
    Term(
        "Layer",
        "One of several blocks of the same form: attention and a feed-forward network, each with a "
        "residual connection and LayerNorm. Its input is the output of the layer below.",
        "inside",
        ("Layers",),
    ),
    Term(
        "Encoder",
        "The part of the model that reads the source sentence, by self-attention over it.",
        "inside",
        ("Encoder self-attention",),
    ),
    Term(
        "Decoder",
        "The part of the model that writes the translation, by self-attention over what is written "
        "so far and cross-attention over the source.",
        "inside",
        ("Decoder self-attention",),
    ),
    Term(
        "Cross-attention",
        "Attention whose queries come from the decoder, and keys and values from the encoder's "
        "output: the translation attends to the source sentence.",
        "?depth=heads",
        ("Encoder–decoder attention", "Cross attention"),
    ),
    Term(
        "Self-attention",
        "Attention within one sequence: queries, keys and values come from the same tokens.",
        "?depth=heads&view=heatmap&kind=encoder",
    ),
    Term(
        "Mask",
        "Hides keys by setting their scores to −∞ before the softmax. The causal mask of the "
        "decoder hides the tokens that come later.",
        "?depth=heads&view=heatmap&kind=decoder",
        ("Causal mask",),
        r"s_{ij} = -\infty \quad \text{for } j > i",
    ),
    Term(
        "Kind of attention",
        "Encoder self-attention, decoder self-attention, or cross-attention between the two.",
        "?depth=heads",
    ),
    Term(
        "Query",
        "A vector computed from a token that says what it looks for; its dot product with a key is "
        "a score.",
        "?depth=heads&view=query-key",
        formula=r"q = x\,W^Q",
    ),
    Term(
        "Key",
        "A vector computed from a token that says what it offers to queries.",
        "?depth=heads&view=query-key",
        formula=r"k = x\,W^K",
    ),
    Term(
        "Value",
        "A vector computed from a token: what the token passes on, in proportion to its weight.",
        "?depth=heads&view=query-key",
        formula=r"v = x\,W^V",
    ),
    Term(
        "Score",
        "The dot product of a query and a key, divided by the square root of their dimension. The "
        "higher, the better they match.",
        "?depth=heads&view=query-key",
        formula=r"s_{ij} = \frac{q_i \cdot k_j}{\sqrt{d_k}}",
    ),
    Term(
        "Softmax",
        "Turns scores into positive weights that sum to 1; higher scores get larger weights.",
        "?depth=heads&view=query-key",
        formula=r"\mathrm{softmax}(s)_j = \frac{e^{s_j}}{\sum_k e^{s_k}}",
    ),
    Term(
        "Weight",
        "The share of its attention that a token gives to another token, from 0 to 1; each row of "
        "weights sums to 1.",
        "?depth=heads",
        ("Weights",),
    ),
    Term(
        "Token",
        "The unit that the model reads and writes: a common word, a part of a rarer word, a "
        "punctuation mark, or a special token such as start and end.",
        "?depth=steps&exact=1",
        ("Tokens", "Piece", "Pieces"),
    ),
    Term(
        "Start and end",
        "Two special tokens: the decoder begins with the start token, and every sentence ends with "
        "the end token. The model calls them <s> and </s>.",
        "?depth=heads&view=heatmap",
    ),
    Term(
        "Embedding",
        "The learned vector of a token in the vocabulary, multiplied by √d_model.",
        "inside",
    ),
    Term(
        "Positions",
        "Vectors added to the embeddings that tell the model where each token is; attention "
        "alone ignores order. The paper uses sines and cosines of different wavelengths.",
        "inside?tab=positions",
        ("Positional encoding",),
        r"PE_{(p,\,2i)} = \sin\frac{p}{10000^{2i/d}},\quad "
        r"PE_{(p,\,2i+1)} = \cos\frac{p}{10000^{2i/d}}",
    ),
    Term(
        "Residual",
        "A residual connection adds the input of a sublayer to its output, so the sublayer only "
        "computes a change. The running sum through all layers is the residual stream.",
        "inside?box=encoder.self_attn.add",
        ("Residual connection", "Residual stream"),
        r"x + \mathrm{Sublayer}(x)",
    ),
    Term(
        "Feed-forward network",
        "Two linear maps with a ReLU between them, applied to each position separately; d_ff is "
        "the dimension in the middle.",
        "inside?box=encoder.ffn.hidden",
        ("d_ff",),
        r"\mathrm{FFN}(x) = \max(0,\ xW_1 + b_1)\,W_2 + b_2",
    ),
    Term(
        "LayerNorm",
        "Scales the vector of each position to mean 0 and variance 1, then applies a learned gain "
        "γ and bias β.",
        "inside?box=encoder.ffn.norm",
        formula=r"y = \frac{x - \mu}{\sqrt{\sigma^2 + \varepsilon}} \odot \gamma + \beta",
    ),
    Term(
        "Logits",
        "The model's output scores, one for each token of the vocabulary. The softmax turns them "
        "into probabilities.",
        "inside?box=output.logits",
    ),
    Term("Greedy", "Decoding that always chooses the most probable next token.", "?depth=steps"),
    Term(
        "Beam",
        "Beam search keeps the best hypotheses at every step and returns the one with the highest "
        "score; the beam size is how many.",
        "?depth=steps&method=beam",
        ("Beam search", "Beam size"),
    ),
    Term(
        "Length penalty",
        "How strongly beam search favours longer translations: 0 favours short ones; the paper "
        "uses 0.6.",
        "?depth=steps&method=beam",
        formula=r"\frac{\log P(y \mid x)}{\left((5 + |y|) / 6\right)^{\alpha}}",
    ),
    Term(
        "Sampling",
        "Decoding that draws the next token at random, according to the probabilities.",
        "?depth=steps&method=sample",
    ),
    Term(
        "Temperature",
        "Divides the logits before sampling: below 1 probable tokens become more probable, above 1 "
        "less.",
        "?depth=steps&method=sample",
        formula=r"P_i = \mathrm{softmax}(z / T)_i",
    ),
    Term(
        "Top-k",
        "Samples only from the k most probable tokens; 0 means from all tokens.",
        "?depth=steps&method=sample",
    ),
    Term(
        "Top-p",
        "Samples only from the smallest set of tokens whose probabilities sum to at least p.",
        "?depth=steps&method=sample",
    ),
    Term(
        "Seed",
        "Initialises the random number generator: the same seed and settings give the same result "
        "on the same machine.",
        "?depth=steps&method=sample",
    ),
    Term(
        "Sink",
        "An attention sink: a token, often the end token or a full stop, that gets most of a "
        "head's attention although it says little about the sentence.",
        "?depth=heads",
        ("Attention sink",),
    ),
    Term(
        "Alignment",
        "Which words of the translation correspond to which words of the source.",
        "research?experiment=alignment",
        ("Word alignment",),
    ),
    Term(
        "Gold links",
        "A human-made word alignment, used as the reference for measuring others.",
        "research?experiment=alignment",
    ),
    Term(
        "Alignment error rate",
        "The alignment error rate (AER) of links A against sure gold links S and possible ones P: "
        "0 is perfect, 1 means no link in common.",
        "research?experiment=alignment",
        ("AER", "Alignment error"),
        r"\mathrm{AER} = 1 - \frac{|A \cap S| + |A \cap P|}{|A| + |S|}",
    ),
    Term(
        "BLEU",
        "How many words and short phrases a translation shares with a reference, from 0 to 100; "
        "higher is better.",
        "train",
        formula=r"\mathrm{BLEU} = 100 \cdot \mathrm{BP} \cdot "
        r"\Big(\prod_{n=1}^{4} p_n\Big)^{1/4}",
    ),
    Term(
        "Importance",
        "How much worse the model gets without a head, measured by removing it or estimated from "
        "gradients.",
        "research?experiment=importance",
    ),
    Term(
        "Blanking",
        "Setting one attention weight to 0 and leaving everything else unchanged, to measure its "
        "effect.",
        "?depth=off",
    ),
    Term(
        "Ablation",
        "Removing a part of the model, such as a head, to measure what it contributes.",
        "?depth=off",
    ),
    Term(
        "Rank correlation",
        "How similarly two measures order the same items (Spearman's ρ): 1 the same order, 0 no "
        "relation, −1 the reverse.",
        "?depth=off",
    ),
    Term(
        "Logit lens",
        "Applies the output layer to the vectors after each layer, to see which token the model "
        "would predict if it stopped there.",
        "inside?section=lens",
    ),
    Term("Checkpoint", "The weights and settings of a trained model, stored in a folder.", "train"),
    Term(
        "Loss",
        "The negative log-probability of the correct token, in nats per token; 0 is perfect. "
        "Training minimises it.",
        "train",
        formula=r"\mathcal{L} = -\ln P(y_t \mid y_{<t}, x)",
    ),
    Term(
        "Learning rate",
        "The factor by which each training step is scaled; the setting is its peak, after warm-up "
        "and before decay.",
        "train",
        formula=r"d_{model}^{-0.5} \cdot \min\left(step^{-0.5},\ step \cdot warmup^{-1.5}\right)",
    ),
    Term("Warm-up", "The first steps of training, in which the learning rate rises.", "train"),
    Term(
        "Dropout",
        "During training, sets a random share of the numbers to 0, so that the model does not rely "
        "on individual numbers.",
        "train",
    ),
    Term(
        "Label smoothing",
        "During training, spreads a share ε of the target probability over all tokens, so that the "
        "model does not become overconfident.",
        "train",
        formula=r"q(k) = (1 - \varepsilon)\,[k = y] + \varepsilon / V",
    ),
    Term(
        "Weight decay",
        "In each training step, also reduces every weight by a fraction λ times the learning rate, "
        "so that only useful weights stay large.",
        "train",
        formula=r"\theta \leftarrow \theta - \alpha \lambda \theta",
    ),
    Term(
        "Grokking",
        "A model first memorises its training examples and finds the general rule much later, so "
        "that held-out accuracy rises long after training accuracy.",
        "train?run=toy-modular",
    ),
    Term(
        "Induction head",
        "A head that finds an earlier occurrence of the current token and attends to what followed "
        "it. It builds on a head of a lower layer: in language models, a previous-token head.",
        "train?run=toy-induction",
        ("Induction",),
    ),
    Term(
        "Syntactic head",
        "A head whose largest weight is on the word in one grammatical relation to the query's "
        "word (such as its subject) more often than on any fixed offset.",
        "research?experiment=roles",
        ("Syntactic",),
    ),
    Term(
        "Minimal pair",
        "Two sentences that differ in one word, such as he and she. What differs between their "
        "translations is due to that word.",
        "learn?lesson=gender",
        ("Minimal pairs",),
    ),
    Term(
        "Grammatical gender",
        "A class of a noun that its article and adjectives agree with. It belongs to the word: la "
        "victime and die Person are feminine, whether they mean a man or a woman.",
        "learn?lesson=gender",
    ),
)
_BY_NAME = {name.lower(): term for term in TERMS for name in (term.name, *term.also)}


def term(name: str) -> Term | None:
    """Return the term of this name, ignoring case; None if there is none."""
    return _BY_NAME.get(name.lower())


def tip(name: str) -> str | None:
    """Return the definition of a term for a tooltip; None if there is no such term."""
    return entry.definition if (entry := term(name)) else None
