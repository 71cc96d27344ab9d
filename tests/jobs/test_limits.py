"""The operator's limits file and its effect on visitors."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.jobs.conftest import MakeIdleJobs, run_config
from transformer.config import ModelConfig, TrainingConfig
from transformer.jobs import JobError, Limits, count_parameters
from transformer.jobs.limits import cores, machine_memory
from transformer.model import Transformer
from transformer.training.run_config import TaskRun


def test_the_included_limits_file_has_the_defaults() -> None:
    assert Limits.load(ROOT / "limits.toml") == Limits()
    text = (ROOT / "limits.toml").read_text()
    assert all(f"\n{name} = " in text for name in asdict(Limits()))


def test_the_memory_limit_of_a_container_is_used(tmp_path: Path) -> None:
    limited, unlimited, absent = tmp_path / "limited", tmp_path / "unlimited", tmp_path / "absent"
    limited.write_text("1073741824\n")
    unlimited.write_text("max\n")
    assert machine_memory([limited, unlimited, absent]) == 2**30
    assert machine_memory([unlimited]) == machine_memory([]) > 2**28


def test_another_limits_file_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "mine.toml"
    file.write_text("workers = 3\nminutes = 2.5\n", encoding="utf-8-sig")  # as Notepad writes it
    monkeypatch.setenv("HEADS_UP_LIMITS", str(file))
    limits = Limits.load()
    assert (limits.processes, limits.minutes, limits.queued) == (3, 2.5, Limits().queued)
    file.unlink()
    with pytest.raises(ValueError, match=r"mine\.toml cannot be read: .*No such file"):
        Limits.load()
    assert 1 <= Limits().processes <= cores()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("workers 2", r"limits\.toml cannot be read: .*line 1"),
        ("worker = 2", r"limits\.toml: Limits has no field 'worker'; did you mean 'workers'"),
        ("workers = 1.5", r"limits\.toml: workers must be a whole number, not 1\.5"),
        ("workers = -1", "workers must be 0 to 64, not -1"),
        ("queued = 0", "queued must be at least 1, not 0"),
        ("memory = 1", "memory must be at least 500,000,000, not 1"),
        ("minutes = nan", "minutes must be a finite number, not nan"),
        ('teacher_token = "short"', "teacher_token must have 12 to 200 characters, or none"),
        ('frame_ancestors = "https://a.example; x"', "has 'https://a.example;'; an origin is like"),
    ],
)
def test_an_invalid_file_gives_a_one_sentence_error(
    content: str | bytes, message: str, tmp_path: Path
) -> None:
    file = tmp_path / "limits.toml"
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(ValueError, match=message) as caught:
        Limits.load(file)
    assert str(file) in str(caught.value)


@pytest.mark.parametrize("score", ["scaled_dot", "dot", "additive"])
@pytest.mark.parametrize("positions", ["sinusoidal", "learned", "none"])
@pytest.mark.parametrize("biased", [False, True])
def test_the_parameter_count_equals_that_of_the_model(
    score: Any, positions: Any, biased: bool
) -> None:
    config = ModelConfig(
        vocab_size=17,
        d_model=12,
        n_layers=3,
        n_heads=3,
        d_ff=7,
        max_len=11,
        score=score,
        positions=positions,
        biases=biased,
        output_bias=biased,
    )
    model = Transformer(config)
    assert count_parameters(config) == sum(weight.numel() for weight in model.parameters())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"model": ModelConfig(vocab_size=1000, d_model=512)},
            r"would have \d+(,\d+)+ weights; this app allows at most 1,000,000",
        ),
        ({"training": TrainingConfig(minutes=31)}, "31 minutes were requested; .* at most 30"),
        (
            {"training": TrainingConfig(batch_tokens=20_000)},
            "a step would have 20,000 positions; this app allows at most 16,384",
        ),
        (
            {"options": {"n_train": 100_000, "n_valid": 1}},
            "100,001 pairs would be generated; this app allows at most 100,000",
        ),
        ({}, "the files have 11 bytes; this app allows at most 10"),
    ],
)
def test_runs_over_a_limit_are_refused(
    changes: dict[str, Any], message: str, make_idle_jobs: MakeIdleJobs
) -> None:
    jobs = make_idle_jobs(parameters=1_000_000, minutes=30, upload_bytes=10)
    pairs = b"12345678901" if not changes else b""
    with pytest.raises(JobError, match=message):
        jobs.submit(replace(run_config(), **changes), "ann", pairs)
    assert jobs.runs() == []


def test_a_run_without_a_time_gets_the_limit(make_idle_jobs: MakeIdleJobs) -> None:
    jobs = make_idle_jobs(minutes=12)
    unlimited = jobs.folder(jobs.submit(run_config(), "ann")).config()
    assert isinstance(unlimited, TaskRun)
    assert unlimited.training == replace(run_config().training, minutes=12)
    two_minutes = replace(run_config(), training=TrainingConfig(minutes=2))
    config = jobs.folder(jobs.submit(two_minutes, "ann")).config()
    assert isinstance(config, TaskRun)
    assert config.training == two_minutes.training


@pytest.fixture
def key_folder(tmp_path: Path) -> str:
    for name in ("ca", "cert", "key"):
        (tmp_path / f"{name}.pem").touch()
    return str(tmp_path)


@pytest.mark.parametrize(
    "address", ["tcp://127.0.0.1:8786", "tcp://localhost:1", "tcp://[::1]:8786"]
)
def test_a_local_scheduler_needs_no_keys(address: str) -> None:
    assert Limits(executor="dask", scheduler=address).scheduler == address


@pytest.mark.parametrize("address", ["tls://10.0.0.5:8786", "tls://cluster.example.org:8786"])
def test_remote_schedulers_need_keys(address: str, key_folder: str) -> None:
    limits = Limits(executor="dask", scheduler=address, cluster_keys=key_folder)
    assert limits.cluster_keys == key_folder
    with pytest.raises(ValueError, match="needs cluster_keys, the folder of"):
        Limits(executor="dask", scheduler=address)
    (Path(key_folder) / "key.pem").unlink()
    with pytest.raises(ValueError, match=r"has no key\.pem"):
        Limits(executor="dask", scheduler=address, cluster_keys=key_folder)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"executor": "ray"}, 'executor must be "dask", or ""'),
        ({"executor": "dask"}, "scheduler must be an address such as"),
        ({"executor": "dask", "scheduler": "tcp://10.0.0.5:8786"}, "is not encrypted"),
        ({"executor": "dask", "scheduler": "tcp://localhost.evil.org:1"}, "is not encrypted"),
        ({"scheduler": "tcp://127.0.0.1:8786"}, 'add executor = "dask"'),
    ],
)
def test_invalid_and_unprotected_clusters_are_refused(values: dict[str, str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Limits(**values)


@pytest.mark.parametrize(
    ("cores", "memory", "workers", "processes", "threads"),
    [
        (1, 8e9, 0, 1, 1),
        (2, 8e9, 0, 2, 2),
        (2, 3e9, 0, 1, 2),
        (4, 8e9, 0, 2, 2),
        (8, 8e9, 0, 4, 2),
        (2, 8e9, 1, 1, 2),  # set by the operator
        (2, 8e9, 2, 2, 1),
    ],
)
def test_the_number_of_runs_and_threads_follows_cores_and_memory(
    monkeypatch: pytest.MonkeyPatch,
    cores: int,
    memory: float,
    workers: int,
    processes: int,
    threads: int,
) -> None:
    monkeypatch.setattr("transformer.jobs.limits.cores", lambda: cores)
    monkeypatch.setattr("transformer.jobs.limits.machine_memory", lambda: memory)
    defaults = Limits(workers=workers)
    assert (defaults.processes, defaults.threads) == (processes, threads)
