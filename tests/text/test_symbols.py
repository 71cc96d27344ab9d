"""A vocabulary of given symbols: one piece each, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer.config import ModelConfig
from transformer.text import TASKS, Vocabulary

# Words of letters, digits and punctuation that NFKC does not change.
SYMBOLS = st.lists(
    st.text(st.sampled_from("abcXYZ0123456789()[]{}+-,.'éœçà"), min_size=1, max_size=20),
    min_size=1,
    max_size=40,
    unique=True,
)


@given(symbols=SYMBOLS, data=st.data())
def test_each_symbol_is_one_token_in_order(symbols: list[str], data: st.DataObject) -> None:
    vocabulary = Vocabulary.from_symbols(symbols)
    assert vocabulary.tokens(range(len(vocabulary))) == [
        "<pad>", "<s>", "</s>", "<unk>", *(f"▁{symbol}" for symbol in symbols)
    ]  # fmt: skip
    chosen = data.draw(st.lists(st.sampled_from(symbols)))
    ids = vocabulary.encode(" ".join(chosen))
    assert ids == [*(4 + symbols.index(symbol) for symbol in chosen), 2]
    assert vocabulary.decode(ids) == " ".join(chosen)
    assert vocabulary.encode_batch([" ".join(chosen), symbols[0]]) == [ids, [4, 2]]


def test_a_symbol_vocabulary_works_like_any_other(tmp_path: Path) -> None:
    vocabulary = Vocabulary.from_symbols(["b", "a", "3"])
    vocabulary.check(ModelConfig(vocab_size=7))
    vocabulary.save(tmp_path / "vocabulary.model")
    assert Vocabulary.load(tmp_path / "vocabulary.model").sha256 == vocabulary.sha256
    assert vocabulary.id("▁3") == 6
    assert vocabulary.token(4) == "▁b"
    assert vocabulary.encode("  a\t3 \n") == [5, 6, 2]
    assert vocabulary.encode("") == [2]


@pytest.mark.parametrize(
    ("symbols", "reason"),
    [
        ([], "There are 0 symbols; a vocabulary needs at least 1"),
        (["a", ""], 'symbol "" is empty or contains a space'),
        (["a b"], 'symbol "a b" is empty or contains a space'),
        ([" a"], "contains a space"),
        (["a\u00a0b"], "contains a space"),
        (["a", "b", "a"], 'symbol "a" occurs twice'),
        (["²"], 'changes the symbol "²"'),
        (["a▁b"], "changes the symbol"),
        (["</s>", "a"], "changes the symbol"),
        (["\ud800"], "cannot make pieces"),
    ],
)
def test_invalid_symbols_are_refused(symbols: list[str], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        Vocabulary.from_symbols(symbols)


@pytest.mark.parametrize("name", TASKS)
def test_a_tasks_symbols_cover_its_examples(name: str) -> None:
    task = TASKS[name]
    vocabulary = Vocabulary.from_symbols(task.symbols)
    for example in task.pairs(200, 5):
        for text in (example.src, example.tgt):
            ids = vocabulary.encode(text)
            assert vocabulary.unk_id not in ids
            assert len(ids) == len(text.split()) + 1
            assert vocabulary.decode(ids) == text
