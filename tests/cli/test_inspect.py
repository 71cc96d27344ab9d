"""`inspect`: sizes, languages and hook points of a checkpoint."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

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


def test_text_output_names_the_languages(
    shell: Shell, checkpoint: Path, tmp_path: Path, tiny_model: Transformer
) -> None:
    assert json.loads(shell("inspect", checkpoint, "--json").out)["languages"] is None
    assert "languages   unknown\n" in shell("inspect", checkpoint).out
    named_checkpoint = tmp_path / "en-de"
    shutil.copytree(checkpoint, named_checkpoint)
    assert json.loads(shell("inspect", named_checkpoint, "--json").out)["languages"] == ["en", "de"]
    assert "languages   English to German\n" in shell("inspect", named_checkpoint).out
    (named_checkpoint / "README.md").write_text("---\nlanguage: [en]\n---\n")
    assert "languages are two codes" in shell("inspect", named_checkpoint).err


def test_every_hook_point_is_listed(
    shell: Shell, checkpoint: Path, tiny_model: Transformer
) -> None:
    listed = shell("inspect", checkpoint, "--hooks").out.split()
    assert tuple(listed) == tiny_model.hook_names


def test_an_invalid_checkpoint_is_refused(shell: Shell, tmp_path: Path) -> None:
    check_refused(shell("inspect", tmp_path / "none"), "error: there is no checkpoint")
    check_refused(shell("inspect", tmp_path), "has no config.json; it contains nothing")


@pytest.mark.parametrize("arguments", [[], ["transalte"], ["translate", "--beam", "many"]])
def test_unknown_arguments_print_usage(shell: Shell, arguments: list[str]) -> None:
    result = shell(*arguments)
    assert result.status == 2
    assert "usage: python -m transformer" in result.err
