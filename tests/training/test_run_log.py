"""`train --log` sends metrics and images of attention to an experiment tracker."""

from __future__ import annotations

import importlib.machinery
import io
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from PIL import Image

from transformer.training.recipe import make_run_config
from transformer.training.run import RunFolder
from transformer.training.run_log import check_tracker, mosaic, scalars
from transformer.training.train_folder import train_run

SIZE = {"d_model": 16, "n_layers": 2, "n_heads": 2, "d_ff": 32, "batch_tokens": 300}
OPTIONS = {"n_train": 200, "n_valid": 10, "letters": 4}


def new_run(path: Path, steps: int = 6) -> RunFolder:
    run = RunFolder(path)
    config = make_run_config(
        "reverse", settings=SIZE | {"steps": steps, "valid_every": 3}, options=OPTIONS, device="cpu"
    )
    path.mkdir(exist_ok=True)
    run.write_config(config)
    return run


def scalars_of(run: RunFolder) -> dict[tuple[str, int], float]:
    """Return the scalars of a run's metrics, by name and step."""
    return {
        (name, line["step"]): value
        for line in run.metrics()
        for name, value in scalars(line).items()
    }


def test_scalars_have_the_usual_names() -> None:
    train = {"step": 4, "loss": 2.0, "learning_rate": 1e-3, "tokens": 90.0, "seconds": 0.5}
    assert scalars(train | {"share": 0.1}) == {
        "train/loss": 2.0,
        "train/learning_rate": 1e-3,
        "train/tokens_per_second": 180.0,
    }
    valid = {"step": 4, "valid_loss": 1.5, "bleu": 20.5, "aer_head": {"layer": 1}, "elapsed": 9.0}
    assert scalars(valid) == {"valid/loss": 1.5, "valid/bleu": 20.5}


def test_a_mosaic_has_a_row_per_layer_and_a_column_per_head() -> None:
    weights = np.zeros((2, 3, 4, 5))
    weights[1, 2, 3, 0] = 1  # the last head, its lowest row, its first column
    image = mosaic(weights)
    assert image.dtype == np.uint8
    height, width = 4 * 8 + 2, 5 * 8 + 2
    assert image.shape == (2 * height, 3 * width, 3)
    black = np.argwhere((image == 0).all(axis=2))
    assert len(black) == 64
    assert black.min(axis=0).tolist() == [height + 1 + 3 * 8, 2 * width + 1]
    assert (image[1:9, 1:9] == 255).all()
    assert mosaic(np.full((1, 1, 1, 1), 0.25))[4, 4].tolist() == [128] * 3  # 255 · (1 − √¼)


def test_tensorboard_reads_scalars_and_attention_images(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing import event_accumulator

    run = new_run(tmp_path / "reverse")
    assert train_run(run.path, tracker="tensorboard") == "finished"
    events = event_accumulator.EventAccumulator(
        str(run.path / "tensorboard"), {"scalars": 0, "images": 0, "tensors": 0}
    ).Reload()
    tags = events.Tags()
    tensorboard_scalars = {
        (tag, event.step): event.value for tag in tags["scalars"] for event in events.Scalars(tag)
    }
    expected_scalars = scalars_of(run)
    assert {"train/loss", "valid/loss", "valid/perplexity"} <= {*tags["scalars"]}
    assert tensorboard_scalars == pytest.approx(expected_scalars, rel=1e-6)
    assert {*tags["images"]} == {f"attention/{kind}" for kind in ("encoder", "decoder", "cross")}
    for kind in ("encoder", "decoder", "cross"):
        images = events.Images(f"attention/{kind}")
        assert [image.step for image in images] == run.snapshots()
        for image in images:
            pixels = np.array(Image.open(io.BytesIO(image.encoded_image_string)))
            np.testing.assert_array_equal(
                pixels, mosaic(run.snapshot(image.step)[f"0.{kind}"]), err_msg=f"step {image.step}"
            )


def test_a_resumed_run_continues_at_its_step(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing import event_accumulator

    run = new_run(tmp_path / "reverse", steps=3)
    train_run(run.path, tracker="tensorboard")
    new_run(run.path, steps=6)
    train_run(run.path, tracker="tensorboard")
    events = event_accumulator.EventAccumulator(
        str(run.path / "tensorboard"), {"scalars": 0, "images": 0}
    ).Reload()
    steps = [event.step for event in events.Scalars("train/loss")]
    assert steps == [line["step"] for line in run.metrics() if "loss" in line]
    assert [image.step for image in events.Images("attention/cross")] == run.snapshots()


class FakeTracker(ModuleType):
    """A fake tracker with the common functions of trackio and wandb."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.calls: list[tuple[str, Any]] = []
        self.__spec__ = importlib.machinery.ModuleSpec(name, None)

    def init(self, **options: Any) -> None:
        self.calls.append(("init", options))

    def log(self, values: dict[str, Any], step: int) -> None:
        self.calls.append(("log", (step, values)))

    def Image(self, image: np.ndarray) -> tuple[str, np.ndarray]:
        return ("image", image)

    def finish(self) -> None:
        self.calls.append(("finish", None))


@pytest.mark.parametrize("name", ["trackio", "wandb"])
def test_trackio_and_wandb_get_equal_metrics_and_images(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tracker = FakeTracker(name)
    monkeypatch.setitem(sys.modules, name, tracker)
    run = new_run(tmp_path / "reverse")
    assert train_run(run.path, tracker=name) == "finished"
    (first, options), *log_calls, last = tracker.calls
    assert (first, last) == ("init", ("finish", None))
    assert (options["project"], options["name"]) == ("heads-up", "reverse")
    assert options["config"] == run.config().to_dict()
    steps = [step for _, (step, _) in log_calls]
    assert steps == sorted(steps)  # wandb drops steps that are out of order
    values_by_tag: dict[tuple[str, int], float] = {}
    images: Counter[str] = Counter()
    for _, (step, values) in log_calls:
        for tag, value in values.items():
            if isinstance(value, float):
                values_by_tag[tag, step] = value
            else:
                np.testing.assert_array_equal(
                    value[1], mosaic(run.snapshot(step)[f"0.{tag.split('/')[1]}"])
                )
                images[tag] += 1
    assert values_by_tag == scalars_of(run)
    assert images == dict.fromkeys(images, len(run.snapshots()))
    assert len(images) == 3


@pytest.mark.parametrize("name", ["tensorboard", "trackio", "wandb"])
def test_a_missing_package_is_named_in_one_sentence(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ValueError, match=rf'the package {name}: pip install "heads-up\[{name}\]"$'):
        check_tracker(name)
