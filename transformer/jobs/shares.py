"""How much of a common thing a visitor, and an address, may have, whose turn it is, and when.

A visitor is a cookie, and whoever wants a new one drops it; an address is harder to change, but a
class may share one. So a visitor's share is small, an address has at most half, and the first of an
address that has nothing yet is let in even where all is taken.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeVar

One = TypeVar("One")


class Who(NamedTuple):
    """Who asks: the visitor's id, and where from; "" for an address that is not known, such as
    this machine's own or a program's."""

    visitor: str
    address: str = ""

    @property
    def group(self) -> str:
        """Whose share it is of: an address's, or where that is not known a visitor's."""
        return self.address or f"visitor {self.visitor}"


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


def in_turn(waiting: Iterable[One], running: Iterable[One], who: Callable[[One], Who]) -> list[One]:
    """Those that wait, the next first, given in the order of coming.

    Every address's first comes before anyone's second, counting what runs, and within an address
    every visitor's first before anyone's second; an unknown address is that of its visitor. Among
    equals it is first come, first served. Nobody waits for ever: once a visitor's first has ended,
    their next one counts as a first, and stands before all that came later.
    """
    now = [who(one) for one in running]
    order = _firsts_first(waiting, [one.visitor for one in now], lambda one: who(one).visitor)
    return _firsts_first(order, [one.group for one in now], lambda one: who(one).group)


def _firsts_first(
    waiting: Iterable[One], running: Iterable[str], whose: Callable[[One], str]
) -> list[One]:
    before, keyed = Counter(running), []
    for one in waiting:
        keyed.append((before[whose(one)], one))
        before[whose(one)] += 1
    return [one for _, one in sorted(keyed, key=lambda pair: pair[0])]  # equals stay in order


def until_turn(
    left: Sequence[float | None], before: Sequence[float | None], workers: int
) -> float | None:
    """Seconds until a worker is free for what stands behind `before`; None if one of them has a
    time that is not known.

    Args:
        left: seconds that each running run still takes.
        before: seconds that each waiting run before it will take, the next first.
        workers: that take runs, each one at a time.
    """
    if any(seconds is None for seconds in (*left, *before)):
        return None
    free = sorted(seconds or 0.0 for seconds in left)
    free = [0.0] * (workers - len(free)) + free[-workers:]
    heapq.heapify(free)
    for seconds in before:
        heapq.heapreplace(free, free[0] + (seconds or 0.0))
    return free[0]
