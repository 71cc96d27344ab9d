"""The scripts call nothing that Chrome 109 or Safari 16 does not know (both still have users)."""

from __future__ import annotations

import re

from transformer.figures.modules import CLIENT

UNKNOWN = {
    r"\b(Map|Object)\.groupBy\b": "Chrome 117, Safari 17.4",
    r"\.to(Reversed|Sorted|Spliced)\(": "Chrome 110",
    r"\(\?<[=!]": "a lookbehind: Safari 16.4, where the whole script would not be read",
    r"\bnew OffscreenCanvas\b": "Safari 16.4",
    r"\.(show|hide|toggle)Popover\(": "Chrome 114, Safari 17",
    r"\bPromise\.(withResolvers|try)\b": "Chrome 119",
    r"\bArray\.fromAsync\b": "Chrome 121",
    r"\.(keys|values|entries)\(\)\.(map|filter|take|drop|toArray|some|find)\(": "Chrome 122",
    r"\.(union|intersection|difference|isSubsetOf|isSupersetOf)\(": "Chrome 122",
    r"\.(isWellFormed|toWellFormed)\(": "Chrome 111, Safari 16.4",
    r"\b(URL\.canParse|AbortSignal\.any|RegExp\.escape|Iterator\.from)\b": "Chrome 116 or later",
    r"\bstartViewTransition\(": "Chrome 111, Safari 18",
    r"with \{ *type:": "Chrome 123, Safari 17.2",
}
"""Patterns of what is newer, and since when it is known."""


def test_scripts_call_nothing_newer_than_old_browsers() -> None:
    newer = [
        f"{path.relative_to(CLIENT)}: {match[0]} needs {since}"
        for path in CLIENT.rglob("*.js")
        for pattern, since in UNKNOWN.items()
        for match in re.finditer(pattern, path.read_text("utf-8"))
    ]
    assert not newer, "\n".join(newer)
