"""Symmetrisation: one word alignment from two, one in each direction.

An aligner that gives each target word one source word cannot link a target word to two source
words; in the other direction it cannot link a source word to two target words. The heuristics start
from the links on which both directions agree and add links of either (Och and Ney 2003; Koehn, Och
and Marcu 2003):

    symmetrize({(0, 0), (1, 1), (1, 2)}, {(0, 0), (2, 2)}, "grow-diag-final-and")

The order in which links are tried is that of `symal` of the Moses toolkit: target word by target
word, and for each link its neighbours.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, get_args

from transformer.analysis.corpora.gold import Link
from transformer.config import did_you_mean

Symmetrization = Literal[
    "intersection", "union", "grow-diag", "grow-diag-final", "grow-diag-final-and"
]
_NEIGHBOURS = ((0, -1), (-1, 0), (0, 1), (1, 0), (-1, -1), (1, -1), (-1, 1), (1, 1))


def symmetrize(
    forward: Iterable[Link],
    backward: Iterable[Link],
    method: Symmetrization = "grow-diag-final-and",
) -> set[Link]:
    """Combine two alignments of the same sentence pair.

    Args:
        forward: links (source word, target word) of the one direction, from 0.
        backward: those of the other direction, in the same order (source word, target word).
        method: "intersection" keeps the links of both, "union" those of either. "grow-diag" starts
            from the intersection and adds, while there are any, links of the union that are next
            to a link, diagonals included, and have a word without a link. "grow-diag-final" then
            adds the other links of `forward`, then of `backward`, that have a word without a link,
            "grow-diag-final-and" only links of two words without links.

    Raises:
        ValueError: for an unknown method.
    """
    if method not in get_args(Symmetrization):
        methods = ", ".join(map(repr, get_args(Symmetrization)))
        hint = did_you_mean(method, get_args(Symmetrization))
        raise ValueError(f"method must be one of {methods}, not {method!r}{hint}")
    forward_links, backward_links = set(forward), set(backward)
    if method == "union":
        return forward_links | backward_links
    links = forward_links & backward_links
    if method == "intersection":
        return links
    _grow(links, forward_links | backward_links)
    for direction_links in (forward_links, backward_links) if "final" in method else ():
        for link in sorted(direction_links - links, key=_by_target):
            covered = _covered(links, link)
            if not any(covered) or ("and" not in method and not all(covered)):
                links.add(link)
    return links


def _grow(links: set[Link], union: set[Link]) -> None:
    """Add links of the union to `links`, as "grow-diag" does. An added link is examined in the same
    round if it comes later in the order."""
    sources, targets = {source for source, _ in links}, {target for _, target in links}
    n_links = -1
    while n_links < len(links):
        n_links = len(links)
        for source, target in sorted(union, key=_by_target):
            if (source, target) not in links:
                continue
            for d_source, d_target in _NEIGHBOURS:
                neighbour = source + d_source, target + d_target
                if neighbour in union and not (neighbour[0] in sources and neighbour[1] in targets):
                    links.add(neighbour)
                    sources.add(neighbour[0])
                    targets.add(neighbour[1])


def _by_target(link: Link) -> tuple[int, int]:
    return link[1], link[0]


def _covered(links: set[Link], link: Link) -> tuple[bool, bool]:
    """Return whether the source word and the target word of `link` each have a link already."""
    source, target = link
    return any(s == source for s, _ in links), any(t == target for _, t in links)
