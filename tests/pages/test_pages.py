"""Every page by its address: with a model, without one, with an invalid one or an invalid link."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.pages.conftest import (
    ROOT,
    Visit,
    component_data,
    messages,
    named_data,
    send_choice,
    view,
)
from transformer.api import model_list
from transformer.ui.base.registry import HOME, PAGES, path

SENTENCE_PAGES = ("pages/inside.py", "pages/research.py?experiment=alignment")


def test_every_page_file_is_registered() -> None:
    files = {str(file.relative_to(ROOT)) for file in (ROOT / "pages").glob("*.py")}
    assert PAGES.keys() == {HOME, *files}


@pytest.mark.parametrize("page", PAGES)
def test_a_page_opens_by_its_address_with_the_navigation(visit: Visit, page: str) -> None:
    app = visit(page)
    assert len(app.title) == 1
    frame = named_data(app, "frame")
    assert frame["page"] == path(page)
    assert frame["pages"] == [[path(file), entry.title] for file, entry in PAGES.items()]
    assert not messages(app)
    assert dict(app.query_params).keys() <= {*PAGES[page].view.fields()}


@pytest.mark.parametrize("page", SENTENCE_PAGES)
def test_without_a_checkpoint_a_page_says_what_to_do(
    visit: Visit, page: str, tmp_path: Path
) -> None:
    for folder in (tmp_path, tmp_path / "nowhere"):
        app = visit(page, folder)
        assert app.header[0].value == "No model found"
        page_text = " ".join(text.value for text in [*app.markdown, *app.code])
        assert f"found no trained model in `{folder.name}`" in page_text
        assert f"checkpoint {folder.name}/mine" in page_text
        assert str(tmp_path) not in page_text
        assert "HEADS_UP_CHECKPOINTS" in page_text
        assert "python -m transformer train" in page_text
        assert not component_data(app)


@pytest.mark.parametrize("page", SENTENCE_PAGES)
def test_an_invalid_checkpoint_is_reported_in_one_sentence(
    visit: Visit, page: str, tmp_path: Path, checkpoints: Path
) -> None:
    shutil.copytree(checkpoints / "tiny", tmp_path / "truncated")
    weights = tmp_path / "truncated" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:1000])
    app = visit(page, tmp_path)
    assert len(app.error) == 1
    assert "The checkpoint truncated cannot be opened" in messages(app)[0]
    assert "1000 bytes" in messages(app)[0]
    assert str(tmp_path) not in messages(app)[0]


def test_an_invalid_checkpoint_is_listed_but_never_the_default(
    visit: Visit, tmp_path: Path, checkpoints: Path
) -> None:
    for name in ("a-truncated", "b-not-a-config", "complete"):
        shutil.copytree(checkpoints / "tiny", tmp_path / name)
    weights = tmp_path / "a-truncated" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:1000])
    (tmp_path / "b-not-a-config" / "config.json").write_text("[]")
    app = visit("pages/inside.py", tmp_path)
    assert not messages(app)
    (model_menu,) = (element for element in app.selectbox if element.label == "Model")
    assert model_menu.value == "complete"
    assert model_menu.options == [
        "a-trun… (unreadable)",
        "b-not-… (unreadable)",
        f"complete · {model_list.format_millions(model_list.count_weights(tmp_path / 'complete'))}",
    ]


def test_a_link_to_a_deleted_model_is_reported(
    visit: Visit, tmp_path: Path, checkpoints: Path
) -> None:
    for name in ("first", "second"):
        shutil.copytree(checkpoints / "tiny", tmp_path / name)
    app = visit("pages/inside.py", tmp_path, model="third")
    assert messages(app) == ["There is no checkpoint 'third'; available: first, second."]
    assert not messages(app.run())


def test_an_invalid_link_is_reported_and_the_rest_shown(visit: Visit) -> None:
    app = visit(
        "pages/inside.py", text="She hides books.", kind="encoder", layer="77", seed="x", hed="1"
    )
    assert messages(app) == [
        "The address has seed='x'; it must be a whole number from 0 to 2147483647.",
        'The address has the field "hed", which this page does not have.',
        "The address has layer=77, counted from 0; in this model it must be from 0 to 1.",
    ]
    assert (view(app).text, view(app).kind, view(app).layer) == ("She hides books.", "encoder", 1)
    params = {"text": "She hides books.", "kind": "encoder", "layer": "1"}
    assert params.items() <= dict(app.query_params).items()


def test_an_unknown_model_is_reported_with_the_available_ones(visit: Visit) -> None:
    app = visit("pages/inside.py", model="![x](http://there)")
    assert "There is no checkpoint '![x](http://there)'; available: tiny." in messages(app)[0]
    assert "![x](" not in app.warning[0].value
    assert component_data(app)


def test_model_and_sentence_stay_when_the_page_changes(
    visit: Visit, tmp_path: Path, checkpoints: Path
) -> None:
    for name in ("first", "second"):
        shutil.copytree(checkpoints / "tiny", tmp_path / name)
    shown = {"model": "second", "text": "A pilot finds bread."}
    app = visit(HOME, tmp_path)
    place = {
        "page": "",
        "params": {**shown, "depth": "steps"},
    }  # the client has changed its address
    send_choice(app, "frame", page="inside", params=None, origin=place)
    assert app.selectbox[0].value == "second"
    assert (view(app).model, view(app).text) == ("second", "A pilot finds bread.")
    assert shown.items() <= dict(app.query_params).items()
    send_choice(app, "frame", page="", params=None, origin={"page": "inside", "params": {}})
    assert dict(app.query_params) == {**shown, "depth": "steps"}


def test_a_view_opens_a_place_with_all_its_fields(visit: Visit) -> None:
    app = visit("pages/inside.py", text="She hides books.")
    params = {"text": "A pilot finds bread.", "depth": "heads", "layer": "1"}
    send_choice(app, "frame", page="", params=params)
    assert dict(app.query_params) == params
    for wrong in ({"page": 7}, {"params": "x"}, {"params": {"text": 1}}, {"large": "yes"}):
        app = visit("pages/glossary.py")
        send_choice(app, "frame", **{"page": "inside", **wrong})
        assert named_data(app, "frame")["page"] == "glossary"
