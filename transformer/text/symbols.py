"""A vocabulary of given words: a SentencePiece model in which one symbol is one piece.

Toy tasks speak in symbols between blanks, "3 a b"; nothing is learned from text. SentencePiece's
"word" trainer makes the model, so that a checkpoint's file is of the same kind as any other.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import sentencepiece

# The special pieces and their ids, in every vocabulary that is made here.
SPECIAL = {"pad": (0, "<pad>"), "bos": (1, "<s>"), "eos": (2, "</s>"), "unk": (3, "<unk>")}


def special_options() -> dict[str, Any]:
    """SentencePiece's training options that give the special pieces their ids and names."""
    options: dict[str, Any] = {}
    for kind, (number, piece) in SPECIAL.items():
        options |= {f"{kind}_id": number, f"{kind}_piece": piece}
    return options


def symbol_model(symbols: Sequence[str]) -> bytes:
    """A serialised model: the special pieces, then "▁" + symbol for each symbol, in their order.

    The bytes depend on `symbols` alone. Raises ValueError if there is none, if one is empty,
    holds a blank or stands twice, or if NFKC (as in all our vocabularies) changes it.
    """
    return _train_model(tuple(symbols))


@lru_cache(maxsize=32)  # a task's are asked for by every card that shows it
def _train_model(symbols: tuple[str, ...]) -> bytes:
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
        raise ValueError(f"SentencePiece makes no pieces of {list(symbols)}: {error}") from error
    for number, symbol in enumerate(symbols, start=len(SPECIAL)):
        if model.encode(symbol) != [number] or model.decode([number]) != symbol:
            raise ValueError(
                f'The symbol "{symbol}" does not come back from SentencePiece as it is; '
                "it must be in Unicode's NFKC form, without ▁ and control pieces."
            )
    return buffer.getvalue()


def _check(symbols: Sequence[str]) -> None:
    if not symbols:
        raise ValueError("There are 0 symbols; a vocabulary needs at least 1.")
    checked = set()
    for symbol in symbols:
        if symbol.split() != [symbol]:
            raise ValueError(
                f'The symbol "{symbol}" is empty or holds a blank; a symbol is one word.'
            )
        if symbol in checked:
            raise ValueError(f'The symbol "{symbol}" stands twice; each must be there once.')
        checked.add(symbol)


def _training_lines(symbols: Sequence[str]) -> list[str]:
    """Lines from which the trainer takes the symbols in their order.

    It sorts words by how often they stand, and equals by their bytes. So the symbols are cut into
    runs that ascend on their own, and an earlier run stands more often than a later one.
    """
    runs: list[list[str]] = []
    for symbol in symbols:
        if runs and runs[-1][-1] < symbol:
            runs[-1].append(symbol)
        else:
            runs.append([symbol])
    lines = [" ".join(run) for run in runs]
    return [line for end in range(len(lines), 0, -1) for line in lines[:end]]
