"""Random actions in the app: after each the picture must equal the address.

    python -m benchmarks.random_actions [--actions 1000] [--seed 1] [chromium] [firefox]

Keys, examples, depths, heads, tabs, pinned words, links to other pages, back, forward and reload,
some in quick succession. Every request of the page to the server waits 0 to 2 seconds, and Chromium
runs with a processor six times slower (Firefox cannot). What is drawn is read from the screen, and
translations are compared with those of `POST /api/translate`. Prints each difference with the last
actions; a picture of it is in build/random_actions.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import transformer.ui.pages  # noqa: F401 - registers the pages
from benchmarks.harness import option_parser
from tests.figures.deno import DENO
from tests.live_app import ROOT, app_server
from transformer.api.address_fields import DEPTHS
from transformer.text.sentences import EXAMPLE
from transformer.ui.base.registry import PAGES, path

SCRIPTS = ROOT / "tests" / "three_browsers"
BROWSERS = ["chromium", "firefox"]


def main() -> int:
    parser = option_parser(__doc__)
    parser.add_argument("browsers", nargs="*", default=BROWSERS, metavar="BROWSER")
    parser.add_argument("--actions", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if unknown := [name for name in options.browsers if name not in BROWSERS]:
        parser.error(f"There is no browser {unknown[0]!r}; there are {' and '.join(BROWSERS)}.")
    pictures = ROOT / "build" / "random_actions"
    pictures.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        checkpoints = ROOT / "checkpoints"
        with app_server(checkpoints, HEADS_UP_RUNS=f"{name}/runs") as (address, _):
            expected = {
                "app": f"{address}/",
                "headings": {
                    path(file): page.heading or page.title for file, page in PAGES.items()
                },
                "depths": DEPTHS,
                "example": EXAMPLE,
                "folder": str(pictures),
            }
            file = Path(name) / "expected.json"
            file.write_text(json.dumps(expected), encoding="utf-8")
            command = [str(DENO), "run", "--quiet", "-A", "--config", str(SCRIPTS / "deno.json")]
            arguments = [str(file), str(options.actions), str(options.seed), *options.browsers]
            script = str(SCRIPTS / "random_actions.js")
            return subprocess.run([*command, script, *arguments], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
