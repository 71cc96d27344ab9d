"""Clocks that turn: the pairs of the sinusoids as hands, over the words of a sentence, as HTML.

Each pair (sine, cosine) of section 3.5 is a hand that turns by 2π/wavelength from place to place.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

SECONDS, LONGEST = 0.7, 5.0
"""Seconds a place, and of the whole: nothing moves longer than five (WCAG 2.2.2)."""
STYLE = """
.hu-clocks { overflow-x: auto; }
.hu-clocks table { border-collapse: collapse; }
.hu-clocks :is(th, td) { padding: 0.15rem 0.6rem 0.15rem 0; text-align: left; font-weight: 400; }
.hu-clocks thead th { font-size: 0.85rem; opacity: 0.8; }
.hu-clock { position: relative; display: block; width: 2.4rem; height: 2.4rem; }
.hu-clock { border: 1.5px solid; border-radius: 50%; }
.hu-clocks .large .hu-clock { width: 4.2rem; height: 4.2rem; margin-block: 0.3rem; }
.hu-clock i { position: absolute; left: calc(50% - 1.5px); bottom: 50%; width: 3px; height: 44%; }
.hu-clock i { border-radius: 2px; background: currentColor; }
.hu-clock i { transform: rotate(var(--end)); transform-origin: 50% 100%; }
.hu-clocks-word { display: inline-block; padding: 0 0.4rem; border-radius: 0.3rem; }
@media (prefers-reduced-motion: no-preference) {
  .hu-clocks .large i { animation: hu-turn var(--all) steps(var(--places), jump-end) 1; }
  .hu-clocks-word { animation: hu-here var(--one) linear var(--wait) 1; }
}
@keyframes hu-turn { from { transform: rotate(0deg); } to { transform: rotate(var(--end)); } }
@keyframes hu-here { from, to { background: light-dark(#bcdcf2, #134b77); } }
"""


def turning(words: Sequence[str], wavelengths: Sequence[float], turn: int = 0) -> str:
    """A row of large clocks that go through the words once, and below it a row for each word.

    Without motion, for who wants none, the large ones stand at the last place.

    Args:
        words: the tokens of a sentence, the first at place 0.
        wavelengths: in places, of the pairs to be shown, the fastest first.
        turn: another number shows the same anew.

    Raises:
        ValueError: without words.
    """
    if not words:
        raise ValueError("Clocks turn over words, and there are none.")
    last = len(words) - 1
    whole = min(LONGEST, SECONDS * len(words))
    one = whole / len(words)
    spoken = "".join(
        f'<span class="hu-clocks-word" style="--one:{one:.3f}s;--wait:{at * one:.3f}s">'
        f"{escape(word)}</span>"
        for at, word in enumerate(words)
    )
    large = "".join(
        f'<td style="--all:{last * one:.3f}s;--places:{max(last, 1)}">'
        f"{_clock(angle(last, length))}</td>"
        for length in wavelengths
    )
    heads = "".join(f'<th scope="col">once in {_places(length)}</th>' for length in wavelengths)
    rows = "".join(
        f'<tr><th scope="row">{at} <b>{escape(word)}</b></th>'
        + "".join(f"<td>{_clock(angle(at, length))}</td>" for length in wavelengths)
        + "</tr>"
        for at, word in enumerate(words)
    )
    return (
        f'<div class="hu-clocks" data-turn="{turn}" tabindex="0" role="region" '
        f'aria-label="Clocks over the words"><p>{spoken}</p>'
        f"<table><thead><tr><th></th>{heads}</tr></thead>"
        f'<tbody><tr class="large" aria-hidden="true"><th scope="row"></th>{large}</tr>{rows}'
        "</tbody></table></div>"
    )


def angle(place: int, wavelength: float) -> float:
    """Degrees from the top, clockwise, of a hand at this place: the cosine stands upright and the
    sine goes to the right, so that at place 0 every hand points up."""
    return 360 * place / wavelength


def _clock(degrees: float) -> str:
    return f'<span class="hu-clock"><i style="--end:{degrees:.4f}deg"></i></span>'


def _places(length: float) -> str:
    return f"{length:,.1f} places" if length < 100 else f"{length:,.0f} places"
