"""Training in the page: its kernels, and its numbers against PyTorch and the Python trainer."""

from __future__ import annotations

import base64
import json
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.figures.deno import DENO, SCRIPTS, deno
from transformer.analysis.interventions.switching import switched_off
from transformer.app_folders import APP_FOLDER
from transformer.config import ModelConfig
from transformer.inference.translator import Translator
from transformer.model.attention import padding_mask, target_mask
from transformer.model.positions import sinusoidal
from transformer.model.transformer import Transformer
from transformer.text.batching import Batch, pad_batch
from transformer.text.tasks import TASKS, split
from transformer.text.tasks.pair_data import pair_module
from transformer.text.vocabulary import Vocabulary
from transformer.training.learner import Learner
from transformer.training.loss import smoothed_cross_entropy, token_logits
from transformer.training.schedule import learning_rate

MODEL = APP_FOLDER / "transformer/client/model"
REVERSE = TASKS["reverse"]
SMALL_TASKS: tuple[tuple[str, dict[str, int]], ...] = (
    ("copy", {"longest": 3, "letters": 4}),
    ("reverse", {"longest": 4, "letters": 3}),
    ("sort", {"longest": 2}),
    ("induction", {"max_letters": 2}),
    ("dates", {"styles": 3, "years": 5}),
    ("addition", {"digits": 2, "least_first": 0}),
    ("addition", {"digits": 1, "least_first": 1}),
    ("brackets", {"longest": 5, "kinds": 2}),
    ("modular", {"modulus": 7}),
)
"""Tasks with options for which all examples can be listed."""


def _run(command: str, folder: Path) -> Any:
    script = str(SCRIPTS / "training-parity.js")
    return json.loads(deno("run", "--quiet", "--no-check", "--allow-read", script, command, folder))


def _model(settings: Mapping[str, Any]) -> Transformer:
    """Return a model with random weights, which are far from their initial values too."""
    names = ("d_model", "n_layers", "n_heads", "d_ff", "positions", "score")
    shape = {"max_len": 128} | {name: settings[name] for name in names if name in settings}
    torch.manual_seed(3)
    vocab_size = len(REVERSE.symbols) + 4
    model = Transformer(ModelConfig(**{"vocab_size": vocab_size, "dropout": 0.0, **shape}))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.05)
    return model


def _write_case(
    folder: Path, settings: Mapping[str, Any], pairs: list[tuple[str, str]], model: Transformer
) -> None:
    data = {"symbols": REVERSE.symbols, "train": pairs, "valid": pairs[:2]}
    (folder / "case.json").write_text(json.dumps({"settings": settings, **data}))
    weights = torch.cat([parameter.detach().flatten() for parameter in model.parameters()])
    (folder / "weights.bin").write_bytes(weights.numpy().tobytes())


def _pairs(count: int) -> list[tuple[str, str]]:
    return [(example.src, example.tgt) for example in REVERSE.pairs(count, 5)]


def _batch(pairs: list[tuple[str, str]]) -> Batch:
    vocabulary = Vocabulary.from_symbols(REVERSE.symbols)
    sources, targets = ([vocabulary.encode(pair[side]) for pair in pairs] for side in (0, 1))
    return pad_batch(sources, targets, pad_id=0, bos_id=1)


def test_kernels_are_compiled_from_their_source() -> None:
    process = subprocess.run(
        [DENO, "run", "--quiet", "-A", SCRIPTS / "build-kernels.js"],
        capture_output=True,
        encoding="utf-8",
        timeout=240,
        check=False,
    )
    if process.returncode and re.search("registry|resolve|download|Import", process.stderr):
        pytest.skip("needs the package assemblyscript from npm, or from deno's cache")
    assert process.returncode == 0, process.stderr
    stored = (MODEL / "kernel-bytes.js").read_text(encoding="utf-8")
    assert f'"{process.stdout.strip()}"' in stored


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"label_smoothing": 0.1, "score": "dot", "positions": "none"},
        {"score": "additive"},
        {"score": "additive", "n_heads": 1, "n_layers": 1, "causal": False},
        {"positions": "learned", "n_layers": 1, "d_model": 32, "n_heads": 2, "d_ff": 36},
        {"n_heads": 8, "d_model": 32},  # d_k = 4: fewer columns than a kernel computes at once
        {"causal": False},
        {"off": "c0.1,e1,d1.0"},
    ],
    ids=str,
)
def test_gradients_equal_those_of_torch(settings: dict[str, Any], tmp_path: Path) -> None:
    sizes = {"d_model": 64, "n_layers": 2, "n_heads": 4, "d_ff": 256} | settings
    model, pairs = _model(sizes), _pairs(12)
    _write_case(tmp_path, sizes, pairs, model)
    result = _run("gradients", tmp_path)

    batch = _batch(pairs)
    src_mask, tgt_mask = padding_mask(batch.src, 0), target_mask(batch.tgt_in, 0)
    if not settings.get("causal", True):
        tgt_mask = padding_mask(batch.tgt_out, 0)
    off = [("cross", 0, 1), *(("encoder", 1, head) for head in range(4)), ("decoder", 1, 0)]
    hooks = switched_off(model.config, off) if "off" in settings else None
    memory = model.encode(batch.src, src_mask, hooks)
    states = model.decode(batch.tgt_in, memory, src_mask, tgt_mask, hooks)
    smoothing = settings.get("label_smoothing", 0.0)
    logits, gold = token_logits(states, model.embedding.weight, batch.tgt_out, pad_id=0)
    loss, _ = smoothed_cross_entropy(logits, gold, smoothing)
    loss = loss / (batch.tgt_out != 0).sum()
    loss.backward()  # type: ignore[no-untyped-call]

    assert result["loss"] == pytest.approx(loss.item(), rel=1e-5)
    actual, start = torch.tensor(result["gradients"]), 0
    for name, parameter in model.named_parameters():
        gradient = actual[start : start + parameter.numel()].view_as(parameter)
        start += parameter.numel()
        expected = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
        # A sum of some thousand products in float32, in another order.
        tolerance = 3e-5 * max(expected.abs().max().item(), 1e-3)
        torch.testing.assert_close(
            gradient, expected, rtol=0, atol=tolerance, msg=lambda text, name=name: f"{name} {text}"
        )
    assert start == len(actual)


class Recurrent(torch.nn.Module):
    """The recurrent models of the page, with `torch.nn.GRU` as encoder and decoder."""

    def __init__(self, size: int, attends: bool) -> None:
        super().__init__()
        self.size, self.attends = size, attends
        self.embedding = torch.nn.Embedding(len(REVERSE.symbols) + 4, size)
        self.encoder = torch.nn.GRU(size, size, bidirectional=True)
        self.decoder = torch.nn.GRU(2 * size, size)  # a token and a context
        self.query = torch.nn.Linear(size, size, bias=False)
        self.key = torch.nn.Linear(size, size, bias=False)
        self.v = torch.nn.Parameter(torch.randn(size))

    def page_order(self, tensors: Mapping[str, torch.Tensor]) -> torch.Tensor:
        """Return these tensors, by the names of the parameters, in the order of the page's."""
        names = ["embedding.weight"]
        kinds = ("weight_ih", "bias_ih", "weight_hh", "bias_hh")
        names += [f"encoder.{kind}_l0{side}" for side in ("", "_reverse") for kind in kinds]
        parts = [tensors[name] for name in names]
        of_token, of_context = tensors["decoder.weight_ih_l0"].split(self.size, dim=1)
        others = [tensors[f"decoder.{kind}_l0"] for kind in kinds[1:]]
        parts += [of_token, *others, of_context]
        if self.attends:
            parts += [tensors[name] for name in ("query.weight", "key.weight", "v")]
        return torch.cat([part.flatten() for part in parts])

    def log_probabilities(self, src: torch.Tensor, tgt_in: torch.Tensor) -> torch.Tensor:
        """Return those of the target tokens, (tgt, vocabulary), of one pair of ids."""
        both, _ = self.encoder(self.embedding(src) * self.size**0.5)
        memory = both[:, : self.size] + both[:, self.size :]
        context, state, states = memory[-1], memory[-1:], []
        for token in tgt_in:
            if self.attends:
                scores = torch.tanh(self.query(state[0]) + self.key(memory)) @ self.v
                context = torch.softmax(scores, dim=0) @ memory
            x = torch.cat([self.embedding(token) * self.size**0.5, context])
            output, state = self.decoder(x[None], state)
            states.append(output[0])
        return torch.log_softmax(torch.stack(states) @ self.embedding.weight.T, dim=-1)


@pytest.mark.parametrize("name", ["gru", "gru_attention"])
def test_gradients_of_recurrent_models_equal_those_of_torch(name: str, tmp_path: Path) -> None:
    torch.manual_seed(5)
    model, pairs = Recurrent(32, name == "gru_attention"), _pairs(12)
    data = {"symbols": REVERSE.symbols, "train": pairs, "valid": pairs[:2]}
    settings = {"model": name, "d_model": 32}
    (tmp_path / "case.json").write_text(json.dumps({"settings": settings, **data}))
    weights = model.page_order({key: value.detach() for key, value in model.named_parameters()})
    (tmp_path / "weights.bin").write_bytes(weights.numpy().tobytes())
    result = _run("gradients", tmp_path)

    batch = _batch(pairs)
    losses = []
    for src, tgt_in, tgt_out in zip(batch.src, batch.tgt_in, batch.tgt_out, strict=True):
        length = int((tgt_out != 0).sum())
        logs = model.log_probabilities(src[src != 0], tgt_in[:length])
        losses.append(-logs[torch.arange(length), tgt_out[:length]])
    loss = torch.cat(losses).mean()
    loss.backward()  # type: ignore[no-untyped-call]
    assert result["loss"] == pytest.approx(loss.item(), rel=1e-5)
    gradients = {
        key: torch.zeros_like(value) if value.grad is None else value.grad
        for key, value in model.named_parameters()
    }
    expected = model.page_order(gradients)
    tolerance = 3e-5 * expected.abs().max().item()
    torch.testing.assert_close(torch.tensor(result["gradients"]), expected, rtol=0, atol=tolerance)


@pytest.mark.parametrize("score", ["scaled_dot", "additive"])
def test_fifty_steps_have_the_losses_of_the_python_trainer(score: str, tmp_path: Path) -> None:
    settings: dict[str, Any] = {"score": score}
    settings |= {"d_model": 32, "n_layers": 2, "n_heads": 4, "d_ff": 64, "steps": 50, "warmup": 20}
    settings |= {"label_smoothing": 0.1, "weight_decay": 0.1, "learning_rate": 0.003}
    model, pairs = _model(settings), _pairs(200)
    _write_case(tmp_path, settings, pairs, model)
    result = _run("steps", tmp_path)

    learner = Learner(model, torch.float32, weight_decay=0.1)
    assert len(result["steps"]) == 50
    for step, (indices, actual) in enumerate(
        zip(result["batches"], result["steps"], strict=True), start=1
    ):
        totals = learner.compute_gradients(_batch([pairs[i] for i in indices]), 0.1)
        rate = learning_rate(
            step, d_model=32, warmup=20, peak=0.003, progress=(step - 1) / 50, cooldown=0.6
        )
        norm = learner.update(rate, 1.0)
        assert actual["rate"] == pytest.approx(rate, rel=1e-12)
        assert actual["loss"] == pytest.approx(totals.smoothed / totals.positions, rel=1e-3), step
        assert actual["gradientNorm"] == pytest.approx(norm, rel=1e-2), step
    assert result["steps"][-1]["loss"] < 0.9 * result["steps"][0]["loss"]


def test_the_schedule_equals_that_of_python(tmp_path: Path) -> None:
    at = [1, 2, 50, 99, 100, 101, 400, 799, 800]
    cases = [
        {"learning_rate": peak, "warmup": 100, "cooldown": cooldown}
        for peak in (0.003, 0.0)
        for cooldown in (0.0, 0.6)
    ]
    content = json.dumps([{"steps": 800, "d_model": 64, "at": at, **case} for case in cases])
    (tmp_path / "case.json").write_text(content)
    for case, actual in zip(cases, _run("schedule", tmp_path), strict=True):
        expected = [
            learning_rate(
                step,
                d_model=64,
                warmup=100,
                peak=case["learning_rate"],
                progress=(step - 1) / 800,
                cooldown=case["cooldown"],
            )
            for step in at
        ]
        assert actual == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(("clip_norm", "weight_decay"), [(0.0, 0.0), (1.0, 0.1)])
def test_adam_equals_that_of_torch(clip_norm: float, weight_decay: float, tmp_path: Path) -> None:
    count, steps, rate = 400, 30, 0.01
    generator = torch.Generator().manual_seed(4)
    weights = torch.randn(count, generator=generator)
    gradients = torch.randn(steps, count, generator=generator) * torch.logspace(-6, 1, count)
    case = {"count": count, "steps": steps, "rate": rate, "clip_norm": clip_norm}
    (tmp_path / "case.json").write_text(json.dumps({**case, "weight_decay": weight_decay}))
    (tmp_path / "weights.bin").write_bytes(weights.numpy().tobytes())
    (tmp_path / "gradients.bin").write_bytes(gradients.numpy().tobytes())
    actual = torch.tensor(_run("adam", tmp_path))

    parameter = torch.nn.Parameter(weights.clone())
    adam = torch.optim.AdamW(
        [parameter], lr=rate, betas=(0.9, 0.98), eps=1e-9, weight_decay=weight_decay
    )
    for gradient in gradients:
        parameter.grad = gradient.clone()
        torch.nn.utils.clip_grad_norm_([parameter], clip_norm or float("inf"))
        adam.step()
    torch.testing.assert_close(actual, parameter.detach(), rtol=1e-6, atol=1e-6)


def test_positions_from_software_functions_equal_those_of_python(tmp_path: Path) -> None:
    actual = torch.tensor(_run("positions", tmp_path)).view(60, 64)
    torch.testing.assert_close(actual, sinusoidal(60, 64), rtol=0, atol=6e-8)


def test_tasks_have_the_examples_of_python(tmp_path: Path) -> None:
    (tmp_path / "case.json").write_text(json.dumps(SMALL_TASKS))
    for (name, options), result in zip(SMALL_TASKS, _run("tasks", tmp_path), strict=True):
        task = TASKS[name]
        assert result["symbols"] == [*task.symbols]
        expected = {
            (example.src, example.tgt, example.alignment)
            for example in task.pairs(task.count(**options), 1, **options)
        }
        actual = {
            (" ".join(src), " ".join(tgt), links and tuple(sorted(map(tuple, links))))
            for src, tgt, links in result["examples"]
        }
        assert actual == expected, name
        assert len(result["examples"]) == len(expected)


def test_tasks_have_the_titles_and_options_of_python(tmp_path: Path) -> None:
    tasks = _run("titles_and_options", tmp_path)
    assert {name: task["title"] for name, task in tasks.items()} == {
        name: task.title for name, task in TASKS.items()
    }
    for name in tasks:
        expected = {key: [*values] for key, values in TASKS[name].options.items()}
        assert tasks[name]["options"] == expected, name


def test_french_sentences_are_trained_from_the_file_of_the_site(tmp_path: Path) -> None:
    (tmp_path / "pairs.js").write_text(pair_module(TASKS["french"]))
    (tmp_path / "print.js").write_text(
        'console.log(JSON.stringify((await import("./pairs.js")).PAIR_DATA))'
    )
    data = json.loads(deno("run", "--quiet", "--allow-read", str(tmp_path / "print.js")))
    train, valid = split(TASKS["french"], len(data["train"]), len(data["valid"]), 1)
    assert data["train"] == [[example.src, example.tgt] for example in train]
    first = valid[0]
    assert first.alignment is not None
    assert data["valid"][0] == [first.src, first.tgt, [list(link) for link in first.alignment]]
    data |= {"train": data["train"][:200], "valid": data["valid"][:20]}
    settings = {"task": "french", "steps": 3, "batch": 4}
    (tmp_path / "case.json").write_text(json.dumps({"settings": settings, "data": data}))
    result = _run("pairs", tmp_path)
    assert result["symbols"][4:] == [*TASKS["french"].symbols]
    assert result["linked"]
    assert all(0 < share < 1 for layer in result["linkShares"] for share in layer)


@pytest.mark.parametrize(
    ("score", "off"), [("scaled_dot", ""), ("dot", "c1.1,e0,d0.3"), ("additive", "c0")]
)
def test_python_translates_with_a_model_of_the_page(score: str, off: str, tmp_path: Path) -> None:
    settings = {
        "score": score,
        "off": off,
        "steps": 40,
        "d_model": 32,
        "d_ff": 64,
        "learning_rate": 0.01,
        "warmup": 10,
    }
    (tmp_path / "case.json").write_text(json.dumps(settings))
    result = _run("checkpoint", tmp_path)
    folder = tmp_path / "made"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(result["config"]))
    (folder / "model.safetensors").write_bytes(base64.b64decode(result["safetensors"]))
    Vocabulary.from_symbols(result["symbols"]).save(folder / "vocabulary.model")
    translator = Translator.load(folder, "cpu")
    assert translator.model.config.score == score
    assert len({output for _, output in result["translations"]}) > 5
    for source, output in result["translations"]:
        longest = len(output.split()) + (len(output.split()) < 11)
        assert translator.translate(source, method="greedy", max_len=longest).text == output
    assert np.isfinite(translator.model.embedding.weight.detach().numpy()).all()
