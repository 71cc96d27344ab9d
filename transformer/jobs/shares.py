"""How much of a common thing one visitor, and one address, may have: a newcomer finds a place.

A visitor is a cookie, and whoever wants a new one drops it; an address is harder to change, but a
class may share one. So a visitor's share is small, an address has at most half, and the first of an
address that has nothing yet is let in even where all is taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Who(NamedTuple):
    """Who asks: the visitor's id, and where from; "" for an address that is not known, such as
    this machine's own or a program's."""

    visitor: str
    address: str = ""


def of_address(most: int) -> int:
    """What one address may have of `most`."""
    return max(1, most // 2)


def refused(taken: Sequence[Who], who: Who, most: int, wanted: int = 1) -> str:
    """ "" if there is room, "all" if all is taken, "address" if the address has its share.

    Args:
        taken: who has what there is, one for each.
        most: of all together; newcomers may bring it to twice as much.
    """
    beside = sum(bool(who.address) and one.address == who.address for one in taken)
    if who.address and beside + wanted > of_address(most):
        return "address"
    newcomer = bool(who.address) and not beside and wanted == 1 and len(taken) < 2 * most
    if len(taken) + wanted > most and not newcomer:
        return "all"
    return ""
