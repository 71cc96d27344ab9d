"""Slots go to waiting visitors in turn, at most one to each."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from transformer.api import fair_slots
from transformer.api.fair_slots import MAX_SHARES, FairSlots


def start(slots: FairSlots, visitor: str, work: Callable[[], object]) -> threading.Thread:
    def compute() -> None:
        with slots.slot(visitor):
            work()

    thread = threading.Thread(target=compute, daemon=True)
    thread.start()
    return thread


def wait_for_waiting(slots: FairSlots, count: int) -> None:
    deadline = time.monotonic() + 30
    while len(slots._waiting) != count:
        assert time.monotonic() < deadline
        time.sleep(0.001)


def test_waiting_visitors_take_turns() -> None:
    slots, may_end, order = FairSlots(1), threading.Event(), []
    threads = [start(slots, "a", may_end.wait)]
    for count, visitor in enumerate("aaabcbc", 1):
        wait_for_waiting(slots, count - 1)
        threads.append(start(slots, visitor, lambda visitor=visitor: order.append(visitor)))  # type: ignore[misc]
    wait_for_waiting(slots, 7)
    may_end.set()
    for thread in threads:
        thread.join(30)
    assert "".join(order) == "bcabcaa"


@pytest.mark.parametrize("cookies", [1, 3, 6, 30])
def test_many_cookies_of_one_address_count_as_a_few_visitors(cookies: int) -> None:
    """Each waits for as many turns as fit, and another visitor has every second to fourth."""
    slots, may_end, order = FairSlots(1, lambda v: v[:1]), threading.Event(), []
    visitors = [f"a{number}" for number in range(cookies)]
    threads = [start(slots, "x", may_end.wait)]
    waiting = ["b", "b", *(visitor for visitor in visitors for _ in range(8))]
    for count, visitor in enumerate(waiting, 1):
        threads.append(start(slots, visitor, lambda visitor=visitor: order.append(visitor)))  # type: ignore[misc]
        wait_for_waiting(slots, count)
    may_end.set()
    for thread in threads:
        thread.join(30)
    first, second = (position for position, visitor in enumerate(order) if visitor == "b")
    assert first <= 1
    assert second - first == 1 + min(cookies, MAX_SHARES)
    turns = [order.count(visitor) for visitor in visitors]
    assert turns == [8] * cookies
    early = order[: 2 * cookies]  # nobody of the address waits for all turns of another
    assert max(early.count(visitor) for visitor in visitors) <= 3


def test_a_visitor_has_one_slot_and_leaves_the_others_free() -> None:
    slots, may_end = FairSlots(2), threading.Event()
    threads = [start(slots, "a", may_end.wait) for _ in range(3)]
    wait_for_waiting(slots, 2)
    start(slots, "b", lambda: None).join(30)
    assert len(slots._waiting) == 2
    may_end.set()
    for thread in threads:
        thread.join(30)
    assert not slots._last_turns
    assert slots._free == 2


def test_a_long_computation_lets_others_compute(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fair_slots, "TURN_SECONDS", 0)
    slots, events = FairSlots(1), []
    with slots.slot("a"):
        slots.give_way()  # nobody waits
        other = start(slots, "b", lambda: events.append("b"))
        wait_for_waiting(slots, 1)
        slots.give_way()
        events.append("a")
        own = start(slots, "a", lambda: events.append("a later"))
        wait_for_waiting(slots, 1)
        slots.give_way()
        events.append("a")
    own.join(30)
    other.join(30)
    slots.give_way()  # without a slot
    assert events == ["b", "a", "a", "a later"]


def test_an_error_frees_the_slot() -> None:
    slots = FairSlots(1)
    with pytest.raises(ValueError, match="wrong"), slots.slot("a"):
        raise ValueError("wrong")
    with slots.slot("b"):
        pass
