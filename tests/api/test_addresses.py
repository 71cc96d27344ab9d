"""Which address a request counts for, also behind proxies and with forged headers."""

from __future__ import annotations

import pytest

from transformer.api.addresses import (
    MAX_VISITORS,
    UNKNOWN_CLIENT,
    AddressBook,
    client_address,
    network,
)


@pytest.mark.parametrize(
    ("proxies", "peer", "forwarded", "expected"),
    [
        (0, "192.0.2.7", [], "192.0.2.7"),
        (0, "192.0.2.7", ["203.0.113.9"], "192.0.2.7"),
        # uvicorn has taken the address from the header of a program on this machine
        (0, "203.0.113.9", ["203.0.113.9"], UNKNOWN_CLIENT),
        (1, "127.0.0.1", ["203.0.113.9"], "203.0.113.9"),
        (1, "127.0.0.1", ["10.0.0.1, 203.0.113.9"], "203.0.113.9"),  # 10.0.0.1 is forged
        (1, "127.0.0.1", ["10.0.0.1", "203.0.113.9"], "203.0.113.9"),
        (2, "127.0.0.1", ["10.0.0.1, 203.0.113.9, 192.0.2.80"], "203.0.113.9"),
        (2, "192.0.2.80", ["203.0.113.9"], "192.0.2.80"),
        (1, "192.0.2.7", [], "192.0.2.7"),
    ],
)
def test_only_known_proxies_name_the_client(
    proxies: int, peer: str, forwarded: list[str], expected: str
) -> None:
    headers = [(b"x-forwarded-for", value.encode()) for value in forwarded]
    scope = {"type": "http", "client": (peer, 1234), "headers": headers}
    assert client_address(scope, proxies) == expected


def test_a_household_is_one_address() -> None:
    assert network("2001:db8:1:2:3:4:5:6") == network("2001:db8:1:2::9") == "2001:db8:1:2::"
    assert network("2001:db8:1:3::9") != network("2001:db8:1:2::9")
    assert network("::ffff:192.0.2.7") == network("192.0.2.7") == "192.0.2.7"
    assert network("::1") == "::1"
    assert network("no address") == network("") == ""


def test_the_book_forgets_the_oldest_visitors() -> None:
    book = AddressBook()
    for number in range(MAX_VISITORS + 1):
        book.remember(f"visitor {number}", f"192.0.2.{number % 200}")
    assert book.network_of("visitor 1") == "192.0.2.1"
    assert book.network_of("visitor 0") == "visitor 0"  # unknown: a visitor of its own
