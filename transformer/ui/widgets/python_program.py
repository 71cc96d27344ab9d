"""Parts of the Python examples that pages show and of the sentences around them."""

from __future__ import annotations

from transformer.inference import Trace
from transformer.ui.base import state
from transformer.ui.services import models
from transformer.ui.services.models import Model
from transformer.ui.widgets import display_names, frame


def escaped_token(token: str) -> str:
    """Return Markdown that shows the displayed name of a token."""
    return frame.plain(display_names.token(token))


def program_start(model: Model, trace: Trace | None, modules: list[str]) -> str:
    """Return the first lines of a Python example: imports, the translator and, if it is given, the
    trace."""
    imports = "\n".join(f"from transformer.analysis.{name}" for name in modules)
    start = f"""from transformer import Translator
{imports}

translator = Translator.load({str(models.public_path(model.name))!r})"""
    if trace is None:
        return start
    # The example repeats greedy decoding; the ids of any other translation are written out.
    target = "" if state.view().method == "greedy" else f", target={list(trace.translation.ids)}"
    return f"{start}\ntrace = translator.trace({trace.source!r}{target})"
