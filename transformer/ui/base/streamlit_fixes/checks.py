"""Checks that Streamlit still has the methods and attributes that a fix relies on, and whether a
visitor's session calls."""

from __future__ import annotations

import inspect

from streamlit.runtime.scriptrunner import get_script_run_ctx


def changed_signatures(owner: type, **methods: str) -> list[str]:
    """Describe each method whose parameters are not those named, as in `run="self, data"`."""
    changes = []
    for name, expected in methods.items():
        parameters = ", ".join(inspect.signature(getattr(owner, name)).parameters)
        if parameters != expected:
            changes.append(f"{owner.__name__}.{name}({parameters}) was ({expected})")
    return changes


def missing_attributes(owner: type, *names: str) -> list[str]:
    """Describe each attribute that the class neither has nor sets when an instance is made."""
    code = inspect.unwrap(owner.__init__).__code__  # type: ignore[misc]
    existing = {*dir(owner), *code.co_names, *code.co_consts}
    return [f"{owner.__name__}.{name} is missing" for name in names if name not in existing]


def is_in_session() -> bool:
    """Whether a visitor's script run calls this; what Streamlit offers outside of one prints
    warnings, as when a site is written."""
    return get_script_run_ctx(suppress_warning=True) is not None
