"""Training in a browser tab: the page of the static site, and the same page in the app."""

from __future__ import annotations

import json
import re
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import NewPage
from tests.figures.deno import SCRIPTS, deno
from tests.live_app import wait_until
from transformer import Translator

TRAINING_TIMEOUT_MS = 120_000
PAIRS = "\n".join(f"I see {word} .\tich sehe {word} ." for word in "abcdefghijklmnopqrstuv")

# Opening the database before the page does would create it without its store.
RUN_IS_KEPT = """async () => {
  const databases = await indexedDB.databases();
  if (!databases.some(({ name }) => name === "heads-up-training")) return false;
  const result = (request) => new Promise((done) => request.onsuccess = () => done(request.result));
  const database = await result(indexedDB.open("heads-up-training"));
  const kept = await result(database.transaction("runs").objectStore("runs").get("last"));
  database.close();
  return Boolean(kept);
}"""


@pytest.fixture
def address(site_address: str) -> str:
    return f"{site_address}train.html"


def runs(page: Page) -> list[str]:
    return page.get_by_role("group", name="Runs").get_by_role("button").all_inner_texts()


def wait_until_finished(page: Page, count: int = 1) -> None:
    finished = page.get_by_role("group", name="Runs").get_by_role(
        "button", name=re.compile("finished after")
    )
    expect(finished).to_have_count(count, timeout=TRAINING_TIMEOUT_MS)


def wait_until_found(page: Page) -> Locator:
    """Wait until a run has stopped because a head has found the right tokens."""
    button = page.get_by_role("button", name="Switch it off", exact=True)
    expect(button).to_be_visible(timeout=TRAINING_TIMEOUT_MS)
    return button


def go_on_after_stop(page: Page) -> None:
    wait_until_found(page)
    page.get_by_role("button", name="Go on", exact=True).click()


def checksum(page: Page, name: str) -> str:
    """Select a run; return its step with the checksum of its weights."""
    run = page.get_by_role("group", name="Runs").get_by_role("button", name=re.compile(name))
    run.click()
    expect(run).to_have_attribute("aria-pressed", "true")
    text = page.get_by_text(re.compile("Checksum of the weights at step")).inner_text()
    match = re.fullmatch(r".* at step (\d+): ([0-9a-f]{8})", text)
    assert match, text
    return f"{match[1]} {match[2]}"


def open_file(page: Page, file: Path) -> None:
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Open a saved model").click()
    chooser.value.set_files(file)


def test_a_link_trains_forks_and_reproduces(
    address: str, new_page: NewPage, tmp_path: Path
) -> None:
    page = new_page(alone=True)
    page.goto(address)
    switch_off = wait_until_found(page)
    # The sentence names a head and a step: it is the marked head, and the step of the pictures.
    said = page.locator(".hu-trainer-caption").inner_text()
    match = re.fullmatch(
        r"Step (\d+): cross-attention (layer \d, head \d) puts (\d+)% of its weight on the right "
        r"source tokens \(mean of 32 held-out examples; no head had 50% before\)\. Switch it off\?",
        said,
    )
    assert match, said
    step, head, share = match.groups()
    assert int(share) >= 50
    expect(page.get_by_text(re.compile(f"^step {step} ·"))).to_be_visible()
    expect(page.locator(".hu-trainer-film .hu-note")).to_have_text(f"step {step}")
    switch = page.get_by_role("switch", name=f"Cross-attention, {head}", exact=True)
    expect(page.locator(".hu-trainer-heads .hu-drawn")).to_have_count(1)
    expect(switch).to_have_class(re.compile("hu-drawn"))
    switch_off.focus()
    page.keyboard.press("Enter")
    expect(switch_off).to_be_hidden()
    expect(page.get_by_role("button", name="Pause", exact=True)).to_be_focused()
    wait_until_finished(page, 2)  # it has not stopped again
    first, fork = runs(page)
    assert "99% at step" in first
    assert fork.startswith(f"Step {step}, without cross-attention {head}")
    expect(switch).to_have_attribute("aria-checked", "false")
    expect(page.get_by_text(re.compile("put .* of its weight on the right source"))).to_be_visible()
    sum_of_fork, sum_of_first = checksum(page, "without"), checksum(page, "First run")
    assert sum_of_first != sum_of_fork

    field = page.get_by_label("Your own input")
    field.fill("abcde")
    page.get_by_role("button", name="Try it").click()
    expect(page.get_by_role("button", name=re.compile("^a b c d e → e d c b a"))).to_be_visible()
    field.fill("abc😀")
    page.get_by_role("button", name="Try it").click()
    expect(page.get_by_role("alert")).to_contain_text("The model has no symbol")

    with page.expect_download() as download:
        page.get_by_role("button", name="Save the model").click()
    file = tmp_path / "reverse.safetensors"
    download.value.save_as(file)
    assert Translator.load(file, "cpu").translate("a b c d e").text == "e d c b a"

    page.reload()
    wait_until_finished(page, 2)
    assert [checksum(page, "without"), checksum(page, "First run")] == [sum_of_fork, sum_of_first]

    page.goto(f"{address}?here=steps%3D20")
    wait_until_finished(page)
    open_file(page, file)
    expect(page.get_by_text(re.compile("^step 500 ·"))).to_be_visible()  # not 20
    wait_until_finished(page)
    assert checksum(page, "First run") == sum_of_first
    assert page.url == address
    broken = tmp_path / "broken.safetensors"
    broken.write_bytes(file.read_bytes()[:-5])
    open_file(page, broken)
    expect(page.get_by_role("alert")).to_contain_text("The model file is truncated")


def test_models_with_and_without_attention_are_compared(
    address: str, new_page: NewPage, tmp_path: Path
) -> None:
    settings = {"steps": 30, "d_model": 32, "options": {"longest": 8}}
    page = new_page(alone=True)
    models = "~0@0;model=gru_attention~0@0;model=gru"
    link = quote(f"steps=30;d_model=32;option.longest=8{models}")
    page.goto(f"{address}?here={link}")
    wait_until_finished(page, 3)
    names = [name.split(":")[0] for name in runs(page)]
    assert names == ["Transformer", "GRU with attention", "GRU without attention"]
    expect(page.get_by_text("Right outputs for inputs of 1 to 2 and of 7 to 8")).to_be_visible()
    expect(page.get_by_role("img", name=re.compile("Right outputs by length"))).to_be_visible()
    for model, name in (("gru", "without attention"), ("gru_attention", "with attention")):
        description = {"settings": {**settings, "model": model}}
        (tmp_path / "case.json").write_text(json.dumps(description))
        script = str(SCRIPTS / "training-parity.js")
        printed = deno("run", "--quiet", "--allow-read", script, "checksum", str(tmp_path))
        assert checksum(page, f"GRU {name}") == f"30 {json.loads(printed)}"
    heads = page.locator(".hu-trainer-heads .hu-thumb")
    expect(heads).to_have_count(1)
    expect(page.get_by_role("button", name="Save the model")).to_be_hidden()
    checksum(page, "Transformer")
    expect(heads).to_have_count(24)

    # Five seeds can be cancelled and begun again; the verdict shows its pairs.
    checksum(page, "GRU without attention")
    compare, cancel = (
        page.get_by_role("button", name=name, exact=True)
        for name in ("Compare with five seeds", "Cancel")
    )
    compare.click()
    expect(page.get_by_role("progressbar")).to_be_visible()
    expect(page.get_by_text(re.compile(r"^\d+ of 10 runs trained \(\d+%\), \d+ s"))).to_be_visible()
    expect(compare).to_be_disabled()
    cancel.click()
    expect(page.get_by_role("progressbar")).to_have_count(0)
    compare.click()
    pairs = page.get_by_text(re.compile(r"^The pairs: 10 runs, trained in \d+ s$"))
    expect(pairs).to_be_visible(timeout=TRAINING_TIMEOUT_MS)
    expect(page.locator(".hu-trainer-verdict")).to_contain_text("a GRU without attention")
    pairs.click()
    expect(page.locator(".hu-trainer-pairs-shown tbody tr")).to_have_count(5)


def test_a_question_races_its_runs_and_then_compares_five_seeds(
    address: str, new_page: NewPage
) -> None:
    page = new_page(alone=True)
    page.goto(address)
    page.get_by_label("Speed").select_option("as fast as possible")
    page.get_by_role("button", name="Why not one big head?").click()
    caption = page.locator(".hu-trainer-caption")
    expect(caption).to_contain_text("five seeds follow when these runs have ended")
    wait_until_finished(page, 2)
    expect(caption).to_contain_text("one head of 64 dimensions")
    page.get_by_role("button", name="Cancel", exact=True).click()
    expect(caption).to_contain_text("compare it with five seeds")


def test_a_visitor_changes_settings_trains_on_own_pairs_and_continues_after_a_reload(
    address: str, new_page: NewPage
) -> None:
    page = new_page(alone=True)
    page.goto(f"{address}?here=steps%3D50")
    wait_until_finished(page)
    page.get_by_label("positions").select_option("none")
    wait_until_finished(page)
    assert "positions%3Dnone" in page.url
    expect(page.get_by_text("cannot tell their order")).to_be_visible()
    page.get_by_role("button", name="Start again").click()
    wait_until_finished(page)

    page.goto(f"{address}?here=task%3Dfrench%3Bsteps%3D20")
    wait_until_finished(page)

    requests: list[str] = []
    page.goto(f"{address}?here=task%3Dpairs%3Bsteps%3D60")
    field = page.get_by_label("Sentence pairs")
    field.fill("only one side")
    page.get_by_role("button", name="Train on these pairs").click()
    expect(page.get_by_role("alert")).to_contain_text("Line 1 is")
    page.on("request", lambda request: requests.append(request.url))
    field.fill(PAIRS)
    page.get_by_role("button", name="Train on these pairs").click()
    wait_until_finished(page)
    assert not [url for url in requests if "scripts/" not in url]

    page.goto(f"{address}?here=task%3Dreverse%3Bsteps%3D3000")
    go_on_after_stop(page)
    expect(page.get_by_text(re.compile(r"step ([2-9]\d\d|\d{4}) "))).to_be_visible(
        timeout=TRAINING_TIMEOUT_MS
    )
    wait_until(page, RUN_IS_KEPT)
    page.reload()
    go_on = page.get_by_role("button", name=re.compile("Go on from step"))
    match = re.search(r"step (\d+)", go_on.inner_text())
    assert match
    go_on.click()
    status = page.get_by_text(re.compile(r"step \d+ · loss"))
    expect(status).to_be_visible()
    shown = re.search(r"step (\d+)", status.inner_text())
    assert shown
    assert int(shown[1]) >= int(match[1])


@pytest.mark.journey
def test_a_careless_visitor_gets_one_sentence_and_opens_the_model_in_every_view(
    address: str, new_page: NewPage
) -> None:
    page = new_page(alone=True)
    for link, problem in (
        ("task%3Dconstructor", "There is no task"),
        ("off%3Dc9.9", "There is no head c9.9; this model has layers 1 to 2 and heads 1 to 4"),
        ("option.constructor%3D3", "The task has no option constructor"),
    ):
        page.goto(f"{address}?here={link}")
        expect(page.get_by_role("alert")).to_contain_text(problem)
        assert page.url == f"{address}?here={link}"
    page.goto(f"{address}?here=task%3Dreverse%3Bsteps%3D60%3Boption.longest%3D4")
    wait_until_finished(page)
    field = page.get_by_label("Your own input")
    for text, problem in (
        ("", "Type an input first"),
        ("a" * 5000, "it can have at most"),
        ("<script>alert(1)</script>", "The model has no symbol"),
    ):
        field.fill(text)
        page.get_by_role("button", name="Try it").click()
        expect(page.get_by_role("alert")).to_contain_text(problem)
    page.get_by_role("switch", name="Cross-attention, layer 1, head 1", exact=True).dblclick()
    wait_until_finished(page, 2)
    assert len(runs(page)) == 2

    film = page.get_by_label("Film: training step")
    loss = page.get_by_role("img", name=re.compile("^Loss"))
    loss_of_fork = re.compile(
        r"without cross-attention layer 1, head 1, with 120 steps in all: (\S+)"
    )
    shown = checksum(page, "without")
    expect(loss).to_have_attribute("aria-label", loss_of_fork)
    last_loss = loss_of_fork.search(loss.get_attribute("aria-label") or "")
    assert shown.startswith("120 ")  # it has trained as long as the finished run
    assert last_loss
    page.get_by_role("button", name="Open in every view").click()
    page.wait_for_url("**/index.html?model=trained*")
    expect(page.get_by_label("Model", exact=True)).to_have_value("trained")
    expect(page.get_by_text(re.compile(r"^Layer \d, head \d$")).first).to_be_visible()
    page.get_by_role("textbox", name="Input", exact=True).fill("a b q")
    expect(page.get_by_role("button", name="q", exact=True).first).to_be_visible()

    # Its training is as it was left: nothing trains again.
    page.get_by_role("link", name="Its training").click()
    expect(page.get_by_role("group", name="Runs")).to_contain_text("finished")
    expect(page.get_by_text(re.compile("Checksum of the weights at step 120"))).to_be_visible()
    assert checksum(page, "without") == shown
    expect(loss).to_have_attribute("aria-label", re.compile(re.escape(last_loss[0])))
    assert int(film.get_attribute("max") or 0) > 1
    expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()

    other = new_page(alone=True)
    other.goto(f"{address.removesuffix('train.html')}index.html?model=trained")
    expect(other.get_by_text("This browser has no model of yours")).to_be_visible()


def test_the_same_page_in_the_app_keeps_the_run_in_the_address(app: str, new_page: NewPage) -> None:
    page = new_page(alone=True)
    # A wrong link trains the usual run, says why, and stays in the address to be corrected.
    page.goto(f"{app}/train?here=batch%3D9999")
    expect(page.get_by_text("batch is 9999; it must be a whole number from 1")).to_be_visible()
    go_on_after_stop(page)
    wait_until_finished(page)
    assert page.url.endswith("here=batch%3D9999")
    page.goto(f"{app}/train?here=task%3Dcopy%3Bsteps%3D30")
    wait_until_finished(page)
    page.get_by_label("Task").select_option("reverse")
    expect(page).to_have_url(re.compile("here=task%3Dreverse"))
    page.get_by_role("button", name="Start again").click()
    expect(page.get_by_role("link", name="All ways to train")).to_be_visible()
    assert "here=task%3Dreverse" in page.url
    go_on_after_stop(page)
    wait_until_finished(page)
    page.get_by_role("button", name="Open in every view").click()
    expect(page).to_have_url(re.compile("[?&]run=reverse"))
    expect(page.locator(".hu-film")).to_be_visible()
    expect(page.locator(".js-plotly-plot .scatterlayer path.js-line").first).to_be_visible()
    expect(page.get_by_text("Outputs for held-out examples at step")).to_be_visible()
