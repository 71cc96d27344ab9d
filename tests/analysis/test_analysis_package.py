"""The packages of measurements can be listed and reached by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from transformer import analysis


def test_the_package_lists_all_of_its_subpackages() -> None:
    folder = Path(analysis.__file__).parent
    packages = {path.parent.name for path in folder.glob("*/__init__.py")}
    assert packages | {"reports"} <= set(dir(analysis))
    for name in packages:
        assert getattr(analysis, name).__name__ == f"transformer.analysis.{name}"
    with pytest.raises(AttributeError, match="has no attribute 'hats'"):
        _ = analysis.hats
