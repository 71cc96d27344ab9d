"""The answers to a measured question: votes of both rounds, their difference, and files of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pandas as pd

from transformer.analysis.evidence.bootstrap import Interval
from transformer.analysis.evidence.proportions import independent_difference, paired_difference

SeatAnswers = tuple[int | None, int | None]
"""The options that one seat chose before and after; None where it did not answer."""
MIN_PAIRED_SHARE = 0.5
"""Minimum share of the seats of the larger round that must have answered in both rounds for the
paired interval. With fewer, most of the class would be left out."""
PAIR_COLUMNS = ("right_both", "right_only_before", "right_only_after", "right_never")
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""First characters with which a spreadsheet may take a cell for a formula."""


@dataclass(frozen=True)
class RoundDifference:
    """The share of right answers of both rounds, and their difference.

    Attributes:
        before, after: number of right answers and of all answers that the difference is based on.
        interval: the share after minus the share before, with its 95% interval.
        paired: whether it is based on the seats that answered in both rounds; otherwise the rounds
            count as two independent groups.
    """

    before: tuple[int, int]
    after: tuple[int, int]
    interval: Interval
    paired: bool

    @property
    def method(self) -> str:
        return f"Newcombe 1998, {'paired' if self.paired else 'independent'}, method 10"


@dataclass(frozen=True)
class MeasuredResult:
    """All answers to one question of the teacher's or of a lesson, without any link to a student.

    Attributes:
        text, options, correct: as in `plan.MeasuredQuestion`; text is the title of a lesson.
        n_rounds: 1 if the question was asked only before, 2 if before and after.
        seats: the answers of each seat, in random order.
    """

    text: str
    options: tuple[str, ...]
    correct: int
    n_rounds: int
    seats: tuple[SeatAnswers, ...]

    @property
    def votes(self) -> tuple[tuple[int, ...], ...]:
        """Number of votes for each option, for each round."""
        return tuple(
            tuple(
                sum(seat[round_] == option for seat in self.seats)
                for option in range(len(self.options))
            )
            for round_ in range(self.n_rounds)
        )

    def right_pairs(self) -> tuple[int, int, int, int]:
        """Return how many of the seats that answered in both rounds were right both times, only
        before, only after, and never."""
        pairs = [
            (before == self.correct, after == self.correct)
            for before, after in self.seats
            if before is not None and after is not None
        ]
        both, lost, gained, neither = (
            pairs.count(pair)
            for pair in ((True, True), (True, False), (False, True), (False, False))
        )
        return both, lost, gained, neither

    def difference(self) -> RoundDifference | None:
        """Compare the shares of right answers; None unless both rounds have answers.

        The paired interval is used if at least half of the seats of the larger round answered in
        both. Which of the two is used does not depend on what they answered.
        """
        totals = [sum(votes) for votes in self.votes]
        if len(totals) < 2 or not min(totals):
            return None
        both, lost, gained, neither = self.right_pairs()
        n_pairs = both + lost + gained + neither
        if n_pairs >= MIN_PAIRED_SHARE * max(totals):
            return RoundDifference(
                (both + lost, n_pairs),
                (both + gained, n_pairs),
                paired_difference(both, lost, gained, neither),
                paired=True,
            )
        before, after = (
            (votes[self.correct], total) for votes, total in zip(self.votes, totals, strict=True)
        )
        return RoundDifference(before, after, independent_difference(before, after), paired=False)


def option_table(results: Iterable[MeasuredResult]) -> pd.DataFrame:
    """Return one row for each question, round and option.

    The last columns repeat the question's difference of the shares of right answers, in shares of
    1, and how many seats were right both times, only before, only after, and never; they are empty
    if it was asked only once.
    """
    rows: list[dict[str, Any]] = []
    for number, result in enumerate(results, 1):
        difference = result.difference()
        interval = difference.interval if difference else None
        pairs = dict(zip(PAIR_COLUMNS, result.right_pairs(), strict=True)) if difference else {}
        names = ("before", "after") if result.n_rounds > 1 else ("once",)
        for name, votes in zip(names, result.votes, strict=True):
            rows += [
                {
                    "question": number,
                    "text": spreadsheet_text(result.text),
                    "round": name,
                    "option": spreadsheet_text(option),
                    "is_right": index == result.correct,
                    "votes": votes[index],
                    "answers": sum(votes),
                    "share": votes[index] / sum(votes) if sum(votes) else None,
                    "difference": interval.value if interval else None,
                    "low_95": interval.low if interval else None,
                    "high_95": interval.high if interval else None,
                    "seats_before": difference.before[1] if difference else None,
                    "seats_after": difference.after[1] if difference else None,
                    "method": difference.method if difference else "",
                    **pairs,
                }
                for index, option in enumerate(result.options)
            ]
    table = pd.DataFrame(rows)
    counts = ("seats_before", "seats_after", *PAIR_COLUMNS)
    columns = [*dict.fromkeys([*table.columns, *counts])]
    return table.reindex(columns=columns).astype(dict.fromkeys(counts, "Int64"))


def spreadsheet_text(text: str) -> str:
    """Return text for a CSV cell that no spreadsheet takes for a formula.

    An apostrophe before such text is the usual protection (OWASP, "CSV injection").
    """
    return f"'{text}" if text.lstrip(" ").startswith(FORMULA_STARTS) else text
