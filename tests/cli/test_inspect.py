"""`inspect`: sizes, languages and hook points of a checkpoint."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Shell, check_refused
from transformer.model.transformer import Transformer


def test_text_output_describes_the_checkpoint(
    shell: Shell, checkpoint: Path, tiny_model: Transformer
) -> None:
    description = json.loads(shell("inspect", checkpoint, "--json").out)
    assert description["parameters"] == sum(p.numel() for p in tiny_model.parameters())
    assert description["d_model"] == 64
    assert description["d_k"] == 16
    assert description["bytes"] == sum(path.stat().st_size for path in checkpoint.iterdir())
    text = shell("inspect", checkpoint).out
    assert f"parameters  {description['parameters']:,}\n" in text


def test_every_hook_point_is_listed(
    shell: Shell, checkpoint: Path, tiny_model: Transformer
) -> None:
    listed = shell("inspect", checkpoint, "--hooks").out.split()
    assert tuple(listed) == tiny_model.hook_names


def test_an_invalid_checkpoint_is_refused(shell: Shell, tmp_path: Path) -> None:
    check_refused(shell("inspect", tmp_path / "none"), "error: there is no checkpoint")
    check_refused(shell("inspect", tmp_path), "has no config.json; it contains nothing")
