"""Small models; one is trained briefly, so that outputs differ, end, and have close candidates."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
import random
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from transformer.config import ModelConfig
from transformer.hooks import Hooks
from transformer.inference.decoding import Output
from transformer.inference.sessions import Session
from transformer.inference.trace import Trace
from transformer.inference.translator import Translator
from transformer.model.transformer import Transformer

VOCAB_SIZE = 20
THREE_WORD_VOCAB_SIZE = 7  # size: <pad>, <s>, </s>, <unk> and three words
SOURCES = [[5, 6, 7, 2], [8, 9, 10, 11, 12, 13, 2], [4, 2], [19, 5, 19, 5, 18, 2], [7, 7, 7, 2]]

READ_ONLY_HOOKS = Hooks({"hook_logits": lambda logits, name: None})


def many_sources(n: int, seed: int = 0) -> list[list[int]]:
    rng = random.Random(seed)
    return [
        [*(rng.randrange(4, VOCAB_SIZE) for _ in range(rng.randint(1, 8))), 2] for _ in range(n)
    ]


def untrained(seed: int = 0, **changes: Any) -> Transformer:
    """Return a model with random weights and biases, so that no term of a sum is zero."""
    shape = {"d_model": 16, "n_layers": 2, "n_heads": 2, "d_ff": 24, "vocab_size": VOCAB_SIZE}
    with torch.random.fork_rng(), torch.device("cpu"):  # the same weights on every device
        torch.manual_seed(seed)
        model = Transformer(ModelConfig(**{**shape, **changes})).eval()
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                if name.endswith("bias"):
                    parameter.normal_(0, 0.5)
    return model.to(torch.get_default_device())


def three_word_model(seed: int) -> Transformer:
    """Return a random model with a vocabulary of three words, whose distributions are neither
    uniform nor one-hot."""
    model = untrained(seed, vocab_size=THREE_WORD_VOCAB_SIZE)
    with torch.no_grad():
        model.embedding.weight.mul_(0.6)
    return model


@functools.cache
def copier() -> Transformer:
    """A model that has partly learned to write its source twice; do not change it. Its
    outputs have several lengths, some reach the limit, and second candidates are close."""
    with torch.random.fork_rng(), torch.device("cpu"):  # the same weights on every device
        torch.manual_seed(3)
        config = ModelConfig(
            vocab_size=VOCAB_SIZE, d_model=32, n_layers=2, n_heads=4, d_ff=64, dropout=0.0
        )
        model = Transformer(config)
        optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
        for _ in range(140):
            length = int(torch.randint(1, 6, ()))
            words = torch.randint(4, VOCAB_SIZE, (32, length))
            end = torch.full((32, 1), config.eos_id)
            out = torch.cat([words, words, end], dim=1)
            tgt = torch.cat([torch.full((32, 1), config.bos_id), out[:, :-1]], dim=1)
            logits = model(torch.cat([words, end], dim=1), tgt)
            optimizer.zero_grad()
            functional.cross_entropy(logits.flatten(0, 1), out.flatten()).backward()
            optimizer.step()
    return model.to(torch.get_default_device()).eval().requires_grad_(False)


def log_probabilities(model: Transformer, source: list[int], ids: list[int]) -> torch.Tensor:
    """Return the log-probabilities of all tokens at each position of `ids` from one pass."""
    with torch.no_grad():
        logits = model(torch.tensor([source]), torch.tensor([[1, *ids[:-1]]]))[0]
    return logits.double().log_softmax(dim=-1).cpu()


def exhaustive_best(
    model: Transformer, source: list[int], max_len: int, alpha: float, prefix: Sequence[int] = ()
) -> tuple[float, list[int]]:
    """Return the best score and its sequence of at most `max_len` ids that begins with `prefix`.

    All sequences that end with `</s>` or have `max_len` ids are scored, each by one full forward
    pass.
    """
    best: tuple[float, list[int]] = (-math.inf, [])
    for length in range(max_len + 1):
        for words in itertools.product(range(4, THREE_WORD_VOCAB_SIZE), repeat=length):
            for ids in ([*prefix, *words, 2], [*prefix, *words]):
                is_finished = ids[-1:] == [2] and ids.count(2) == 1 and len(ids) <= max_len
                if is_finished or (2 not in ids and len(ids) == max_len):
                    total = float(log_probabilities(model, source, ids)[range(len(ids)), ids].sum())
                    best = max(best, (total / ((5 + len(ids)) / 6) ** alpha, ids))
    return best


def assert_same_output(output: Output, expected_output: Output, atol: float = 1e-4) -> None:
    """Check for equal tokens, probabilities and best candidates."""
    actual, expected = output.decoded, expected_output.decoded
    assert (actual.ids, actual.finished, output.seed) == (
        expected.ids,
        expected.finished,
        expected_output.seed,
    )
    np.testing.assert_allclose(
        actual.log_probabilities, expected.log_probabilities, rtol=0, atol=atol
    )
    assert (actual.candidate_ids[:, 0] == expected.candidate_ids[:, 0]).all()


def assert_same_trace(trace: Trace, expected: Trace, atol: float = 0.0) -> None:
    for field in dataclasses.fields(Trace):
        if field.name not in ("tensors", "translation", "model_reference"):
            assert getattr(trace, field.name) == getattr(expected, field.name)
    assert trace.translation.ids == expected.translation.ids
    assert trace.names == expected.names
    for name in trace:
        np.testing.assert_allclose(trace[name], expected[name], atol=atol, rtol=0, err_msg=name)


def log_probabilities_of_steps(session: Session, tgt: torch.Tensor) -> torch.Tensor:
    """Return the log probabilities of the next token at every step of a session."""
    steps = [session.step(ids, k=5) for ids in tgt.T]
    for step in steps:
        allowed = step.log_probabilities.index_fill(1, torch.tensor([0, 1, 3]), -torch.inf)
        values, ids = allowed.topk(5)
        assert torch.equal(step.top_log_probabilities, values)
        assert torch.equal(step.top_ids, ids)
    return torch.stack([step.log_probabilities for step in steps], dim=1)


def greedy_with_a_plain_loop(model: Transformer, source: list[int], limit: int) -> list[int]:
    """Decode greedily with one full forward pass per step; choose tokens in double precision."""
    config, output = model.config, []
    src = torch.tensor([source])
    while len(output) < limit and config.eos_id not in output:
        with torch.no_grad():
            logits = model(src, torch.tensor([[config.bos_id, *output]]))[0, -1].double()
        logits[[config.pad_id, config.bos_id, config.unk_id]] = -torch.inf
        output.append(int(logits.argmax()))
    return output


class _CopierVocabulary:
    """A fake vocabulary of `copier` that encodes every text as `source`."""

    eos_id = 2

    def __init__(self, source: list[int]) -> None:
        self.source = source

    def __len__(self) -> int:
        return VOCAB_SIZE

    def check(self, config: ModelConfig) -> None: ...
    def tokens(self, ids: Iterable[int]) -> list[str]:
        return [f"w{id}" for id in ids]

    def decode(self, ids: Iterable[int]) -> str:
        return " ".join(self.tokens(ids))

    def encode_batch(self, texts: list[str], threads: int) -> list[list[int]]:
        return [self.source for _ in texts]


def copy_translator(source: list[int]) -> Translator:
    """Return a translator with `copier` that encodes every text as `source`."""
    vocabulary: Any = _CopierVocabulary(source)
    return Translator(copier(), vocabulary)
