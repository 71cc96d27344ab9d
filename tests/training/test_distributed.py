"""Training with two processes equals training with one; the choice of device and precision."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from transformer.cli import main
from transformer.training import machine
from transformer.training.distributed import World, join_world, process_device
from transformer.training.machine import choose_precision, fastest_precision
from transformer.training.run import RunFolder

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def corpus(tmp_path: Path, pairs: list[tuple[str, str]]) -> Path:
    """100 pairs, and one so long that its batch has fewer pairs than there are processes."""
    path = tmp_path / "pairs.tsv"
    long_sentence = " ".join(source for source, _ in pairs[:14])
    rows = [pairs[0], (long_sentence, long_sentence), *pairs[1:100]]
    path.write_text("".join(f"{source}\t{target}\n" for source, target in rows), "utf-8")
    return path


@pytest.mark.slow
def test_two_processes_match_one_process(corpus: Path, tmp_path: Path) -> None:
    """Dropout is off, because its masks differ between processes; an epoch has about 10 batches."""
    torchrun = shlex.split(
        "torch.distributed.run --nproc-per-node=2 --standalone -m transformer train"
    )
    options = shlex.split(
        "--preset tiny --d-model 16 --n-layers 1 --n-heads 2 --d-ff 32 --dropout 0 --vocab-size 300"
        " --steps 12 --batch-tokens 400 --warmup 10 --learning-rate 0.01 --valid-every 4"
        " --save-every 12 --max-pieces 400 --precision fp32 --device cpu --cooldown 0.5"
    )
    one_process_run, two_process_run = RunFolder(tmp_path / "one"), RunFolder(tmp_path / "two")
    completed = subprocess.run(
        [
            sys.executable,
            "-m",
            *torchrun,
            str(corpus),
            "--run-folder",
            str(two_process_run.path),
            *options,
        ],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert completed.returncode == 0, completed.stderr
    assert "2 processes" in completed.stderr
    assert completed.stderr.count("finished: all 12 steps taken") == 1  # only one process prints
    assert main(["train", str(corpus), "--run", str(one_process_run.path), *options]) == 0
    assert (one_process_run.state()["processes"], two_process_run.state()["processes"]) == (1, 2)
    n_lines = n_single_pair_batches = 0
    for line_of_two, line_of_one in zip(
        two_process_run.metrics(), one_process_run.metrics(), strict=True
    ):
        for name in ("step", "tokens", "learning_rate", "share"):
            assert line_of_two.get(name) == line_of_one.get(name)
        for name in ("loss", "nll", "valid_loss"):
            assert line_of_two.get(name, 0) == pytest.approx(line_of_one.get(name, 0), rel=1e-5)
        n_lines += 1
        n_single_pair_batches += line_of_two.get("tokens", 0) > 400
    assert n_lines == 15  # 12 steps and 3 evaluations
    assert n_single_pair_batches >= 1  # including the batch of one pair
    weights = [
        load_file(run.path / "weights" / "00000012.safetensors")
        for run in (one_process_run, two_process_run)
    ]
    for name, weight in weights[0].items():
        torch.testing.assert_close(weights[1][name], weight, rtol=1e-3, atol=1e-4)


def test_a_world_of_one_process_needs_no_communication() -> None:
    with join_world(torch.device("cpu")) as world:
        assert world == World(rank=0, size=1)
        assert world.is_main
        tensor = torch.ones(2)
        world.all_reduce([tensor])
        world.barrier()
        assert tensor.tolist() == [1, 1]
        assert world.broadcast([1.5, 2.0], torch.device("cpu")) == [1.5, 2.0]
    assert not World(rank=1, size=2).is_main


def pretend_torchrun(
    monkeypatch: pytest.MonkeyPatch, world_size: int, local_size: int, local_rank: int, n_gpus: int
) -> None:
    """Set the environment variables of torchrun, on a machine with this many GPUs."""
    for name, value in (
        ("WORLD_SIZE", world_size),
        ("LOCAL_WORLD_SIZE", local_size),
        ("LOCAL_RANK", local_rank),
    ):
        monkeypatch.setenv(name, str(value))
    monkeypatch.setattr(torch.cuda, "device_count", lambda: n_gpus)


def test_each_process_gets_its_own_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    cuda = torch.device("cuda")
    assert process_device(cuda) == cuda  # not under torchrun
    pretend_torchrun(monkeypatch, world_size=4, local_size=2, local_rank=1, n_gpus=2)
    assert process_device(cuda) == torch.device("cuda", 1)
    assert process_device(torch.device("cpu")) == torch.device("cpu")
    # Two machines, one process each.
    pretend_torchrun(monkeypatch, world_size=2, local_size=1, local_rank=0, n_gpus=3)
    assert process_device(cuda) == torch.device("cuda", 0)
    assert process_device(torch.device("cuda", 2)) == torch.device("cuda", 2)


def test_sharing_a_gpu_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend_torchrun(monkeypatch, world_size=4, local_size=4, local_rank=3, n_gpus=2)
    with pytest.raises(ValueError, match="4 processes need one GPU each, this machine has 2"):
        process_device(torch.device("cuda"))
    with pytest.raises(ValueError, match=r"4 processes cannot share cuda:1; give --device cuda$"):
        process_device(torch.device("cuda", 1))
    with pytest.raises(ValueError, match="on cpu or cuda, not on mps; give --device cpu"):
        process_device(torch.device("mps"))


CPU = torch.device("cpu")


@pytest.mark.parametrize(
    ("bf16", "fp32", "expected_name"),
    [(0.2, 1.0, "bf16"), (0.95, 1.0, "fp32"), (1.5, 1.0, "fp32"), (float("inf"), 1.0, "fp32")],
)
def test_auto_chooses_bf16_if_clearly_faster(
    bf16: float, fp32: float, expected_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds = {torch.bfloat16: bf16, torch.float32: fp32}
    monkeypatch.setattr(machine, "_matmul_seconds", lambda device, dtype: seconds[dtype])
    expected = torch.bfloat16 if expected_name == "bf16" else torch.float32
    assert fastest_precision(CPU) == expected
    assert choose_precision("auto", CPU, World()) == (expected_name, expected)
    assert choose_precision("bf16", CPU, World()) == ("bf16", torch.bfloat16)
    assert choose_precision("fp32", CPU, World()) == ("fp32", torch.float32)


@pytest.mark.parametrize("broadcast_value", [0.0, 1.0])
def test_all_processes_use_the_precision_chosen_by_the_first(
    broadcast_value: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "fastest_precision", lambda device: torch.bfloat16)
    monkeypatch.setattr(World, "broadcast", lambda self, values, device: [broadcast_value])
    chosen, _ = choose_precision("auto", CPU, World(rank=1, size=2))
    assert chosen == ("bf16" if broadcast_value else "fp32")


def test_unsupported_dtype_takes_infinite_time() -> None:
    assert machine._matmul_seconds(torch.device("meta"), torch.float32) == float("inf")
    assert 0 < machine._matmul_seconds(CPU, torch.float32) < 60
