"""Find every citation in the code: the work, and the section, equation, table or figure.

    python -m tests.citations

prints the citations with the files that contain them. `citations.toml` has the claim of each
citation, and how that claim was checked.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CITATIONS_FILE = Path(__file__).with_suffix(".toml")
THIS_PAPER = "Vaswani et al. 2017"
"""The paper of this project; a section without a work belongs to it."""

_NAME = r"[A-ZÀ-Ž][a-zà-ž’'-][\w’'-]*"
_WORK = (
    rf"(?P<work>{_NAME}(?:, {_NAME})*(?: et al\.| (?:and|&|&amp;) {_NAME}))"
    r",? \(?(?P<year>(?:19|20)\d\d)\)?"
)
_NUMBER = r"\d+(?:\.\d+)*"
_SECTION = (
    r"(?P<what>[Ss]ections?|[Ee]qs?\.|[Ee]quations?|[Tt]ables?|[Ff]igures?|[Ff]ootnotes?"
    rf"|[Aa]lgorithms?)(?: |=\")\(?(?P<first>{_NUMBER})\)?"
    rf"(?: (?:and|to) \(?(?P<second>{_NUMBER})\)?)?"
)
_MENTION = re.compile(rf"{_WORK}|(?P<theirs>[Tt]heir )?{_SECTION}")
_OF_WORK = re.compile(rf" of {_WORK}")
_SECTION_NAMES = {"eq.": "equation", "eqs.": "equation"}
# The only text allowed between a work and its section.
_SEPARATOR = re.compile(r"[\s,;()]*(?:in their )?")


@dataclass(frozen=True, order=True)
class Citation:
    """A work such as "Voita et al. 2019" and a part such as "section 5.1"; "" is the whole work."""

    work: str
    section: str = ""

    def __str__(self) -> str:
        return f"{self.work}, {self.section}" if self.section else self.work


def running_text(text: str) -> str:
    """Return the source as running text: strings and comments are joined over lines, and URLs and
    titles of works are removed."""
    text = re.sub(r'"\s*\n\s*(?:rf|fr|[rf])?"', "", text)
    text = re.sub(r"\n\s*(?:#|//)?\s*", " ", text)
    text = re.sub(r"[,;]?\s*\(?https?://[^\s)\"]+\)?|[,;]?\s*\(?arXiv:[\d.]+\)?", "", text)
    return re.sub(r"(?:(?<=\d{4}),|, and) \"[^\"]{10,120}\"", "", text)


def mentions(text: str) -> Iterator[Citation]:
    """Yield the citations in order.

    A section belongs to the work before it if it follows directly or is called "their", otherwise
    to the paper of this project.
    """
    text, work, end = running_text(text), "", -1
    for match in _MENTION.finditer(text):
        if match["work"]:
            work, end = _work_name(match), match.end()
            yield Citation(work)
            continue
        follows_work = end >= 0 and _SEPARATOR.fullmatch(text[end : match.start()]) is not None
        of_this_paper = text.startswith(" of the paper", match.end())
        cited_work = (
            work if work and not of_this_paper and (follows_work or match["theirs"]) else THIS_PAPER
        )
        if work_after := _OF_WORK.match(text, match.end()):
            cited_work = _work_name(work_after)
        end = match.end() if follows_work else -1
        section_word = match["what"].lower()
        section_word = _SECTION_NAMES.get(section_word, section_word.rstrip("s"))
        for number in (match["first"], match["second"]):
            if number:
                yield Citation(cited_work, f"{section_word} {number.rstrip('.')}")


def _work_name(match: re.Match[str]) -> str:
    return f"{re.sub('&(amp;)?', 'and', match['work'])} {match['year']}"


def sources() -> Iterator[Path]:
    yield ROOT / "app.py"
    for folder in ("transformer", "pages"):
        for kind in ("*.py", "*.js"):
            yield from sorted((ROOT / folder).rglob(kind))


@cache
def files_by_citation() -> dict[Citation, list[str]]:
    """Return every citation with the files that contain it."""
    files: dict[Citation, list[str]] = {}
    for path in sources():
        for citation in set(mentions(path.read_text(encoding="utf-8"))):
            files.setdefault(citation, []).append(str(path.relative_to(ROOT)))
    return dict(sorted(files.items()))


def listed_citations() -> dict[Citation, Mapping[str, str]]:
    """Return the entries of `citations.toml`: "claim" and "checked"."""
    table = tomllib.loads(CITATIONS_FILE.read_text(encoding="utf-8"))
    return {
        Citation(work, "" if section == "work" else section): entry
        for work, sections in table.items()
        for section, entry in sections.items()
    }


if __name__ == "__main__":
    for citation, files in files_by_citation().items():
        print(f"{citation}: {', '.join(files)}")
