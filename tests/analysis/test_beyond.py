"""Far places as a process of their own measures them: the same numbers as from Python."""

from __future__ import annotations

from pathlib import Path

import pytest

from transformer.analysis.positions import apart, joined, moved, sentences
from transformer.analysis.positions.extrapolation import lengths, places
from transformer.checkpoint import checkpoint_hash
from transformer.inference import Translator


def test_places_are_those_that_python_gives(checkpoints: Path) -> None:
    folder, counts, shares = checkpoints / "tiny", [1, 2, 400], list[float]()
    given = {"checkpoint": str(folder), "hash": checkpoint_hash(folder), "french": True}
    given |= {"starts": [0, 7], "moved": 3, "counts": counts}
    found = places(given, lambda share, stage: shares.append(share))
    translator, pairs = Translator.load(folder), sentences(400)
    assert found["moved"] == pytest.approx([moved(translator, pairs[:3], at) for at in (0, 7)])
    for count, one in zip(counts[:2], found["joined"], strict=False):
        assert one == pytest.approx(joined(translator, pairs[:count]))
    assert "at most 512 can be translated at once" in found["joined"][2]
    assert found["apart"] == pytest.approx(apart(translator, pairs, counts))
    assert shares == sorted(shares)
    assert max(shares) < 1


@pytest.mark.parametrize("measure", [lengths, places])
def test_another_checkpoint_by_now_is_refused(measure: object, checkpoints: Path) -> None:
    folder = str(checkpoints / "tiny")
    given = {"checkpoint": folder, "hash": "0", "models": [[folder, "0"]], "most": 1}
    given |= {"starts": [0], "counts": [1]}
    assert callable(measure)
    with pytest.raises(ValueError, match="tiny has changed meanwhile; ask again"):
        measure(given, lambda share, stage: None)
