"""The glossary: one explanation a term, each term on some page, no other tooltip for one."""

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


def said() -> str:
    """All that pages and browser views say, but for the glossary."""
    found = []
    for file in [*MODULES, *(ROOT / "transformer" / "figures").rglob("*.py")]:
        if file.name not in GLOSSARY:
            tree = ast.parse(file.read_text(encoding="utf-8"))
            found += [
                node.value
                for node in ast.walk(tree)
                if isinstance(node, ast.Constant) and isinstance(node.value, str)
            ]
    scripts = (ROOT / "transformer" / "figures" / "browser").glob("*.js")
    return "\n".join([*found, *(one.read_text(encoding="utf-8") for one in scripts)]).lower()


def explained() -> Iterator[tuple[str, str]]:
    """Label and text of every widget that has a tooltip of its own, where both are written out."""
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
            names = [a.value for a in node.args[:1] if isinstance(a, ast.Constant)]
            for inner in ast.walk(node):
                if isinstance(inner, ast.Call) and getattr(inner.func, "attr", "").startswith(
                    ("bound", "chosen")
                ):
                    names += [labels[a.value] for a in inner.args if isinstance(a, ast.Constant)]
            yield from ((str(name), ast.unparse(text)) for name in names)


def test_no_term_has_two_explanations() -> None:
    names = Counter(name.lower() for one in TERMS for name in (one.name, *one.also))
    assert not [name for name, count in names.items() if count > 1]
    assert len({one.definition for one in TERMS}) == len(TERMS)
    assert not [(name, text) for name, text in explained() if term(name)]
    assert list(explained()), "nothing was looked at"


def test_each_is_a_plain_sentence() -> None:
    for one in TERMS:
        assert one.definition.endswith("."), one.name
        assert len(one.definition) < 240, one.name


def test_every_term_stands_on_some_page() -> None:
    everything = said()
    missing = [
        one.name
        for one in TERMS
        if not any(
            re.search(rf"(?<!\w){re.escape(name.lower())}s?(?!\w)", everything)
            for name in (one.name, *one.also)
        )
    ]
    assert not missing


@pytest.mark.parametrize("one", TERMS, ids=lambda one: one.name)
def test_each_leads_to_where_it_is_to_be_seen(one: Term) -> None:
    place, _, query = one.see.partition("?")
    file = next(file for file in PAGES if path(file) == place)
    params = dict(part.split("=") for part in query.split("&") if part)
    assert not parse_params(file, params)[1]


def test_definitions_are_plain_text_and_formulas_are_balanced() -> None:
    for one in TERMS:
        assert not set("`$*") & set(one.definition), one.name  # tooltips show them literally
        assert one.formula.count("{") == one.formula.count("}"), one.name
        assert "$" not in one.formula, one.name
    assert sum(bool(one.formula) for one in TERMS) >= 15


def test_residual_is_explained() -> None:
    residual = term("residual")
    assert residual is not None
    assert residual is term("Residual connection")
    assert "sublayer" in residual.definition
