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

Item = TypeVar("Item")


class Requester(NamedTuple):
    """Who asks: the visitor's id, and where from; "" for an address that is not known, such as
    this machine's own or a program's."""

    visitor: str
    address: str = ""

    @property
    def group(self) -> str:
        """Whose share it is of: an address's, or where that is not known a visitor's."""
        return self.address or f"visitor {self.visitor}"


def address_quota(total: int) -> int:
    """What one address may have of `most`."""
    return max(1, total // 2)


def exceeded_quota(
    holders: Sequence[Requester], requester: Requester, total: int, count: int = 1
) -> str:
    """ "" if there is room, "all" if all is taken, "address" if the address has its share.

    Args:
        taken: who has what there is, one for each.
        most: of all together; newcomers may bring it to twice as much.
    """
    same_address = sum(
        bool(requester.address) and holder.address == requester.address for holder in holders
    )
    if requester.address and same_address + count > address_quota(total):
        return "address"
    newcomer = (
        bool(requester.address) and not same_address and count == 1 and len(holders) < 2 * total
    )
    if len(holders) + count > total and not newcomer:
        return "all"
    return ""


def fair_order(
    waiting: Iterable[Item], running: Iterable[Item], requester: Callable[[Item], Requester]
) -> list[Item]:
    """Those that wait, the next first, given in the order of coming.

    Every address's first comes before anyone's second, counting what runs, and within an address
    every visitor's first before anyone's second; an unknown address is that of its visitor. Among
    equals it is first come, first served. Nobody waits for ever: once a visitor's first has ended,
    their next one counts as a first, and stands before all that came later.
    """
    active = [requester(item) for item in running]
    order = _round_robin(
        waiting, [item.visitor for item in active], lambda item: requester(item).visitor
    )
    return _round_robin(order, [item.group for item in active], lambda item: requester(item).group)


def _round_robin(
    waiting: Iterable[Item], running: Iterable[str], owner: Callable[[Item], str]
) -> list[Item]:
    counts, keyed = Counter(running), []
    for item in waiting:
        keyed.append((counts[owner(item)], item))
        counts[owner(item)] += 1
    return [item for _, item in sorted(keyed, key=lambda pair: pair[0])]  # equals stay in order


def seconds_until_turn(
    remaining: Sequence[float | None], ahead: Sequence[float | None], workers: int
) -> float | None:
    """Seconds until a worker is free for what stands behind `before`; None if one of them has a
    time that is not known.

    Args:
        left: seconds that each running run still takes.
        before: seconds that each waiting run before it will take, the next first.
        workers: that take runs, each one at a time.
    """
    if any(seconds is None for seconds in (*remaining, *ahead)):
        return None
    free_at = sorted(seconds or 0.0 for seconds in remaining)
    free_at = [0.0] * (workers - len(free_at)) + free_at[-workers:]
    heapq.heapify(free_at)
    for seconds in ahead:
        heapq.heapreplace(free_at, free_at[0] + (seconds or 0.0))
    return free_at[0]
