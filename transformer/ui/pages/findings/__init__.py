"""The Findings page: an overview of all findings and the card of the open one."""

from __future__ import annotations

from dataclasses import dataclass

from transformer.analysis.findings import FINDINGS
from transformer.ui.address import View, field

OPEN_LABELS = {"": "None", **{name: finding.claim for name, finding in FINDINGS.items()}}


@dataclass(frozen=True)
class Findings(View):
    """Address fields of the page.

    Attributes:
        finding: the open finding, whose card is below its row; "" is none.
    """

    finding: str = field("", "Open", choices=OPEN_LABELS)
