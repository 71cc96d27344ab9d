"""The Findings page: an overview of all findings and the card of the open one."""

from __future__ import annotations

from dataclasses import dataclass

from transformer.analysis.findings import FINDINGS
from transformer.ui.address import View, field

OPEN = {"": "None", **{name: one.claim for name, one in FINDINGS.items()}}


@dataclass(frozen=True)
class Findings(View):
    """A table of all findings, of which one may be open.

    Attributes:
        finding: the one whose card stands below its row; "" is none.
    """

    finding: str = field("", "Open", choices=OPEN)
