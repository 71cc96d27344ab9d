"""Toy tasks: closed forms, distinct and reproducible examples, disjoint splits."""

from __future__ import annotations

import calendar
import hashlib
import re
from datetime import datetime
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transformer.text import TASKS, Example, Task, split
from transformer.training.data import task_sizes

NAMES = [name for name, task in TASKS.items() if task.parts is None]
FIXED_EXAMPLES = {
    "copy": "8c6792a1aa256298",
    "reverse": "04228b0d2f56f28b",
    "sort": "41e0f8388ae0204c",
    "cipher": "bc04ea88ba355dac",
    "induction": "d5259f1258dafce3",
    "dates": "beaf3c864b9ef203",
    "addition": "0329cfb31dc6b9f7",
    "brackets": "0aea48f471e640be",
    "modular": "061ae1cfcfbcbc92",
}
"""The beginning of the SHA-256 of 200 examples of each task, computed in November 2026: links, runs
and checkpoints contain the names, and depend on the examples of a seed."""
N_SEEDS = st.integers(0, 2**64)


Call = partial[list[Example]]


def up_to(name: str, n: int, seed: int, **options: int) -> list[Example]:
    """Return `n` examples, or all. Called within the test, as the shape checker uses random
    numbers."""
    return TASKS[name].pairs(min(n, TASKS[name].count(**options)), seed, **options)


@st.composite
def random_calls(draw: st.DrawFn, name: str) -> Call:
    """Strategy for a call with random options."""
    task = TASKS[name]
    options = {
        option: draw(st.integers(minimum, greatest))
        for option, (minimum, greatest, _) in task.options.items()
    }
    return partial(up_to, name, draw(st.integers(0, 60)), draw(N_SEEDS), **options)


def linked_symbols(example: Example) -> list[tuple[str, str]]:
    """Return the linked symbols; check that links are sorted, unique, in range and cover the
    target."""
    src, tgt = example.src.split(), example.tgt.split()
    assert example.alignment is not None
    assert list(example.alignment) == sorted(set(example.alignment))
    return [(src[i], tgt[j]) for i, j in example.alignment if i >= 0 and j >= 0]


def one_to_one(example: Example) -> bool:
    n = len(example.src.split())
    i, j = zip(*(example.alignment or ()), strict=True)
    return sorted(i) == sorted(j) == list(range(n)) and len(example.tgt.split()) == n


@pytest.mark.parametrize("name", FIXED_EXAMPLES)
def test_a_seed_gives_the_same_examples_for_ever(name: str) -> None:
    rows = [
        (example.src, example.tgt, example.alignment, example.dependencies)
        for example in TASKS[name].pairs(200, 0)
    ]
    assert hashlib.sha256(repr(rows).encode()).hexdigest()[:16] == FIXED_EXAMPLES[name]


def test_every_task_is_described() -> None:
    assert all(task.name == name for name, task in TASKS.items())
    for task in TASKS.values():
        assert set(task.meanings) == set(task.options)
        assert task.title
        assert task.look_for
        assert 2 <= len(re.findall(r"\.(?=\s|$)", task.explanation)) <= 4
        assert len(set(task.symbols)) == len(task.symbols)


@given(draw_examples=random_calls("copy"))
def test_copy_targets_equal_sources(draw_examples: Call) -> None:
    options, examples = draw_examples.keywords, draw_examples()
    for example in examples:
        assert example.tgt == example.src
        assert all(i == j for i, j in example.alignment or ())
        assert one_to_one(example)
        assert len(example.src.split()) <= options["longest"]
        assert set(example.src.split()) <= set("abcdefghijklmnopqrstuvwxyz"[: options["letters"]])


@given(draw_examples=random_calls("reverse"))
def test_reverse_targets_are_reversed(draw_examples: Call) -> None:
    for example in draw_examples():
        assert example.tgt == example.src[::-1]
        assert all(a == b for a, b in linked_symbols(example))
        assert all(i + j == len(example.src.split()) - 1 for i, j in example.alignment or ())
        assert one_to_one(example)


@given(draw_examples=random_calls("sort"))
def test_sort_targets_are_sorted_without_repeats(draw_examples: Call) -> None:
    for example in draw_examples():
        assert example.tgt.split() == sorted(set(example.src.split()))
        assert all(a == b for a, b in linked_symbols(example))
        assert one_to_one(example)


@given(key=st.integers(0, 9999), seeds=st.tuples(N_SEEDS, N_SEEDS))
def test_the_cipher_is_one_alphabet_for_every_seed(key: int, seeds: tuple[int, int]) -> None:
    table: dict[str, str] = {}
    for seed in seeds:
        for example in TASKS["cipher"].pairs(30, seed, key=key):
            assert one_to_one(example)
            assert all(i == j for i, j in example.alignment or ())
            for a, b in zip(example.src.split(), example.tgt.split(), strict=True):
                assert a != b
                assert table.setdefault(a, b) == b
    assert len(set(table.values())) == len(table)


@given(draw_examples=random_calls("dates"))
def test_dates_equal_the_calendars(draw_examples: Call) -> None:
    for example in draw_examples():
        text = re.sub(r"(?<=\d) (?=\d)", "", example.src)
        if "," not in text:
            day = datetime.strptime(text, "%d %B %Y")
        elif text[0].isdigit() or text.split()[0] in [m.lower() for m in calendar.month_name]:
            day = datetime.strptime(text, "%B %d , %Y")
        else:
            weekday, _, rest = text.partition(" , ")
            # The weekday is the true one.
            day = datetime.strptime(rest, "%d %B %Y")
            assert weekday == calendar.day_name[day.weekday()].lower()
        assert example.tgt.replace(" ", "") == day.date().isoformat()
        for a, b in linked_symbols(example):
            assert a == b or (a in map(str.lower, calendar.month_name) and b.isdigit())
        reached = {j for _, j in example.alignment or ()}
        # All but the two dashes and the 0 of a one-digit day is linked.
        missing = {4, 7} | ({8} if day.day < 10 else set())
        assert reached == set(range(10)) - missing


@given(draw_examples=random_calls("addition"))
def test_addition_targets_are_sums(draw_examples: Call) -> None:
    options, examples = draw_examples.keywords, draw_examples()
    for example in examples:
        parts = example.src.replace(" ", "").split("+")
        assert all(str(int(part)) == part and len(part) <= options["digits"] for part in parts)
        total = example.tgt.replace(" ", "")[:: -1 if options["least_first"] else 1]
        assert total == str(int(parts[0]) + int(parts[1]))
        assert example.alignment is None


@given(draw_examples=random_calls("brackets"))
def test_source_and_target_together_are_balanced(draw_examples: Call) -> None:
    for example in draw_examples():
        src, tgt = (text.replace(" ", "") for text in (example.src, example.tgt))
        assert tgt
        assert not re.search(r"[(\[{]", tgt)
        brackets = src + tgt
        while (shorter := re.sub(r"\(\)|\[\]|\{\}", "", brackets)) != brackets:
            brackets = shorter
        assert brackets == ""
        assert all(a + b in ("()", "[]", "{}") for a, b in linked_symbols(example))
        assert [j for _, j in sorted(example.alignment or ())] == list(range(len(tgt)))[::-1]


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=12)
@given(seed=N_SEEDS)
def test_examples_are_distinct_and_follow_the_seed(name: str, seed: int) -> None:
    task = TASKS[name]
    train, valid = split(task, 90, 30, seed)
    assert (len(train), len(valid)) == (90, 30)
    assert len({example.src for example in train + valid}) == 120
    assert train + valid == task.pairs(120, seed)
    assert train + valid != task.pairs(120, seed + 1)


SMALL = {
    "copy": {"longest": 3, "letters": 3},
    "reverse": {"longest": 2, "letters": 4},
    "sort": {"longest": 2},
    "cipher": {"longest": 3, "letters": 2},
    "dates": {"years": 1, "styles": 3},
    "addition": {"digits": 1},
    "brackets": {"longest": 5, "kinds": 2},
    "induction": {"max_letters": 3},
    "modular": {"modulus": 7},
}
# 3 + 9 + 27; 4 + 16; 26 + 26 × 25; 2 + 4 + 8; three styles of 366 days; ten by ten; and brackets,
# by hand: of one kind 1, 1, 2 + 1, 3 + 1, 5 + 4 + 1 walks end open (up to length 5).
COUNTS = {"copy": 39, "reverse": 20, "sort": 676, "cipher": 14, "dates": 1098, "addition": 100}
# 26 × 25 × 1 + 26 × 25 × 24 × 2; 7 × 7.
COUNTS |= {"induction": 31_850, "modular": 49}


@pytest.mark.parametrize("name", SMALL)
def test_the_count_equals_the_number_of_examples(name: str) -> None:
    task, options = TASKS[name], SMALL[name]
    count = task.count(**options)
    assert count == COUNTS.get(name, count)
    examples = task.pairs(count, 3, **options)
    assert len({example.src for example in examples}) == count
    train, valid = split(task, count - 7, 7, 3, **options)
    assert not {e.src for e in train} & {e.src for e in valid}
    with pytest.raises(ValueError, match=rf"{count + 1} examples of {name} .* it has {count}\."):
        task.pairs(count + 1, 3, **options)


def test_bracket_counts_equal_an_enumeration() -> None:
    def open_at_end(word: str) -> bool:
        while (shorter := re.sub(r"\(\)|\[\]", "", word)) != word:
            word = shorter
        return bool(word) and not re.search(r"[)\]]", word)

    words, count = [""], 0
    for _ in range(5):
        words = [word + mark for word in words for mark in "()[]"]
        count += sum(map(open_at_end, words))
    assert TASKS["brackets"].count(longest=5, kinds=2) == count


@pytest.mark.parametrize(
    ("name", "options", "reason"),
    [
        ("copy", {"longst": 3}, 'copy has no option "longst"; it has: longest, letters'),
        ("copy", {"longest": 0}, "longest is 0; it must be from 1 to 20"),
        ("sort", {"longest": 21}, "longest is 21; it must be from 1 to 20"),
        ("cipher", {"key": True}, "key is True; it must be a whole number"),
    ],
)
def test_invalid_options_are_refused(name: str, options: dict[str, int], reason: str) -> None:
    task: Task = TASKS[name]
    for call in (task.settings, task.count, lambda **o: task.pairs(1, 0, **o)):
        with pytest.raises(ValueError, match=reason):
            call(**options)


@pytest.mark.parametrize(
    ("name", "counts", "reason"),
    [
        ("reverse", (10, -2), "10 and -2 examples are requested"),
        ("french", (12_001, 9), "12001 training examples of french are requested; it has 12000"),
        ("french", (9, 501), "501 validation examples of french are requested; it has 500"),
    ],
)
def test_impossible_counts_are_refused(name: str, counts: tuple[int, int], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        split(TASKS[name], *counts, seed=0)


def test_induction_continues_after_the_earlier_occurrence() -> None:
    for example in TASKS["induction"].pairs(200, 5):
        letters, _, last = example.src.rpartition(" | ")
        assert letters.count(last) == 1
        assert len(set(letters.split())) == len(letters.split())
        assert f"{letters} ".endswith(f"{last} {example.tgt} ")
        source = example.src.split()
        assert [source[i] for i, _ in example.alignment or ()] == example.tgt.split()


def test_modular_is_subtraction_in_the_ring() -> None:
    task = TASKS["modular"]
    examples = task.pairs(23**2, 1)
    for example in examples:
        a, b = (int(part.removeprefix("n")) for part in example.src.split(" - "))
        c = int(example.tgt.removeprefix("n"))
        assert 0 <= c < 23
        assert (b + c - a) % 23 == 0
    assert task_sizes(task, {}) == (370, 159)  # 30% of 529 held out
    assert task_sizes(task, {"n_valid": 40}) == (489, 40)
