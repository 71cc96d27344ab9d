"""The Heads view: what it says of the tokens is what numpy gets from the same weights, and what it
draws are the heads that are on."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import NewPage
from tests.figures.made import HOSTILE, made
from transformer.figures import Side, explorer_page
from transformer.figures.side import Traced

pytestmark = pytest.mark.browser

SRC = ["▁the", "▁ho", "use", "▁is", "▁the", "▁best", "</s>"]
TGT = ["<s>", "▁la", "▁mai", "son", "▁est", "▁la"]
EXACT = 1.01e-4  # four digits are shown
Rows = npt.NDArray[np.float32]


def opened(page: Page, folder: Path, trace: Traced, **start: int | str) -> Page:
    begin = {
        "view": "heads",
        "kind": "cross",
        "layer": 1,
        "head": 2,
        "more": 1,
        "exact": 1,
        **start,
    }
    written = explorer_page([Side(trace)], begin)
    made_known = written.replace(
        "const view = explorerView", "const view = window.view = explorerView"
    )
    assert made_known != written
    (folder / "view.html").write_text(made_known, encoding="utf-8")
    page.goto((folder / "view.html").as_uri())
    page.locator(".hu-heads").wait_for()
    return page


@pytest.fixture
def trace() -> Traced:
    return made(SRC, TGT)


@pytest.fixture
def heads(page: Page, tmp_path: Path, trace: Traced) -> Page:
    return opened(page, tmp_path, trace)


def state(page: Page, name: str) -> int | str:
    found: int | str = page.evaluate("(name) => view.ctx.state[name]", name)
    return found


def point(page: Page, side: str, index: int, *, most: int = 7, click: bool = False) -> None:
    """The pointer on a token. The labels are 13 pixels high, or 11 where there are many."""
    canvas = page.locator(".hu-canvas")
    width, height = canvas.evaluate("(node) => [node.clientWidth, node.clientHeight]")
    size = 13 if most < 35 else 11
    step = (height - size - 20) / most
    x, y = (20 if side == "q" else width - 20), size + 14 + (index + 0.5) * step
    (canvas.click if click else canvas.hover)(position={"x": x, "y": y})


def option(page: Page, name: str) -> Locator:
    return page.get_by_role("combobox", name=name)


def quantities(page: Page) -> list[float]:
    """The weights that are read out."""
    return [float(text) for text in page.locator(".hu-reading .hu-said").all_inner_texts()]


def reads(page: Page, *parts: str) -> None:
    for part in parts:
        expect(page.locator(".hu-reading")).to_contain_text(part)


def test_pointing_at_a_token_tells_where_it_looks_and_who_looks_at_it(
    heads: Page, trace: Traced
) -> None:
    weights = trace.weights("cross", 1)[2]
    reads(heads, "Point at a token")
    for row in (0, 3, 5):
        point(heads, "q", row)
        written = [*TGT[1:], "</s>"][row]
        order = np.argsort(-weights[row])[:3]
        reads(heads, f"{TGT[row]} → {written} attends most to", SRC[order[0]])
        assert quantities(heads) == pytest.approx(weights[row, order], abs=EXACT)
    for column in (0, 6):
        point(heads, "k", column)
        order = np.argsort(-weights[:, column])[:3]
        reads(heads, f"{SRC[column]} gets most attention from", TGT[order[0]])
        assert quantities(heads) == pytest.approx(weights[order, column], abs=EXACT)
    assert heads.locator(".hu-lines").evaluate("(node) => node.style.opacity") == "0.1"
    heads.mouse.move(0, 0)
    reads(heads, "Point at a token")
    assert heads.locator(".hu-lines").evaluate("(node) => node.style.opacity") == "1"
    assert state(heads, "tokens") == ""


def test_pinned_tokens_are_summed_for_every_head(heads: Page, trace: Traced) -> None:
    heads.get_by_role("button", name="all of layer 1").click()
    expect(heads.locator(".hu-title")).to_have_text("Layer 1, all heads")
    expect(heads.locator(".hu-code")).to_have_text('trace.weights("cross", layer=1)')
    point(heads, "q", 1, click=True)
    point(heads, "q", 4, click=True)
    assert state(heads, "tokens") == "q1,q4"
    weights = trace.weights("cross", 1)
    reads(heads, "(sum of 2) together attend most to")
    assert quantities(heads)[0] == pytest.approx((weights[:, 1] + weights[:, 4]).max(), abs=EXACT)
    for column in (0, 4):  # the same token twice, in different places
        point(heads, "k", column)
        reads(heads, "▁la → ▁mai, ▁est → ▁la attend to ▁the, sum of 2: ", "L1·H3")
        expected = weights[:, 1, column] + weights[:, 4, column]
        assert quantities(heads) == pytest.approx(expected, abs=2 * EXACT)
    point(heads, "q", 4, click=True)
    assert state(heads, "tokens") == "q1"
    point(heads, "q", 1, click=True)
    point(heads, "k", 2, click=True)
    point(heads, "k", 5, click=True)
    assert state(heads, "tokens") == "k2,k5"
    point(heads, "q", 3)
    assert quantities(heads) == pytest.approx(weights[:, 3, 2] + weights[:, 3, 5], abs=2 * EXACT)
    heads.get_by_role("button", name="let go").click()
    assert state(heads, "tokens") == ""
    expect(heads.get_by_role("button", name="let go")).to_be_hidden()


def test_the_keyboard_reads_pins_and_lets_go(heads: Page, trace: Traced) -> None:
    weights = trace.weights("cross", 1)[2]
    heads.locator(".hu-canvas").focus()
    for key, token in [
        ("ArrowDown", "<s>"),
        ("ArrowDown", "▁la"),
        ("End", "▁la"),
        ("ArrowDown", "▁la"),
        ("ArrowUp", "▁est"),
    ]:
        heads.keyboard.press(key)
        expect(heads.locator(".hu-reading strong")).to_contain_text(f"{token} → ")
    heads.keyboard.press("Enter")
    assert state(heads, "tokens") == "q4"
    heads.keyboard.press("ArrowRight")
    assert quantities(heads) == pytest.approx([weights[4, 4]], abs=EXACT)
    heads.keyboard.press("End")
    reads(heads, "attends to </s>")
    assert quantities(heads) == pytest.approx([weights[4, 6]], abs=EXACT)
    heads.keyboard.press("ArrowLeft")
    heads.keyboard.press("Space")
    assert state(heads, "tokens") == "q4,q5"
    heads.keyboard.press("Space")
    heads.keyboard.press("Escape")
    assert state(heads, "tokens") == ""
    reads(heads, "Point at a token")
    chip = heads.get_by_role("button", name="layer 1, head 3")
    chip.focus()
    heads.keyboard.press("Space")
    assert state(heads, "heads") == "1.2,1.3"
    expect(chip).to_be_focused()


# How many pixels of the lines at rest have just this colour, in each row of pixels.
INK = """(ink) => {
  const canvas = document.querySelector(".hu-lines");
  const copy = new OffscreenCanvas(canvas.width, canvas.height);
  const pen = copy.getContext("2d", { willReadFrequently: true });
  pen.drawImage(canvas, 0, 0);
  const [r, g, b] = [1, 3, 5].map((at) => parseInt(ink.slice(at, at + 2), 16));
  const { data } = pen.getImageData(0, 0, canvas.width, canvas.height);
  return Array.from({ length: canvas.height }, (_, y) => {
    let count = 0;
    for (let i = 4 * y * canvas.width; i < 4 * (y + 1) * canvas.width; i += 4) {
      count += data[i] === r && data[i + 1] === g && data[i + 2] === b && data[i + 3] === 255;
    }
    return count;
  });
}"""


def inks(page: Page) -> list[bool]:
    """For each colour of the heads, whether it is drawn."""
    series = page.evaluate("view.ctx.look.series")
    return [sum(page.evaluate(INK, ink)) > 50 for ink in series]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_heads_that_are_on_are_drawn_each_in_its_colour(
    new_page: NewPage, tmp_path: Path, scheme: str
) -> None:
    # Every head looks at one token, each at another: lines of weight 1, which are opaque.
    hot = np.zeros((3, 4, 6, 7), np.float32)
    for head in range(4):
        hot[:, head, np.arange(6), head] = 1
    page = opened(new_page(scheme=scheme), tmp_path, made(SRC, TGT, cross=hot))
    chip = page.get_by_role("button", name="layer 1, head", exact=False)
    expect(chip).to_have_count(4)
    assert inks(page) == [True] + 7 * [False]
    chip.nth(0).click()
    assert state(page, "heads") == "1.2,1.0"
    assert inks(page) == 2 * [True] + 6 * [False]
    stroke = page.evaluate("view.ctx.look.series[1]")
    expect(chip.nth(0).locator("line")).to_have_attribute("stroke", stroke)
    option(page, "Heads of layer").select_option("2")
    assert state(page, "heads") == "1.2,1.0"
    expect(page.get_by_role("button", name="layer 1, head 0")).to_have_attribute(
        "aria-pressed", "true"
    )
    page.get_by_role("button", name="layer 2, head 3").click()
    assert state(page, "heads") == "1.2,1.0,2.3"
    expect(page.locator(".hu-title")).to_have_text("3 heads: L1·H2, L1·H0, L2·H3")
    assert inks(page) == 3 * [True] + 5 * [False]
    page.get_by_role("button", name="layer 1, head 2").click()
    assert state(page, "heads") == "1.0,2.3"
    page.get_by_role("radio", name="layer 0, head 1").click()  # in the mosaic: this one alone
    assert (state(page, "heads"), state(page, "layer"), state(page, "head")) == ("", 0, 1)
    expect(page.locator(".hu-title")).to_have_text("Layer 0, head 1")


def test_with_no_head_on_the_view_says_what_to_do(heads: Page) -> None:
    heads.get_by_role("button", name="layer 1, head 2").click()
    assert state(heads, "heads") == "none"
    expect(heads.locator(".hu-empty")).to_contain_text("No head is on. Choose one")
    expect(heads.locator(".hu-canvas")).to_be_hidden()
    heads.get_by_role("button", name="layer 1, head 3").click()
    assert state(heads, "heads") == "1.3"
    expect(heads.locator(".hu-canvas")).to_be_visible()
    heads.get_by_role("button", name="only H2").click()
    assert state(heads, "heads") == ""


def test_beyond_the_colours_lines_are_dashed(page: Page, tmp_path: Path) -> None:
    hot = np.zeros((1, 10, 6, 7), np.float32)
    hot[:, :, 1:5, 6] = 1e-3
    hot[0, 0, 0, 0] = hot[0, 8, 5, 5] = 1  # level lines, at the top and further down
    names = ",".join(f"0.{head}" for head in range(9))
    opened(page, tmp_path, made(SRC, TGT, layers=1, heads=10, cross=hot), layer=0, heads=names)
    rows = page.evaluate(INK, page.evaluate("view.ctx.look.series[0]"))
    middle = len(rows) // 2
    solid, dashed = max(rows[:middle]), max(rows[middle:])
    assert 0.4 * solid < dashed < 0.8 * solid
    expect(page.get_by_role("button", name="layer 0, head 8, dashed")).to_be_visible()
    assert (
        page.locator(".hu-headchip[data-head='0.0'] line").get_attribute("stroke-dasharray") == ""
    )
    expect(page.locator(".hu-legend")).to_contain_text("After 8 heads the colours begin again")


def test_words_add_up_their_pieces_and_pins_outlast_them(heads: Page, trace: Traced) -> None:
    point(heads, "q", 2, click=True)  # it writes "son", of the word "maison"
    exactly = heads.get_by_role("button", name="Exact", exact=True)
    exactly.click()
    reads(heads, "maison attends most to")
    weights = trace.weights("cross", 1)[2]
    from_word = weights[1:3].mean(axis=0)  # written by rows 1 and 2
    to_words = [from_word[0], from_word[1] + from_word[2], *from_word[3:]]
    for column, expected in enumerate(to_words):
        point(heads, "k", column, most=6)
        assert quantities(heads) == pytest.approx([expected], abs=EXACT)
    reads(heads, "attends to end")
    option(heads, "Start and end").select_option("hidden")
    option(heads, "Rows").select_option("1")
    point(heads, "k", 1, most=5)
    reads(heads, "maison attends to house")
    shares = np.array(to_words[:-1]) / sum(to_words[:-1])
    assert quantities(heads) == pytest.approx([shares[1]], abs=EXACT)
    exactly.click()
    reads(heads, "▁mai → son attends most to")
    assert state(heads, "tokens") == "q2"


def test_what_a_decoder_may_not_see_has_no_line(heads: Page) -> None:
    heads.get_by_role("button", name="Decoder, masked").click()
    point(heads, "q", 1, most=6, click=True)
    point(heads, "k", 1, most=6)
    assert len(quantities(heads)) == 1
    point(heads, "k", 2, most=6)
    reads(heads, "masked: may not see the future")
    assert quantities(heads) == []
    heads.locator(".hu-canvas").press("Escape")
    heads.get_by_text("As a table").click()
    expect(heads.locator(".hu-sheet tbody tr")).to_have_count(6 * 7 // 2)


def taken(page: Page, what: str) -> str:
    page.get_by_role("button", name="Take it with you").click()
    with page.expect_download() as download:
        page.get_by_role("button", name=what).click()
    return Path(download.value.path()).read_text("utf-8-sig")


def test_what_is_taken_away_is_what_is_drawn(page: Page, tmp_path: Path) -> None:
    trace = made(HOSTILE, HOSTILE)
    opened(page, tmp_path, trace, kind="encoder", heads="1.2,0.3")
    rows = list(csv.DictReader(io.StringIO(taken(page, "Table (CSV)"), newline="")))
    assert len(rows) == 2 * 49
    for number, (layer, head) in enumerate([(1, 2), (0, 3)]):
        of = rows[49 * number : 49 * (number + 1)]
        assert {(row["layer"], row["head"]) for row in of} == {(str(layer), str(head))}
        weights = [float(row["weight"]) for row in of]
        expected = trace.weights("encoder", layer)[head].ravel()
        assert weights == pytest.approx(expected, abs=EXACT)
    assert [row["key"].lstrip("'") for row in rows[:7]] == HOSTILE
    svg = taken(page, "Picture for a paper")
    curves = re.findall(r'<path d="M[^"]*C[^"]*"[^>]*stroke="(#\w+)"', svg)
    drawn = sum((trace.weights("encoder", la)[he] > 1e-8).sum() for la, he in [(1, 2), (0, 3)])
    assert abs(len(curves) - drawn) <= 4  # the least weights are packed to 0
    assert len(set(curves)) == 2
    assert svg.count("&lt;b&gt;bold&lt;/b&gt;</text>") == 2
    assert svg.count(">the</text>") == 4
    page.locator(".hu-canvas").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert len(list(csv.reader(io.StringIO(taken(page, "Table (CSV)"), newline="")))) == 1 + 2 * 7


def test_tokens_are_text_and_repeated_ones_stay_apart(page: Page, tmp_path: Path) -> None:
    trace = made(HOSTILE, HOSTILE)
    opened(page, tmp_path, trace, kind="encoder")
    for row, token in enumerate(HOSTILE):
        point(page, "q", row)
        expect(page.locator(".hu-reading strong")).to_have_text(token)
        greatest = trace.weights("encoder", 1)[2, row].max()
        assert quantities(page)[0] == pytest.approx(greatest, abs=EXACT)
    assert page.locator(".hu script, .hu b").count() == 0


def test_of_a_long_sentence_the_strongest_lines_are_drawn_and_all_can_be_read(
    page: Page, tmp_path: Path
) -> None:
    n = 200
    weights = np.random.default_rng(0).dirichlet(np.full(n, 2), (1, 2, n)).astype(np.float32)
    tokens = [f"▁w{i}" for i in range(n)]
    opened(
        page,
        tmp_path,
        made(tokens, tokens, layers=1, heads=2, kinds=["encoder"], encoder=weights),
        kind="encoder",
        layer=0,
        head=1,
    )
    legend = page.locator(".hu-legend")
    expect(legend).to_contain_text(f"{n * n - 4000:,} weaker lines are not drawn")
    told = re.search(r"weights up to ([\d.]+)\.", legend.inner_text())
    assert told
    left = np.sort(weights[0, 1].ravel())[-4001]
    assert float(told[1]) == pytest.approx(left, rel=0.06)
    for row in (0, 120, n - 1):
        point(page, "q", row, most=n)
        reads(page, f"▁w{row} attends most to", f"▁w{weights[0, 1, row].argmax()}")
        assert quantities(page) == pytest.approx(np.sort(weights[0, 1, row])[:-4:-1], abs=EXACT)


@pytest.mark.parametrize(
    "start", [{}, {"heads": "1.0,1.1,1.2,1.3,2.0", "tokens": "q1,k2", "size": "large"}]
)
def test_on_a_phone_nothing_is_wider_than_the_screen(
    new_page: NewPage, tmp_path: Path, trace: Traced, start: dict[str, str]
) -> None:
    page = opened(new_page(390, "dark"), tmp_path, trace, **start)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    top = "scrollY + document.querySelector('.hu-canvas').getBoundingClientRect().y"
    before = page.evaluate(top)
    page.locator(".hu-canvas").focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowRight", "End"):
        page.keyboard.press(key)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        # What is read out takes no more room: the picture would move away from the pointer.
        assert page.evaluate(top) == pytest.approx(before, abs=1)
