"""The browser's scripts are ES modules; a page needs one script: imports are followed and joined.

A module has one way to import and to export, which every tool of the language understands as well:
`import { a, b } from "./file.js";`, and `export` in front of a function or a constant. A script's
style is the file of its own name, if there is one; a style that builds on another one begins with
`@import "file.css";`. Nothing is renamed: joined modules have one scope, so a name is given once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

_BROWSER = Path(__file__).parent / "browser"
_ENTRY = "the script"
"""What an error calls the text that the joining begins with."""

_IMPORT = re.compile(r'^import \{\s*(\w+(?:,\s*\w+)*),?\s*\} from "\./([\w-]+\.js)";\n', re.M)
_STYLE_IMPORT = re.compile(r'^@import "([\w-]+\.css)";\n', re.M)
_EXPORT = re.compile(r"^export (?=(?:async function|function|const) (\w+))", re.M)
_OTHER = re.compile(r"^(?:import|export)\b.*", re.M)
_NAMES = re.compile(r"^(?:async function|function|const|let|class) (\w+|\[[\w, ]+\])", re.M)
_COMMENTS = re.compile(r"^[ \t]*(?://.*|/\*[^*]*(?:\*(?!/)[^*]*)*\*/)\n|^\n", re.M)


@dataclass(frozen=True)
class Joined:
    """One script and one style sheet, which import nothing.

    Attributes:
        files: the scripts in it, each after those that it imports.
    """

    script: str
    style: str
    files: tuple[str, ...]


def join_modules(entry: str, folder: Path = _BROWSER) -> Joined:
    """The modules that the script `entry` imports, theirs before them, and `entry` itself as one.

    Comments that fill a line are left out: whoever opens the page's source finds the same code,
    and the file is smaller. An `export default` stays, in `entry` alone.

    Raises:
        ValueError: for an import of a file or of a name that is not there, for modules that import
            each other in a circle, for a name that two modules define, and for an import or an
            export that is written in another way than above.
    """
    found = _Follower(folder)
    found.follow(_ENTRY, entry, ())
    scripts = [name for name in found.bodies if name != _ENTRY]
    return Joined("".join(found.bodies.values()), _styles(scripts, folder), tuple(scripts))


@dataclass
class _Follower:
    folder: Path
    bodies: dict[str, str] = field(default_factory=dict)
    """What is left of each file, in the order of the script."""
    exports: dict[str, frozenset[str]] = field(default_factory=dict)
    owners: dict[str, str] = field(default_factory=dict)
    """Names at the top of a module, with the file that defines them."""

    def follow(self, name: str, text: str, way: tuple[str, ...]) -> None:
        """Take in a module after those that it imports; `way` leads to it."""
        for match in _IMPORT.finditer(text):
            names, file = re.findall(r"\w+", match[1]), match[2]
            if file in (*way, name):
                circle = (*way, name)[(*way, name).index(file) :]
                raise ValueError(f"Imports go in a circle: {' → '.join((*circle, file))}.")
            if file not in self.bodies:
                self.follow(file, self._read(name, file), (*way, name))
            if missing := [one for one in names if one not in self.exports[file]]:
                raise ValueError(
                    f"{name} imports {missing[0]} from {file}, which exports "
                    f"{', '.join(sorted(self.exports[file])) or 'nothing'}."
                )
        body = _IMPORT.sub("", text)
        self.exports[name] = frozenset(match[1] for match in _EXPORT.finditer(body))
        body = _EXPORT.sub("", body)
        for other in _OTHER.findall(body):
            if name == _ENTRY and other.startswith("export default "):
                continue
            raise ValueError(
                f"{name} has {other!r}; it must be written as import {{ a, b }} from "
                '"./file.js"; or as export before a function or a const.'
            )
        self._own(name, body)
        self.bodies[name] = _COMMENTS.sub("", body if body.endswith("\n") else f"{body}\n")

    def _read(self, name: str, file: str) -> str:
        path = self.folder / file
        if not path.exists():
            raise ValueError(f"{name} imports from {file}, which is not in {self.folder.name}/.")
        return path.read_text(encoding="utf-8")

    def _own(self, name: str, body: str) -> None:
        for match in _NAMES.finditer(body):
            for one in re.findall(r"\w+", match[1]):
                if one in self.owners:
                    raise ValueError(
                        f"{self.owners[one]} and {name} both define {one}; joined they have one "
                        "scope, so one of them needs another name."
                    )
                self.owners[one] = name


def _styles(scripts: Iterable[str], folder: Path) -> str:
    """The styles of these scripts, each after those that it imports."""
    found: dict[str, str] = {}

    def follow(file: str, way: tuple[str, ...]) -> None:
        if file in way:
            raise ValueError(f"Imports go in a circle: {' → '.join((*way, file))}.")
        text = (folder / file).read_text(encoding="utf-8")
        for other in _STYLE_IMPORT.findall(text):
            if not (folder / other).exists():
                raise ValueError(f"{file} imports {other}, which is not in {folder.name}/.")
            if other not in found:
                follow(other, (*way, file))
        found[file] = _COMMENTS.sub("", _STYLE_IMPORT.sub("", text))

    for script in scripts:
        style = f"{script.removesuffix('.js')}.css"
        if (folder / style).exists() and style not in found:
            follow(style, ())
    return "".join(found.values())
