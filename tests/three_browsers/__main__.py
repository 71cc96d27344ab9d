"""Walk through app and site in Chromium, Firefox and WebKit: `python -m tests.three_browsers`.

A failed journey leaves a picture in build/three_browsers.

Debian's packages: chromium, firefox-esr, webkit2gtk-driver, xvfb. The arguments are the browsers to
use, by default all three.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.figures.deno import DENO
from tests.live_app import ROOT, app_server, http_server
from transformer import Translator
from transformer.ui.services import models
from transformer.ui.site.static_site import write_site

BROWSERS = ("chromium", "firefox", "webkit")
TEXT = "Who gave you that red umbrella?"
CHECKSUM = "827a10d7"
"""Checksum of the weights of *Reverse* with the settings of its link, in every browser."""


def main() -> int:
    browsers = sys.argv[1:] or [*BROWSERS]
    if unknown := [name for name in browsers if name not in BROWSERS]:
        print(f"There is no browser {unknown[0]!r}; there are {', '.join(BROWSERS)}.")
        return 1
    checkpoints, failures = ROOT / "checkpoints", ROOT / "build" / "three_browsers"
    failures.mkdir(parents=True, exist_ok=True)
    translation = Translator.load(checkpoints / "en-fr", device="cpu").translate(TEXT).text
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ |= {models.FOLDER_VARIABLE: str(checkpoints), "HEADS_UP_RUNS": f"{name}/runs"}
        write_site(folder / "site")
        with http_server(folder / "site") as site, app_server(checkpoints) as (app, _):
            expected = {
                "site": site,
                "app": app,
                "text": TEXT,
                "word": translation.split()[-2],
                "checksum": CHECKSUM,
                "folder": str(failures),
            }
            (folder / "expected.json").write_text(json.dumps(expected))
            script = Path(__file__).with_name("journeys.js")
            config = Path(__file__).with_name("deno.json")
            command = [str(DENO), "run", "--quiet", "-A", "--config", str(config), str(script)]
            display = ["xvfb-run", "-a", "-s", "-screen 0 1400x900x24"]
            start = display if "webkit" in browsers else []
            arguments = [str(folder / "expected.json"), *browsers]
            process = subprocess.run([*start, *command, *arguments], check=False)
            return process.returncode


if __name__ == "__main__":
    sys.exit(main())
