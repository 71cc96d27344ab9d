"""Visitors' uploads: corpora, kept for all tabs of a visitor, and files decoded as text."""

from __future__ import annotations

import io
from collections import OrderedDict
from threading import Lock

from transformer.analysis.corpora import Corpus
from transformer.jobs.shares import address_quota
from transformer.text.corpus import decoded_lines
from transformer.ui.services import shared

MAX_UPLOADS = 64
"""Uploads that the server keeps, one per visitor; the least recently used are removed first. One
network address may have half of them."""


class Uploads:
    """Uploaded corpora by visitor, available in all tabs and after a reload."""

    def __init__(self, max_uploads: int = MAX_UPLOADS) -> None:
        self._max_uploads, self._lock = max_uploads, Lock()
        self._corpora: OrderedDict[str, tuple[Corpus, str]] = OrderedDict()

    def get(self, owner: str) -> Corpus | None:
        with self._lock:
            if owner in self._corpora:
                self._corpora.move_to_end(owner)
            return self._corpora.get(owner, (None, ""))[0]

    def put(self, owner: str, corpus: Corpus, address: str = "") -> None:
        """Store a corpus. At the limit of `address` (the owner's network address) the oldest upload
        from that address is removed, so new cookies cannot displace other visitors' uploads."""
        with self._lock:
            self._corpora[owner] = corpus, address
            self._corpora.move_to_end(owner)
            same_address = [
                key for key, (_, network) in self._corpora.items() if address and network == address
            ]
            if len(same_address) > address_quota(self._max_uploads):
                del self._corpora[same_address[0]]
            while len(self._corpora) > self._max_uploads:
                self._corpora.popitem(last=False)


def uploads() -> Uploads:
    """Return the uploads of this server."""
    return shared.shared_service(Uploads)


def decode_text(content: bytes, name: str) -> str:
    """Return the text of a file. Raises ValueError if it is not UTF-8."""
    return "\n".join(decoded_lines(io.BytesIO(content), name))
