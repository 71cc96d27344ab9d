"""Changes of a sentence that do not fit the browser's model are explained.

`tests/api/test_engines.py` compares the effects of those that fit with the Python model.
"""

from __future__ import annotations

import json
from pathlib import Path

from tests.figures.deno import run_deno
from transformer.app_folders import APP_FOLDER

TEXT = "Who gave you that red umbrella?"
PROBLEMS: list[tuple[dict[str, str], str]] = [
    ({"off": "c9.9"}, "This model has no head c9.9; counted from 0, it has layers 0 to 5 and"),
    ({"masked_tokens": "99"}, "There is no position 99; positions are 0 to 7."),
    ({"edited_row": "c5.1.3:99x5"}, "Query 3 has no key 99; its keys are 0 to 7."),
    ({"edited_row": "c5.9.3:0x5"}, "There is no head 9; the heads are 0 to 7."),
    ({"patch": "encoder.hook_memory:1:"}, "1 positions but 0 donor positions"),
    ({"patch": "no.site:1:1"}, "There are no activations no.site that can be patched."),
]


def test_changes_that_do_not_fit_are_explained(tmp_path: Path) -> None:
    changes = [changes for changes, _ in PROBLEMS]
    (tmp_path / "cases.json").write_text(json.dumps({"text": TEXT, "changes": changes}))
    results = run_deno("problems", str(tmp_path), str(APP_FOLDER / "checkpoints" / "en-fr"))
    for (_, problem), [sentence] in zip(PROBLEMS, results, strict=True):
        assert sentence.startswith(problem)
