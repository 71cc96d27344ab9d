"""Packed rows give the numbers of single pairs, and the short training on a GPU runs to the end."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional

from benchmarks import gpu_training
from benchmarks.packed_rows import pack, packed_logits, packed_loss
from tests.training.conftest import SHAPE
from transformer.config import ModelConfig
from transformer.inference import Translator
from transformer.model import Transformer

ROOT = Path(__file__).resolve().parents[1]
EOS = 2
sentences = st.lists(st.integers(4, 28), max_size=9).map(lambda ids: [*ids, EOS])
PAIRS = [([5, 6, EOS], [7, EOS]), ([8, EOS], [9, 10, 11, EOS]), ([12, 13, 14, 15, EOS], [5, EOS])]


def make_model() -> Transformer:
    torch.manual_seed(0)
    model = Transformer(ModelConfig(vocab_size=29, **(SHAPE | {"n_layers": 2})))
    return model.eval().requires_grad_(False)


@given(st.lists(st.tuples(sentences, sentences), max_size=80))
def test_every_pair_that_fits_is_in_a_row_once(pairs: list[tuple[list[int], list[int]]]) -> None:
    packed = []
    for src, tgt in pack(pairs, 9):
        assert src[-1] == tgt[-1] == 0
        sides = [
            [[*map(int, part), EOS] for part in np.split(ids, np.flatnonzero(ids == EOS) + 1)[:-1]]
            for ids in (src, tgt)
        ]
        packed += [(src[:-1], tgt[:-1]) for src, tgt in zip(sides[0], sides[1], strict=True)]
    fitting = [(src, tgt) for src, tgt in pairs if max(len(src), len(tgt)) < 9]
    assert sorted(packed) == sorted(fitting)


def test_a_packed_pair_has_the_logits_and_the_loss_of_the_pair_alone() -> None:
    model, rows = make_model(), torch.from_numpy(pack(PAIRS, 12).astype(np.int64))
    assert len(rows) == 1
    logits, ids = packed_logits(model, rows)
    start, total, count = 0, 0.0, 0
    for src, tgt in PAIRS:
        expected = model(torch.tensor([src]), torch.tensor([[1, *tgt[:-1]]]))[0]
        torch.testing.assert_close(logits[0, start : start + len(tgt)], expected)
        assert ids[0, start : start + len(tgt)].tolist() == tgt
        total += float(functional.cross_entropy(expected, torch.tensor(tgt), reduction="sum"))
        start, count = start + len(tgt), count + len(tgt)
    assert float(packed_loss(model, rows)) == pytest.approx(total / count)


def test_r_drop_adds_the_divergence_of_two_dropout_masks() -> None:
    model, rows = make_model(), torch.from_numpy(pack(PAIRS, 12).astype(np.int64))
    plain = packed_loss(model, rows)
    torch.testing.assert_close(packed_loss(model, rows, r_drop=5.0), plain)  # no dropout: equal
    model.train()
    torch.manual_seed(1)
    logits, tgt = packed_logits(model, torch.cat([rows, rows]))
    p, q = (part[tgt[0] != 0].log_softmax(-1) for part in logits)
    kl = functional.kl_div(q, p, log_target=True, reduction="sum") + functional.kl_div(
        p, q, log_target=True, reduction="sum"
    )
    torch.manual_seed(1)
    without = packed_loss(model, torch.cat([rows, rows]))
    torch.manual_seed(1)
    with_r_drop = packed_loss(model, rows, r_drop=5.0)
    torch.testing.assert_close(with_r_drop, without + 5 / 4 * kl / (tgt[0] != 0).sum())


@pytest.mark.slow
def test_the_loss_is_one_graph_for_the_compiler() -> None:
    """In another process, because the shape checks of the tests cannot be compiled."""
    program = """if True:
        import torch
        from benchmarks.packed_rows import pack, packed_loss
        from transformer.config import ModelConfig
        from transformer.model import Transformer
        model = Transformer(ModelConfig(29, 16, 2, 2, 32, dropout=0.0))
        rows = torch.from_numpy(pack([([5, 6, 2], [7, 2])] * 9, 12).astype("int64"))
        whole = torch.compile(packed_loss, fullgraph=True, backend="eager")
        for r_drop in (0.0, 1.0):
            options = (model, rows, 0.1, r_drop)
            torch.testing.assert_close(whole(*options), packed_loss(*options))
    """
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True, timeout=300)


@pytest.mark.slow
def test_prepare_train_and_join_give_a_checkpoint(
    tmp_path: Path, pairs: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gpu_training, "MAX_FILE_BYTES", 400_000)  # several files
    table, folder, results = tmp_path / "pairs.tsv", tmp_path / "gpu", tmp_path / "results"
    table.write_text("".join(f"{src}\t{tgt}\n" for src, tgt in pairs), "utf-8")
    texts = ["--train", str(table), "--valid", str(table), "--add", f"{table}=0.5"]
    sizes = ["--vocab-size", "320", "--preset", "tiny", "--length", "64"]
    gpu_training.main(["prepare", str(folder), *texts, *sizes])
    fast = ["--warmup", "10", "--learning-rate", "0.003", "--write-seconds", "1"]
    limits = ["--steps", "20", "--batch-tokens", "2048", "--r-drop", "1", "--seconds", "100"]
    gpu_training.main(
        ["train", str(folder), str(results), "--device=cpu", "--no-compile", *fast, *limits]
    )
    lines = [json.loads(line) for line in (results / "log.jsonl").read_text().splitlines()]
    losses = [line["valid_loss"] for line in lines if "valid_loss" in line]
    assert losses[-1] < losses[0] - 0.5
    assert len([*results.glob("weights-*")]) == 2
    gpu_training.main(["join", str(folder), str(results), str(tmp_path / "checkpoint")])
    assert Translator.load(tmp_path / "checkpoint", "cpu").translate("She sells bread.").ids
    next(results.glob("weights-*-2-of-2.safetensors")).unlink()
    with pytest.raises(ValueError, match="no complete weights"):
        gpu_training.complete_weights(results)
