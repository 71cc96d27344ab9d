"""A small bundler: joins ES modules of `client/` and their style sheets into one script and style.

Modules may only use `import { a, b } from "./file.js";`, also from another folder, and `export`
before a function, a class or a constant, which every JavaScript tool understands. A script's style
is the CSS file of the same name, if there is one; a style that builds on another begins with
`@import "../folder/file.css";`. Nothing is renamed: joined modules share one scope, so every
top-level name must be unique.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

CLIENT = Path(__file__).parents[1] / "client"
"""Folder of the scripts and style sheets that run in a browser."""
_ENTRY = "the script"
"""Name of the entry script in error messages."""

_IMPORT = re.compile(
    r'^import \{\s*(\w+(?:,\s*\w+)*),?\s*\} from "(\.{1,2}/[\w./-]+\.js)";\n', re.M
)
_STYLE_IMPORT = re.compile(r'^@import "([\w./-]+\.css)";\n', re.M)
_EXPORT = re.compile(r"^export (?=(?:async function|function|class|const) (\w+))", re.M)
_OTHER_STATEMENT = re.compile(r"^(?:import|export)\b.*", re.M)
_NAMES = re.compile(r"^(?:async function|function|const|let|class) (\w+|\[[\w, ]+\])", re.M)
_COMMENTS = re.compile(r"^[ \t]*(?://.*|/\*[^*]*(?:\*(?!/)[^*]*)*\*/)\n|^\n", re.M)


@dataclass(frozen=True)
class JoinedModules:
    """One script and one style sheet without imports.

    Attributes:
        files: the joined scripts, each after those that it imports.
    """

    script: str
    style: str
    files: tuple[str, ...]


def join_modules(entry: str, folder: Path = CLIENT) -> JoinedModules:
    """Join the script `entry` and all modules that it imports, dependencies first.

    Comment lines and empty lines are removed to make the file smaller. An `export default` is kept,
    and allowed in `entry` only.

    Raises:
        ValueError: if an imported file or name does not exist, imports form a circle, two modules
            define the same name, or an import or export has another form than above.
    """
    joiner = _ModuleJoiner(folder)
    joiner.follow(_ENTRY, entry, ())
    scripts = [name for name in joiner.bodies if name != _ENTRY]
    return JoinedModules("".join(joiner.bodies.values()), _styles(scripts, folder), tuple(scripts))


@dataclass
class _ModuleJoiner:
    folder: Path
    bodies: dict[str, str] = field(default_factory=dict)
    """Code of each file without imports and exports, in the order of the joined script."""
    exports: dict[str, frozenset[str]] = field(default_factory=dict)
    owners: dict[str, str] = field(default_factory=dict)
    """The file that defines each top-level name."""

    def follow(self, name: str, text: str, import_chain: tuple[str, ...]) -> None:
        """Add a module after those that it imports; `import_chain` leads to it."""
        for match in _IMPORT.finditer(text):
            names = re.findall(r"\w+", match[1])
            file = posixpath.normpath(posixpath.join(posixpath.dirname(name), match[2]))
            if file in (*import_chain, name):
                cycle = (*import_chain, name)[(*import_chain, name).index(file) :]
                raise ValueError(f"Circular import: {' → '.join((*cycle, file))}.")
            if file not in self.bodies:
                self.follow(file, self._read_import(name, file), (*import_chain, name))
            if missing := [export for export in names if export not in self.exports[file]]:
                raise ValueError(
                    f"{name} imports {missing[0]} from {file}, which exports "
                    f"{', '.join(sorted(self.exports[file])) or 'nothing'}."
                )
        body = _IMPORT.sub("", text)
        self.exports[name] = frozenset(match[1] for match in _EXPORT.finditer(body))
        body = _EXPORT.sub("", body)
        for statement in _OTHER_STATEMENT.findall(body):
            if name == _ENTRY and statement.startswith("export default "):
                continue
            raise ValueError(
                f"{name} has {statement!r}; write it as import {{ a, b }} from "
                '"./file.js"; or as export before a function, a class or a const.'
            )
        self._check_unique(name, body)
        self.bodies[name] = _COMMENTS.sub("", body if body.endswith("\n") else f"{body}\n")

    def _read_import(self, name: str, file: str) -> str:
        path = self.folder / file
        if not path.exists():
            raise ValueError(f"{name} imports from {file}, which is not in {self.folder.name}/.")
        return path.read_text(encoding="utf-8")

    def _check_unique(self, name: str, body: str) -> None:
        for match in _NAMES.finditer(body):
            for identifier in re.findall(r"\w+", match[1]):
                if identifier in self.owners:
                    raise ValueError(
                        f"{self.owners[identifier]} and {name} both define {identifier}; joined "
                        "modules share one scope, so rename one of them."
                    )
                self.owners[identifier] = name


def _styles(scripts: Iterable[str], folder: Path) -> str:
    """Return the styles of these scripts, each after those that it imports."""
    sheets: dict[str, str] = {}

    def follow(file: str, import_chain: tuple[str, ...]) -> None:
        if file in import_chain:
            raise ValueError(f"Circular import: {' → '.join((*import_chain, file))}.")
        text = (folder / file).read_text(encoding="utf-8")
        for path in _STYLE_IMPORT.findall(text):
            imported = posixpath.normpath(posixpath.join(posixpath.dirname(file), path))
            if not (folder / imported).exists():
                raise ValueError(f"{file} imports {imported}, which is not in {folder.name}/.")
            if imported not in sheets:
                follow(imported, (*import_chain, file))
        sheets[file] = _COMMENTS.sub("", _STYLE_IMPORT.sub("", text))

    for script in scripts:
        style = f"{script.removesuffix('.js')}.css"
        if (folder / style).exists() and style not in sheets:
            follow(style, ())
    return "".join(sheets.values())
