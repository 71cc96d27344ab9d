"""The glossary: one definition per term, which its tooltips use; each term occurs on a page."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from transformer.figures.glossary import TERMS, Term, term
from transformer.ui.shell.registry import PAGES, parse_params, path

ROOT = Path(__file__).resolve().parents[2]
MODULES = [*(ROOT / "transformer" / "ui").rglob("*.py"), *(ROOT / "pages").glob("*.py")]
GLOSSARY = ("glossary.py", "terms.py")


def page_texts() -> str:
    """Return all texts of pages and browser views except the glossary."""
    constants = []
    for file in [*MODULES, *(ROOT / "transformer" / "figures").rglob("*.py")]:
        if file.name not in GLOSSARY:
            tree = ast.parse(file.read_text(encoding="utf-8"))
            constants += [
                node.value
                for node in ast.walk(tree)
                if isinstance(node, ast.Constant) and isinstance(node.value, str)
            ]
    scripts = (ROOT / "transformer" / "figures" / "browser").glob("*.js")
    return "\n".join(
        [*constants, *(script.read_text(encoding="utf-8") for script in scripts)]
    ).lower()


def widget_tooltips() -> Iterator[tuple[str, str]]:
    """Yield label and tooltip of every widget whose tooltip is a literal."""
    labels = {
        name: field.label for page in PAGES.values() for name, field in page.view.fields().items()
    }
    for file in MODULES:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            text = next((k.value for k in node.keywords if k.arg == "help"), None)
            if not isinstance(text, ast.Constant | ast.JoinedStr):
                continue
            if getattr(node.func, "attr", "") == "button_row":  # its first argument is a field
                names = []
            else:
                names = [a.value for a in node.args[:1] if isinstance(a, ast.Constant)]
            for inner in ast.walk(node):
                if isinstance(inner, ast.Call) and getattr(inner.func, "attr", "").startswith(
                    ("bound", "button_row")
                ):
                    names += [labels[a.value] for a in inner.args if isinstance(a, ast.Constant)]
            yield from ((str(name), ast.unparse(text)) for name in names)


def test_no_term_has_two_explanations() -> None:
    names = Counter(name.lower() for entry in TERMS for name in (entry.name, *entry.also))
    assert not [name for name, count in names.items() if count > 1]
    assert len({entry.definition for entry in TERMS}) == len(TERMS)
    assert not [(name, text) for name, text in widget_tooltips() if term(name)]
    assert list(widget_tooltips()), "no tooltip was found in the source"


def test_each_definition_is_one_sentence() -> None:
    for entry in TERMS:
        assert entry.definition.endswith("."), entry.name
        assert len(entry.definition) < 240, entry.name


def test_every_term_is_used_on_some_page() -> None:
    all_text = page_texts()
    missing = [
        term.name
        for term in TERMS
        if not any(
            re.search(rf"(?<!\w){re.escape(name.lower())}s?(?!\w)", all_text)
            for name in (term.name, *term.also)
        )
    ]
    assert not missing


@pytest.mark.parametrize("term", TERMS, ids=lambda term: term.name)
def test_each_term_links_to_a_page_that_shows_it(term: Term) -> None:
    page, _, query = term.see.partition("?")
    file = next(file for file in PAGES if path(file) == page)
    params = dict(part.split("=") for part in query.split("&") if part)
    assert not parse_params(file, params)[1]


def test_definitions_are_plain_text_and_formulas_are_balanced() -> None:
    for entry in TERMS:
        assert not set("`$*") & set(entry.definition), entry.name  # tooltips show them literally
        assert entry.formula.count("{") == entry.formula.count("}"), entry.name
        assert "$" not in entry.formula, entry.name
    assert sum(bool(entry.formula) for entry in TERMS) >= 15


def test_residual_is_explained() -> None:
    residual = term("residual")
    assert residual is not None
    assert residual is term("Residual connection")
    assert "sublayer" in residual.definition
