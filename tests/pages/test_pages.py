"""Every page by its address: with a model, without one, with an invalid one or an invalid link."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.figures.deno import drawn
from tests.pages.conftest import (
    ROOT,
    Visit,
    component_data,
    messages,
    send_choice,
    text_field,
    type_text,
    view,
)
from transformer import Translator
from transformer.api import model_list
from transformer.ui.base.registry import HOME, PAGES

TRANSLATING_PAGES = tuple(f"{HOME}?depth={depth}" for depth in ("heads", "steps", "off"))
SENTENCE_PAGES = (HOME, *TRANSLATING_PAGES)


def test_every_page_file_is_registered() -> None:
    files = {str(file.relative_to(ROOT)) for file in (ROOT / "pages").glob("*.py")}
    assert PAGES.keys() == {HOME, *files}


@pytest.mark.parametrize("page", PAGES)
def test_a_page_opens_by_its_address_with_the_navigation(visit: Visit, page: str) -> None:
    app = visit(page)
    assert len(app.title) == 1
    labels = [link.proto.label for link in app.get("page_link")]
    titles = [entry.title for entry in PAGES.values()]
    assert labels[: len(titles)] == titles
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
    app = visit("app.py?depth=steps", tmp_path)
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
    app = visit("app.py?depth=steps", tmp_path, model="third")
    assert messages(app) == ["There is no checkpoint 'third'; available: first, second."]
    assert not messages(app.run())


def test_the_page_shows_the_translators_translation_and_steps(
    visit: Visit, translator: Translator
) -> None:
    text = "The baker paints a boat."
    app = visit("app.py?depth=steps", text=text, method="beam", beam_size="3", exact="1")
    sentence, table = component_data(app)
    expected = translator.translate(text, method="beam", beam_size=3, length_penalty=0.6)
    assert sentence["text"] == expected.text
    assert sentence["tokens"] == list(expected.tokens)
    assert [step["chosen"]["token"] for step in drawn("table", table)] == list(expected.tokens)
    first = drawn("table", table)[0]
    assert first["input"] == ["<s>"]
    assert [c["token"] for c in first["candidates"]] == [
        c.token for c in expected.steps[0].candidates
    ]


@pytest.mark.parametrize("page", TRANSLATING_PAGES)
def test_an_empty_sentence_is_explained(visit: Visit, page: str) -> None:
    app = visit(page, text="   ")
    assert messages(app) == ["There is no text to translate; write a sentence first."]
    assert not component_data(app)
    type_text(app, "She hides the lamp.")
    assert not messages(app)
    assert component_data(app)
    type_text(app, " ")
    assert text_field(app)["problem"] == "Type a few words to translate."
    assert component_data(app)
    assert view(app).text == "She hides the lamp."


def test_an_invalid_link_is_reported_and_the_rest_shown(visit: Visit) -> None:
    app = visit(
        "app.py?depth=heads", text="She hides books.", kind="encoder", layer="77", seed="x", hed="1"
    )
    assert messages(app) == [
        "The address has seed='x'; it must be a whole number from 0 to 2147483647.",
        'The address has the field "hed", which this page does not have.',
        "The address has layer=77, counted from 0; in this model it must be from 0 to 1.",
    ]
    assert (view(app).text, view(app).kind, view(app).layer) == ("She hides books.", "encoder", 1)
    assert component_data(app)[0]["start"]["kind"] == "encoder"
    params = {"depth": "heads", "text": "She hides books.", "kind": "encoder", "layer": "1"}
    assert dict(app.query_params) == params


def test_an_unknown_model_is_reported_with_the_available_ones(visit: Visit) -> None:
    app = visit("app.py?depth=heads", model="![x](http://there)")
    assert "There is no checkpoint '![x](http://there)'; available: tiny." in messages(app)[0]
    assert "![x](" not in app.warning[0].value
    assert component_data(app)


def test_model_and_sentence_stay_when_the_page_changes(
    visit: Visit, tmp_path: Path, checkpoints: Path
) -> None:
    for name in ("first", "second"):
        shutil.copytree(checkpoints / "tiny", tmp_path / name)
    app = visit("app.py?depth=steps", tmp_path)
    app.selectbox[0].select("second").run()
    type_text(app, "A pilot finds bread.")
    for page in ("pages/inside.py", HOME):
        app.switch_page(page).run()
        assert not app.exception
        assert app.selectbox[0].value == "second"
        assert (view(app).model, view(app).text) == ("second", "A pilot finds bread.")
    for depth in ("heads", "off", "bands", "steps"):
        send_choice(app, "glance", depth=depth)
        assert app.selectbox[0].value == "second"
        assert (view(app).depth, view(app).text) == (depth, "A pilot finds bread.")
        assert text_field(app)["typed"] == "A pilot finds bread."
    params = {"depth": "steps", "model": "second", "text": "A pilot finds bread."}
    assert params.items() <= dict(app.query_params).items()


def test_a_token_is_forced_and_undone(visit: Visit, translator: Translator) -> None:
    text = "The baker paints a boat."
    greedy = translator.translate(text)
    forced = next(c for c in greedy.steps[1].candidates if c.id != greedy.ids[1])
    expected = translator.translate(text, prefix=[greedy.ids[0], forced.id])
    app = visit("app.py?depth=steps", text=text, force=f"1:{forced.id}", exact="1")
    sentence, table = component_data(app)
    assert sentence["text"] == expected.text
    assert table["live"]
    assert [step.get("forced", False) for step in drawn("table", table)].index(True) == 1
    assert [step["canForce"] for step in drawn("table", table)][:3] == [True, True, False]
    next(button for button in app.button if button.label == "Undo").click().run()
    assert component_data(app)[0]["text"] == greedy.text
    assert view(app).force == ""
    app = visit("app.py?depth=steps", text=text, force=f"1:{forced.id}")
    type_text(app, "She hides the lamp.")
    assert view(app).force == ""  # the forced token belonged to the previous sentence
    assert not messages(app)
    assert "cannot be forced" in messages(visit("app.py?depth=steps", text=text, force="99:7"))[0]


@pytest.mark.parametrize(
    "text", ["<script>alert(1)</script>", "🙂👩🏽‍🚀", "مرحبا بالعالم", "e\u0301", "</s>"]
)
def test_any_text_is_shown_as_plain_text(visit: Visit, text: str) -> None:
    app = visit("app.py?depth=steps", text=text)
    assert not messages(app)
    assert text_field(app)["typed"] == text
    assert component_data(app)[0]["source_tokens"][-1] == "</s>"
    side = component_data(send_choice(app, "glance", depth="heads"))[0]["sides"][0]
    assert side["src"][-1] == "</s>"
