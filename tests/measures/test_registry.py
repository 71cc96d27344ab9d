"""The registry of measures, and their values for one sentence, compared with plain loops."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.figures.fake_traces import FakeTrace, fake_trace
from transformer import measures
from transformer.figures.packed_trace import fixed_header
from transformer.figures.state import FIELDS
from transformer.measures import KINDS, MEASURES, Measure, OffsetShare, measure_heads
from transformer.measures.measure import GROUPS
from transformer.measures.pieces import Pieces
from transformer.measures.registry import rows_of
from transformer.measures.rows import RowWeights

SRC = ["▁a", "▁boat", ",", "▁a", "▁sea", "m", "an", ".", "</s>"]
LAYERS, HEADS = 3, 4
TGT = ["<s>", "▁un", "▁boat", ",", "▁un"]


@pytest.fixture(scope="module")
def trace() -> FakeTrace:
    return fake_trace(SRC, TGT)


def test_every_measure_has_a_description() -> None:
    assert len(MEASURES) > 20
    for name, measure in MEASURES.items():
        assert name == measure.name
        assert name.isidentifier()
        assert measure.label
        assert measure.note.endswith(".")
        assert measure.group in GROUPS
        assert set(measure.kinds) <= set(KINDS)
        assert not measure.missing_reason.endswith(".")
    assert len({measure.label for measure in MEASURES.values()}) == len(MEASURES)
    groups = [GROUPS.index(measure.group) for measure in MEASURES.values()]
    assert groups == sorted(groups)
    assert FIELDS["measure"].choices == ("none", *MEASURES)


@pytest.mark.parametrize("kind", KINDS)
def test_measures_of_one_sentence_equal_the_formulas(trace: FakeTrace, kind: str) -> None:
    for layer in range(LAYERS):
        w = trace.weights(kind, layer)
        values = measure_heads(trace, kind, layer)
        np.testing.assert_allclose(values["entropy"], measures.entropy(w), atol=2e-5)
        np.testing.assert_allclose(values["distance"], measures.distance(w), atol=2e-5)
        np.testing.assert_allclose(values["positional"], measures.positional(w))
        np.testing.assert_array_equal(values["offset"], measures.offset(w))
        for name, column in (("first", 0), ("last", -1)):
            np.testing.assert_allclose(values[name], measures.share(w, column), atol=2e-6)
        if kind != "decoder":
            np.testing.assert_allclose(values["backwards"], measures.positional(w[..., ::-1]))
        assert set(values) <= {*MEASURES, "offset", "backwards_offset"}
        for name in set(values) & set(MEASURES):
            assert kind in MEASURES[name].kinds
            assert values[name].shape == (HEADS,)
            assert np.isfinite(values[name]).all()


def test_token_measures_equal_plain_loops(trace: FakeTrace) -> None:
    w, values = trace.weights("encoder", 1), measure_heads(trace, "encoder", 1)
    n = len(SRC)
    np.testing.assert_allclose(
        values["previous"], [np.mean([h[i, i - 1] for i in range(1, n)]) for h in w], atol=1e-6
    )
    np.testing.assert_allclose(
        values["next"], [np.mean([h[i, i + 1] for i in range(n - 1)]) for h in w], atol=1e-6
    )
    np.testing.assert_allclose(values["itself"], [np.diag(h).mean() for h in w], atol=1e-6)
    np.testing.assert_allclose(values["punctuation"], w[:, :, [2, 7]].sum(-1).mean(-1), atol=1e-6)
    np.testing.assert_allclose(values["delimiters"], w[:, :, [2, 7, 8]].sum(-1).mean(-1), atol=1e-6)
    # "a" occurs twice; "sea" is not a whole word.
    np.testing.assert_allclose(values["duplicate"], (w[:, 0, 3] + w[:, 3, 0]) / 2, atol=1e-6)
    inside = [4, 5, 6]
    hits = [[h[i, :-1].argmax() in inside and h[i, :-1].argmax() != i for i in inside] for h in w]
    np.testing.assert_allclose(values["pieces"], np.mean(hits, axis=-1))
    cross, predicted_tokens = trace.weights("cross", 0), trace.predicted_tokens
    rows = [
        (i, SRC.index(token)) for i, token in enumerate(predicted_tokens) if token in ("▁boat",)
    ]
    np.testing.assert_allclose(
        measure_heads(trace, "cross", 0)["duplicate"],
        np.mean([cross[:, i, j] for i, j in rows], axis=0),
        atol=1e-6,
    )


def test_padded_batches_equal_single_sentences(trace: FakeTrace) -> None:
    """As for a corpus: two sentences in one batch, the shorter one padded."""
    short = fake_trace(SRC[3:], TGT)
    for measure in MEASURES.values():
        for kind in measure.kinds:
            both_rows = [rows_of(trace, kind), rows_of(short, kind)]
            n_query, n_key = both_rows[0].query.shape[1], both_rows[0].key.shape[1]
            w = np.zeros((2, HEADS, n_query, n_key), np.float32)
            vocabulary = sorted({*SRC, *TGT, *trace.predicted_tokens})
            ids = np.zeros((3, 2, max(n_query, n_key)), np.int64)
            for number, sentence_trace in enumerate((trace, short)):
                part = sentence_trace.weights(kind, 1)
                w[number, :, : part.shape[1], : part.shape[2]] = part
                texts = {"encoder": sentence_trace.src_tokens, "decoder": sentence_trace.tgt_tokens}
                query = texts.get(kind, sentence_trace.tgt_tokens)
                key = texts.get(kind, sentence_trace.src_tokens)
                predicted = query if kind == "encoder" else sentence_trace.predicted_tokens
                for row, tokens in enumerate((query, key, predicted)):
                    ids[row, number, : len(tokens)] = [vocabulary.index(token) for token in tokens]
            within = {
                name: np.stack(
                    [
                        np.pad(part.within[name][0], (0, n_key - part.key.shape[1]))
                        for part in both_rows
                    ]
                )
                for name in both_rows[0].within
            }
            rows = replace(
                both_rows[0],
                query=ids[0, :, :n_query],
                key=ids[1, :, :n_key],
                writes=ids[2, :, :n_query],
                n_query=np.array([part.n_query[0] for part in both_rows]),
                n_key=np.array([part.n_key[0] for part in both_rows]),
                pieces=Pieces.of(vocabulary),
                within=within,
                _cache={},
            )
            values = measure.means(RowWeights(rows, w))
            for number, sentence_trace in enumerate((trace, short)):
                alone = measure.means(
                    RowWeights(both_rows[number], sentence_trace.weights(kind, 1)[None])
                )
                np.testing.assert_allclose(
                    values[number], alone[0], atol=2e-6, err_msg=measure.name
                )


def test_a_uniform_head_has_the_chance_value(trace: FakeTrace) -> None:
    rows = rows_of(trace, "encoder")
    uniform = rows.uniform()
    assert MEASURES["entropy"].means(uniform)[0, 0] == pytest.approx(np.log2(len(SRC)), abs=1e-5)
    assert MEASURES["first"].means(uniform)[0, 0] == pytest.approx(1 / len(SRC))
    # Equal weights count in part: of eight tokens, two belong to the same word.
    assert MEASURES["pieces"].means(uniform)[0, 0] == pytest.approx(2 / 8)


def test_the_explorer_gets_the_description_of_every_measure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    measure = Measure(
        "second", "The second token", "The weight on it.", lambda a: a.w[..., 1], group="position"
    )
    monkeypatch.setitem(MEASURES, "second", measure)
    described = fixed_header()["measures"]
    assert described.keys() == MEASURES.keys()
    assert described["second"] == {
        "label": "The second token",
        "unit": "",
        "note": "The weight on it.",
        "offset": "",
    }


def test_the_share_at_an_offset_is_not_a_mean_over_rows(trace: FakeTrace) -> None:
    measure = MEASURES["positional"]
    assert isinstance(measure, OffsetShare)
    rows = rows_of(trace, "encoder")
    with pytest.raises(TypeError, match="not a mean of row values"):
        measure.function(RowWeights(rows, trace.weights("encoder", 0)[None]))
