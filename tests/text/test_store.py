"""The memory-mapped store of encoded pairs: content, progress and invalid files."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer.text import TokenStore, Vocabulary

Pairs = list[tuple[str, str]]


@pytest.fixture(scope="module")
def other_vocabulary(pairs: Pairs) -> Vocabulary:
    return Vocabulary.train((target for _, target in pairs), 290)


def expected(
    pairs: Pairs, vocabulary: Vocabulary, max_len: int
) -> list[tuple[list[int], list[int]]]:
    encoded = [(vocabulary.encode(source), vocabulary.encode(target)) for source, target in pairs]
    return [pair for pair in encoded if max(map(len, pair)) <= max_len]


@given(
    texts=st.lists(st.tuples(st.text(max_size=20), st.text(max_size=20)), max_size=25),
    chunk=st.integers(1, 30),
    max_len=st.integers(1, 40),
)
def test_the_store_holds_the_encoded_pairs_in_order(
    tmp_path_factory: pytest.TempPathFactory,
    vocabulary: Vocabulary,
    texts: Pairs,
    chunk: int,
    max_len: int,
) -> None:
    path = tmp_path_factory.mktemp("store") / "pairs.arrow"
    texts = [("", ""), *texts]  # a pair within any max_len
    expected_pairs = expected(texts, vocabulary, max_len)
    TokenStore.build(path, iter(texts), vocabulary, max_len=max_len, chunk=chunk)
    store = TokenStore.open(path, vocabulary)
    assert len(store) == len(expected_pairs)
    assert store.n_dropped == len(texts) - len(expected_pairs)
    assert store.max_len == max_len
    for number, (source, target) in enumerate(expected_pairs):
        src, tgt = store.pair(number)
        assert (src.tolist(), tgt.tolist()) == (source, target)
    assert store.src_lengths.tolist() == [len(source) for source, _ in expected_pairs]
    assert store.tgt_lengths.tolist() == [len(target) for _, target in expected_pairs]
    assert store.src_lengths.dtype == store.tgt_lengths.dtype == np.int32


def test_ids_are_views_of_the_memory_mapped_file(
    tmp_path: Path, vocabulary: Vocabulary, pairs: Pairs
) -> None:
    before = pa.total_allocated_bytes()
    store = TokenStore.build(tmp_path / "s", pairs, vocabulary, chunk=50)
    assert pa.total_allocated_bytes() == before  # Arrow has no copy
    src, tgt = store.pair(120)
    same_pair, _ = store.pair(120)
    assert src.dtype == tgt.dtype == np.uint16
    assert not src.flags.owndata
    assert np.shares_memory(src, same_pair)
    assert not np.shares_memory(src, tgt)
    with pytest.raises(ValueError, match="read-only"):
        src[0] = 1


def test_ids_of_a_large_vocabulary_are_32_bits(
    tmp_path: Path, vocabulary: Vocabulary, monkeypatch: pytest.MonkeyPatch
) -> None:
    shift = 70_000
    monkeypatch.setattr(Vocabulary, "__len__", lambda self: 1 << 16)
    small = TokenStore.build(tmp_path / "small", [("a", "b")], vocabulary)
    assert small.pair(0)[0].dtype == np.uint16
    monkeypatch.setattr(Vocabulary, "__len__", lambda self: (1 << 16) + 1)
    monkeypatch.setattr(
        Vocabulary, "encode_batch", lambda self, texts, target=False: [[shift, 2] for _ in texts]
    )
    large = TokenStore.build(tmp_path / "large", [("a", "b")], vocabulary)
    assert large.pair(0)[0].dtype == np.int32
    assert large.pair(0)[1].tolist() == [shift, 2]


@pytest.mark.parametrize("index", [-1, 200, 10**9])
def test_a_pair_out_of_range_is_refused(
    tmp_path: Path, vocabulary: Vocabulary, pairs: Pairs, index: int
) -> None:
    store = TokenStore.build(tmp_path / "s", pairs, vocabulary)
    with pytest.raises(IndexError, match=f"There is no pair {index}; the store has 0 to 199"):
        store.pair(index)


def test_pairs_are_read_a_chunk_at_a_time(
    tmp_path: Path, vocabulary: Vocabulary, pairs: Pairs
) -> None:
    ahead: list[int] = []
    n_read = 0

    def stream() -> Iterator[tuple[str, str]]:
        nonlocal n_read
        for pair in pairs:
            n_read += 1
            yield pair

    TokenStore.build(
        tmp_path / "s",
        stream(),
        vocabulary,
        chunk=10,
        progress=lambda done: ahead.append(n_read - done),
    )
    assert ahead == [0] * 20


class StoppedError(Exception):
    pass


@pytest.mark.parametrize("error", [StoppedError, KeyboardInterrupt])
@pytest.mark.parametrize("old", [None, b"an older store"])
def test_an_interrupted_build_leaves_no_file(
    tmp_path: Path,
    vocabulary: Vocabulary,
    pairs: Pairs,
    error: type[BaseException],
    old: bytes | None,
) -> None:
    path = tmp_path / "pairs.arrow"
    if old is not None:
        path.write_bytes(old)

    def stream() -> Iterator[tuple[str, str]]:
        yield from pairs[:150]
        # Now a part of the store is on the disk, under a temporary name.
        assert [file for file in tmp_path.iterdir() if file != path]
        raise error

    with pytest.raises(error):
        TokenStore.build(path, stream(), vocabulary, chunk=20)
    assert [file.read_bytes() for file in tmp_path.iterdir()] == ([] if old is None else [old])


def test_a_store_of_another_vocabulary_is_refused(
    tmp_path: Path, vocabulary: Vocabulary, other_vocabulary: Vocabulary, pairs: Pairs
) -> None:
    TokenStore.build(tmp_path / "s", pairs, vocabulary)
    message = (
        f"with the vocabulary {vocabulary.sha256[:12]}, this one is {other_vocabulary.sha256[:12]}"
    )
    with pytest.raises(ValueError, match=message):
        TokenStore.open(tmp_path / "s", other_vocabulary)


def test_texts_that_the_vocabulary_does_not_know_are_refused(tmp_path: Path) -> None:
    letters = Vocabulary.from_symbols(["a", "b", "c"])
    TokenStore.build(tmp_path / "s", [("a b", "b x"), ("c", "c y")], letters)
    with pytest.raises(ValueError, match="3 of 4 tokens are unknown to the vocabulary"):
        TokenStore.build(tmp_path / "t", [("I see", "Je vois"), ("a", "oui")], letters)
    assert not (tmp_path / "t").exists()


def test_invalid_store_files_are_refused(
    tmp_path: Path, vocabulary: Vocabulary, pairs: Pairs
) -> None:
    with pytest.raises(FileNotFoundError, match="no token store at"):
        TokenStore.open(tmp_path / "absent", vocabulary)
    TokenStore.build(tmp_path / "s", pairs, vocabulary)
    store_bytes = (tmp_path / "s").read_bytes()
    broken = tmp_path / "broken"
    for content in (b"", b"text\n", store_bytes[: len(store_bytes) // 2], store_bytes[:-1]):
        broken.write_bytes(content)
        with pytest.raises(
            ValueError, match=r"broken is not a complete token store \(.*build it again"
        ):
            TokenStore.open(broken, vocabulary)
    table = pa.table({"src": [1], "tgt": [2]})
    with pa.ipc.new_file(str(tmp_path / "arrow"), table.schema) as writer:
        writer.write_table(table)
    with pytest.raises(ValueError, match="another kind of Arrow file"):
        TokenStore.open(tmp_path / "arrow", vocabulary)
