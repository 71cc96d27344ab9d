"""Outputs that begin with a given prefix; decoding continues as usual."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.inference import models
from transformer.hooks import Hooks
from transformer.inference.decoding import Output, SequenceDecoder
from transformer.inference.options import Decoding

LIMIT = 12
GREEDY, BEAM = Decoding(max_len=LIMIT), Decoding(max_len=LIMIT, beam_size=3)
BEAM_OF_ONE = Decoding(max_len=LIMIT, method="beam", beam_size=1)
SAMPLE = Decoding(max_len=LIMIT, method="sample", seed=4)

words = st.integers(4, models.VOCAB_SIZE - 1)
prefixes = st.lists(words, max_size=LIMIT - 1)
sources = st.lists(words, min_size=1, max_size=7).map(lambda ids: [*ids, 2])
CAUSAL_HOOKS = Hooks({**models.READ_ONLY_HOOKS}, causal=True)
HOOKS = {"ONNX": None, "uncached": models.READ_ONLY_HOOKS, "cached": CAUSAL_HOOKS}
"""Hooks that change nothing and select the session that decodes."""
with_each_session = pytest.mark.parametrize("session", HOOKS)


def decode(session: str, source: list[int], options: Decoding, prefix: list[int]) -> Output:
    """Return the output for one source by the given session."""
    decoder = SequenceDecoder(models.copier())
    return decoder.run([source], options, HOOKS[session], prefix=prefix)[0]


@with_each_session
@given(source=sources, prefix=prefixes, end=st.booleans())
@settings(max_examples=25)
def test_greedy_continues_any_prefix(
    session: str, source: list[int], prefix: list[int], end: bool
) -> None:
    prefix = [*prefix, 2] if end else prefix
    sequence = decode(session, source, GREEDY, prefix).decoded
    assert sequence.ids[: len(prefix)] == prefix
    if end:
        assert (sequence.ids, sequence.finished) == (prefix, True)
    assert sequence.finished == (sequence.ids[-1] == 2)
    assert sequence.finished or len(sequence.ids) == LIMIT
    log_probabilities = models.log_probabilities(models.copier(), source, sequence.ids)
    chosen = log_probabilities[range(len(sequence.ids)), sequence.ids]
    actual = torch.from_numpy(sequence.log_probabilities)
    torch.testing.assert_close(actual, chosen, atol=1e-4, rtol=0)
    candidate_ids = torch.from_numpy(sequence.candidate_ids)
    probabilities = torch.from_numpy(sequence.candidate_probabilities)
    torch.testing.assert_close(
        probabilities.double(), log_probabilities.gather(1, candidate_ids).exp(), atol=1e-4, rtol=0
    )
    log_probabilities[:, [0, 1, 3]] = -torch.inf
    torch.testing.assert_close(
        probabilities[:, 0].double(), log_probabilities.amax(1).exp(), atol=1e-4, rtol=0
    )
    assert candidate_ids[len(prefix) :, 0].tolist() == sequence.ids[len(prefix) :]


@with_each_session
@pytest.mark.parametrize("options", [GREEDY, SAMPLE], ids=["greedy", "sample"])
def test_a_prefix_of_the_output_changes_nothing(session: str, options: Decoding) -> None:
    """This also holds for sampling: each step draws a random number, even a step of the prefix."""
    for source in models.SOURCES:
        without_prefix = decode(session, source, options, [])
        for prefix_length in range(1, len(without_prefix.decoded.ids) + 1):
            output = decode(session, source, options, without_prefix.decoded.ids[:prefix_length])
            models.assert_same_output(output, without_prefix)


@given(source=sources, prefix=prefixes)
@settings(max_examples=20)
@pytest.mark.parametrize(
    "options",
    [
        Decoding(method="sample", seed=3, max_len=LIMIT, top_p=0.9),
        Decoding(method="sample", seed=3, max_len=LIMIT, top_k=1),
        BEAM,
        BEAM_OF_ONE,
    ],
    ids=["top-p", "top-k of one", "beam", "beam of one"],
)
def test_the_sessions_agree(options: Decoding, source: list[int], prefix: list[int]) -> None:
    outputs = [decode(session, source, options, prefix).decoded for session in HOOKS]
    if options.top_k == 1 or options == BEAM_OF_ONE:
        outputs.append(decode("ONNX", source, GREEDY, prefix).decoded)
    log_probabilities = models.log_probabilities(models.copier(), source, outputs[0].ids)
    chosen = log_probabilities[range(len(outputs[0].ids)), outputs[0].ids]
    for sequence in outputs:
        assert sequence.ids == outputs[0].ids
        assert sequence.ids[: len(prefix)] == prefix
        actual = torch.from_numpy(sequence.log_probabilities)
        torch.testing.assert_close(actual, chosen, atol=1e-4, rtol=0)
        assert sequence.candidate_ids.shape == (len(sequence.ids), 8)


@pytest.mark.parametrize("options", [GREEDY, SAMPLE, BEAM], ids=["greedy", "sample", "beam"])
def test_a_batch_with_a_prefix_equals_single_sentences(options: Decoding) -> None:
    batch_outputs = SequenceDecoder(models.copier()).run(models.SOURCES, options, prefix=[6, 17])
    for source, output in zip(models.SOURCES, batch_outputs, strict=True):
        assert output.decoded.ids[:2] == [6, 17]
        assert output.decoded.ids == decode("ONNX", source, options, [6, 17]).decoded.ids


@given(source=sources, prefix=prefixes.filter(len), end=st.booleans())
def test_the_tree_begins_with_the_prefix(source: list[int], prefix: list[int], end: bool) -> None:
    prefix = [*prefix, 2] if end else prefix
    output = decode("ONNX", source, BEAM, prefix)
    assert output.search is not None
    tree = output.search.tree([f"w{i}" for i in range(models.VOCAB_SIZE)])
    prefix_nodes = tree.nodes[: len(prefix) + 1]
    assert [node.id for node in prefix_nodes] == [1, *prefix]
    assert [node.parent for node in prefix_nodes] == [None, *range(len(prefix))]
    last_status = "finished" if end else "kept"
    assert [node.status for node in prefix_nodes] == ["kept"] * len(prefix) + [last_status]
    assert all(node.best for node in prefix_nodes)
    assert all(node.depth > len(prefix) for node in tree.nodes[len(prefix_nodes) :])
    assert (len(tree.nodes) == len(prefix_nodes)) == end
    log_probabilities = models.log_probabilities(models.copier(), source, prefix)[
        range(len(prefix)), prefix
    ]
    stored = [node.log_probability for node in prefix_nodes[1:]]
    torch.testing.assert_close(
        torch.tensor(stored, dtype=torch.float64, device="cpu"),
        log_probabilities.cumsum(0),
        atol=1e-3,
        rtol=0,
    )
