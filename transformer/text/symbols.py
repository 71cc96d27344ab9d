"""SentencePiece models with a fixed list of words: one piece for each symbol.

Toy tasks use symbols separated by spaces, "3 a b"; nothing is learned from text. The model comes
from SentencePiece's "word" trainer, so a toy checkpoint has the same file format as any other.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import sentencepiece

# The special pieces and their ids in every vocabulary trained here.
SPECIAL = {"pad": (0, "<pad>"), "bos": (1, "<s>"), "eos": (2, "</s>"), "unk": (3, "<unk>")}


def special_options() -> dict[str, Any]:
    """Return SentencePiece's training options for the ids and names of the special pieces."""
    options: dict[str, Any] = {}
    for kind, (number, piece) in SPECIAL.items():
        options |= {f"{kind}_id": number, f"{kind}_piece": piece}
    return options


@lru_cache(maxsize=32)  # the model of a task is needed repeatedly
def symbol_model(symbols: tuple[str, ...]) -> bytes:
    """Return a serialised model: the special pieces, then "▁" + symbol for each symbol, in order.

    The bytes depend only on `symbols`. Raises ValueError if there are no symbols, or if one is
    empty, contains a space, occurs twice, or is changed by the Unicode normalisation NFKC.
    """
    _check(symbols)
    buffer = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(_training_lines(symbols)),
            model_writer=buffer,
            model_type="word",
            vocab_size=len(symbols) + len(SPECIAL),
            use_all_vocab=True,
            hard_vocab_limit=False,
            character_coverage=1.0,
            normalization_rule_name="nmt_nfkc",
            max_sentence_length=1_000_000_000,
            num_threads=1,
            minloglevel=2,
            **special_options(),
        )
        model = sentencepiece.SentencePieceProcessor(model_proto=buffer.getvalue())
    except RuntimeError as error:
        raise ValueError(f"SentencePiece cannot make pieces of {list(symbols)}: {error}") from error
    for number, symbol in enumerate(symbols, start=len(SPECIAL)):
        if model.encode(symbol) != [number] or model.decode([number]) != symbol:
            raise ValueError(
                f'SentencePiece changes the symbol "{symbol}"; a symbol must be in Unicode\'s '
                "NFKC form, without ▁ and control pieces."
            )
    return buffer.getvalue()


def _check(symbols: Sequence[str]) -> None:
    if not symbols:
        raise ValueError("There are 0 symbols; a vocabulary needs at least 1.")
    checked = set()
    for symbol in symbols:
        if symbol.split() != [symbol]:
            raise ValueError(
                f'The symbol "{symbol}" is empty or contains a space; a symbol is one word.'
            )
        if symbol in checked:
            raise ValueError(f'The symbol "{symbol}" occurs twice; symbols must be unique.')
        checked.add(symbol)


def _training_lines(symbols: Sequence[str]) -> list[str]:
    """Return lines from which the trainer learns the symbols in their given order.

    The trainer sorts words by frequency, and equally frequent ones by their bytes. So the symbols
    are cut into ascending runs, and an earlier run occurs more often than a later one.
    """
    runs: list[list[str]] = []
    for symbol in symbols:
        if runs and runs[-1][-1] < symbol:
            runs[-1].append(symbol)
        else:
            runs.append([symbol])
    lines = [" ".join(run) for run in runs]
    return [line for end in range(len(lines), 0, -1) for line in lines[:end]]
