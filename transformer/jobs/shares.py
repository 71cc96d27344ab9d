"""Fair-share quotas of visitors and addresses, the order of the queue, and waiting times.

A visitor is identified by a cookie, which can be deleted; an address is harder to change, but a
class may share one. So a visitor's quota is small, an address gets at most half, and the first
request of an address is accepted even if the capacity is used up.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeVar

Item = TypeVar("Item")


class Requester(NamedTuple):
    """A visitor's id and network address; "" for an unknown address, such as this machine's own."""

    visitor: str
    address: str = ""

    @property
    def group(self) -> str:
        """The group whose quota counts: the address, or the visitor if it is unknown."""
        return self.address or f"visitor {self.visitor}"


def address_quota(total: int) -> int:
    """Return the quota of one address of `total`."""
    return max(1, total // 2)


def exceeded_quota(
    holders: Sequence[Requester], requester: Requester, total: int, count: int = 1
) -> str:
    """Return "" if `count` more fit, "all" if the total capacity is used up, "address" if the quota
    of the address is.

    Args:
        holders: the requester of each existing item.
        total: the total capacity; first requests of new addresses may double it.
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
    """Return the waiting items, given in the order of submission, with the next one first.

    Each address's first item comes before any second one, counting running items; within an
    address, each visitor's first before any second one. A visitor with an unknown address counts as
    one address. Ties are first come, first served. Nobody waits forever: once a visitor's first
    item has ended, the next counts as a first, before all that were submitted later.
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
    return [item for _, item in sorted(keyed, key=lambda pair: pair[0])]  # the sort is stable


def seconds_until_turn(
    remaining: Sequence[float | None], ahead: Sequence[float | None], workers: int
) -> float | None:
    """Return the seconds until a worker is free for the run after `ahead`; None if unknown.

    Args:
        remaining: remaining seconds of each running run.
        ahead: seconds that each queued run ahead will take, the next first.
        workers: number of workers, each with one run at a time.
    """
    if any(seconds is None for seconds in (*remaining, *ahead)):
        return None
    free_at = sorted(seconds or 0.0 for seconds in remaining)
    free_at = [0.0] * (workers - len(free_at)) + free_at[-workers:]
    heapq.heapify(free_at)
    for seconds in ahead:
        heapq.heapreplace(free_at, free_at[0] + (seconds or 0.0))
    return free_at[0]
