"""One row of the table: the claim, what came of it here, in figures, and when over what."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from transformer.analysis.findings import Published
from transformer.analysis.findings.beside_checkpoint import KeptFinding
from transformer.figures.interval import text
from transformer.jobs import Standing
from transformer.ui import frame, state
from transformer.ui.findings import card
from transformer.ui.kit import verdicts
from transformer.ui.kit.computed import computing
from transformer.ui.models import Model

COLUMNS = {"What was claimed": 6, "Here": 2, "Measured": 4, "When, and over what": 3}


def head() -> None:
    """What the columns hold; on a phone they stand one below the other, and need no names."""
    with st.container(key="findings-head"):
        for name, column in zip(
            COLUMNS, st.columns(list(COLUMNS.values()), gap="medium"), strict=True
        ):
            column.markdown(f"**{name}**")


def show(model: Model, published: Published, now: Standing, before: KeptFinding | None) -> None:
    """The row; its claim opens the card, or closes it.

    Args:
        before: what the checkpoint brings; shown while nothing was measured on this server.
    """
    last = computing().last(card.subject(model, published.name))
    found = last.result if last else None
    if now.status == "done" and not (last and last.key == now.key):
        found, last = computing().result(now.key), None  # kept from before anything was noted
    brought = before if found is None else None
    if brought:
        found = brought.result
    with st.container(key=f"finding-{published.name}"):
        claim, verdict, figures, when = st.columns(list(COLUMNS.values()), gap="medium")
        with claim:
            _claim(published)
        if now.live:
            verdict.caption("in line …" if now.status == "waiting" else "being measured …")
        elif now.status == "failed":
            verdict.caption("could not be measured: open it for the reason")
        elif found is None:
            verdict.caption("not yet run here")
        if found is None:
            return
        if not now.live and now.status != "failed":
            with verdict:
                verdicts.badge(found["verdict"])
        figures.markdown(_figures(found))
        noted = last or brought
        over = card.measured_over(found, noted.when if noted else 0)
        when.caption(f"Came with the app: {over}" if brought else over)


def _claim(published: Published) -> None:
    opened = state.here().finding == published.name
    st.button(
        frame.plain(published.claim),
        key=f"open-{published.name}",
        type="tertiary",
        icon=":material/expand_more:" if opened else ":material/chevron_right:",
        on_click=state.change,
        kwargs={"finding": "" if opened else published.name},
    )
    st.caption(published.source)


def _figures(found: Mapping[str, Any]) -> str:
    """The effect with its interval, and what the claim needs; or why there is none."""
    if found["value"] is None:
        return frame.plain(found["reason"])
    unit = found["unit"] if found["unit"].startswith("%") else f" {found['unit']}"
    needs = "<" if found["needs"] == "below" else ">"
    return (
        f"**{text(found['value'])}{frame.plain(unit)}** "
        f"({text(found['low'])} to {text(found['high'])}); the claim needs "
        f"{frame.plain(needs)} {text(found['floor'])}. {frame.plain(_capital(found['effect']))}."
    )


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]
