"""Fair-share quotas of visitors and addresses, and the order of the queue.

A visitor is identified by a cookie, which can be deleted; an address is harder to change, but a
class may share one. So a visitor's quota is small, and an address gets at most half of the queue.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeVar

from transformer.jobs.errors import JobError

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


def check_quotas(
    holders: Sequence[Requester],
    requester: Requester,
    advice: str,
    **quotas: tuple[int, str],
) -> None:
    """Raise JobError if one more item exceeds a quota.

    Args:
        holders: the requester of each existing item.
        advice: what the requester can do, for the message.
        quotas: of the `visitor`, of the `address` and in `total`: the number, and what is used,
            with a placeholder for its number.
    """
    address = requester.address
    used = {
        "visitor": sum(holder.visitor == requester.visitor for holder in holders),
        "address": sum(holder.address == address != "" for holder in holders),
        "total": len(holders),
    }
    for name, (quota, usage) in quotas.items():
        if name == "address" and not address:
            continue
        if used[name] >= quota:
            usage = usage.format(f"{used[name]:,}")
            raise JobError(f"{usage} and this app allows {quota:,}: {advice}")


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
