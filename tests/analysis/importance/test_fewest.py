"""The search for the fewest heads that change a translation, on the bundled checkpoint."""

from __future__ import annotations

from transformer.analysis.importance.fewest import fewest_heads
from transformer.analysis.interventions import switched_off
from transformer.app_folders import APP_FOLDER
from transformer.inference.translator import Translator


def test_the_heads_found_change_the_translation() -> None:
    en_fr = Translator.load(APP_FOLDER / "checkpoints/en-fr", "cpu")
    for text in ("If it rains, we will stay at home.", "I am a student."):
        original = en_fr.translate(text).text
        found = fewest_heads(en_fr, text)
        hooks = switched_off(en_fr.model.config, found.heads)
        assert found.changed == (found.translation != original)
        assert en_fr.translate(text, hooks=hooks).text.startswith(found.translation)
        assert len(found.heads) in (1, 8, 48)
