"""The subword vocabulary shared by both languages: a SentencePiece model.

Unigram pieces (Kudo 2018, https://arxiv.org/abs/1804.10959) with byte fallback: a character without
a piece becomes its UTF-8 bytes, so no text is lost to `<unk>`.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any, SupportsIndex

import sentencepiece

from transformer.config import ModelConfig
from transformer.text.files import atomic_path
from transformer.text.pair_pieces import MAGIC, PairPieces, load_processor
from transformer.text.symbols import SPECIAL, special_options, symbol_model
from transformer.text.visible import without_invisible

# Fixed, because SentencePiece writes the number into the model: the same text gives the same bytes
# (and the same hash) on every machine.
_TRAIN_THREADS = 4
_MAX_SENTENCES = 1_000_000  # sentences from which pieces are learned


class Vocabulary:
    """Converts text to piece ids and back. Immutable, so it can be shared between threads."""

    def __init__(self, model: bytes) -> None:
        """Load a serialised SentencePiece model, or a pair as `PairPieces.to_bytes` writes it; the
        inverse of `to_bytes`.

        Raises ValueError if `model` is invalid or lacks one of the four special pieces.
        """
        pair = PairPieces.from_bytes(model) if model.startswith(MAGIC) else None
        self.pair = pair
        """The two models of a vocabulary with one for each side; else None."""
        self._model: Any = load_processor(model) if pair is None else pair
        self._bytes = model
        self.pad_id: int = self._model.pad_id()
        self.bos_id: int = self._model.bos_id()
        self.eos_id: int = self._model.eos_id()
        self.unk_id: int = self._model.unk_id()
        for kind in SPECIAL:
            if getattr(self, f"{kind}_id") < 0:
                raise ValueError(
                    f"The SentencePiece model has no {kind} piece; it needs pad, bos, eos and unk "
                    "(Vocabulary.train makes such a model)."
                )

    @classmethod
    def train(cls, sentences: Iterable[str], size: int) -> Vocabulary:
        """Learn `size` pieces from a stream of sentences (both languages in one stream).

        The result is deterministic. From a stream longer than `_MAX_SENTENCES`, a uniform sample of
        that size is kept in memory. Raises ValueError if the text is too small for `size`, or
        `size` too small for the text's characters; errors raised by `sentences` are passed on
        unchanged.
        """
        if size < 1:
            raise ValueError(f"The vocabulary's size is {size}; it must be at least 1.")
        stream = _SentenceStream(sentences)
        buffer = io.BytesIO()
        try:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=iter(stream),
                model_writer=buffer,
                model_type="unigram",
                vocab_size=size,
                byte_fallback=True,
                # Soft: with a small text, the result shows how many pieces it can give.
                hard_vocab_limit=False,
                normalization_rule_name="nmt_nfkc",
                input_sentence_size=_MAX_SENTENCES,
                shuffle_input_sentence=True,
                num_threads=_TRAIN_THREADS,
                minloglevel=2,
                **special_options(),
            )
        except RuntimeError as error:
            if stream.error is not None:
                raise stream.error from None
            raise _training_error(error, stream, size) from error
        vocabulary = cls(buffer.getvalue())
        if len(vocabulary) != size:
            raise ValueError(
                f"The text is too small for {size} pieces: its {stream.count} sentences give "
                f"{len(vocabulary)}; ask for {len(vocabulary)} or fewer (--vocab-size on the "
                "command line), or give more text."
            )
        return vocabulary

    @classmethod
    def from_symbols(cls, symbols: Sequence[str]) -> Vocabulary:
        """Return a vocabulary of the four special pieces and one piece for each symbol: "3 a b" is
        three ids and `</s>`. Other words become `<unk>`. Raises ValueError as `symbol_model`."""
        return cls(symbol_model(tuple(symbols)))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Vocabulary:
        """Read a vocabulary file. Raises FileNotFoundError, or ValueError if it is not one."""
        if not Path(path).is_file():
            raise FileNotFoundError(f"There is no vocabulary file at {path}.")
        try:
            return cls(Path(path).read_bytes())
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from error

    def to_bytes(self) -> bytes:
        """Return the serialised model, as `save` writes it."""
        return self._bytes

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to `path` atomically."""
        with atomic_path(path) as temporary:
            temporary.write_bytes(self._bytes)

    @property
    def sha256(self) -> str:
        """Hash of the model's bytes; a token store records the hash of its vocabulary."""
        return hashlib.sha256(self._bytes).hexdigest()

    def __len__(self) -> int:
        return len(self._model)

    def encode(self, text: str, *, target: bool = False) -> list[int]:
        """Return the ids of `text` with `</s>` at the end and without `<s>`; `[eos_id]` if empty.

        Every text can be encoded: characters without a piece become bytes, and "</s>" typed by a
        user is four characters, never the control piece. `target` matters only to a vocabulary
        with one model for each side.
        """
        return self.encode_batch([text], threads=1, target=target)[0]

    def encode_batch(
        self, texts: Sequence[str], threads: int = 0, *, target: bool = False
    ) -> list[list[int]]:
        """Encode many texts at once on `threads` threads (0: one per processor core)."""
        clean = [_readable(text) for text in texts]
        if self.pair is not None:
            encode = self.pair.encode_target if target else self.pair.encode_source
            return encode(clean, threads or -1)
        ids: list[list[int]] = self._model.encode(clean, add_eos=True, num_threads=threads or -1)
        return ids

    def sample_batch(self, texts: Sequence[str], *, alpha: float, seed: int) -> list[list[int]]:
        """Encode each text with a segmentation drawn at random (subword regularisation, Kudo 2018).

        Args:
            alpha: exponent of a segmentation's probability: 0 samples uniformly, large values
                nearly always give the best one. The paper uses 0.1 to 0.5.
            seed: the same seed gives the same segmentations.

        Raises ValueError for a vocabulary with one model for each side.
        """
        if self.pair is not None:
            raise ValueError(
                "a vocabulary with one model for each side cannot sample segmentations"
            )
        sentencepiece.set_random_generator_seed(seed % (1 << 31))
        ids: list[list[int]] = self._model.encode(
            [_readable(text) for text in texts],
            add_eos=True,
            enable_sampling=True,
            alpha=alpha,
            nbest_size=-1,
            num_threads=1,  # one generator per thread: more threads would change the result
        )
        return ids

    @property
    def target_languages(self) -> tuple[str, ...]:
        """Codes of the target languages that a source can request with its first token: "fra" for
        a text that begins with ">>fra<<". Empty for most vocabularies."""
        if self.pair is None:
            return ()
        return tuple(token[2:-2] for token in self.pair.languages())

    def split_language(self, text: str) -> tuple[str, str]:
        """Return the code of the language token at the beginning of a text ("" if none) and the
        rest."""
        for code in self.target_languages:
            if text.startswith(token := f">>{code}<<"):
                return code, text.removeprefix(token).lstrip()
        return "", text

    def with_language(self, text: str, language: str) -> str:
        """Return `text` with the token of `language` at its beginning, replacing an existing one;
        "" removes it. Raises ValueError if there is no such token."""
        languages, text = self.target_languages, self.split_language(text)[1]
        if not language:
            return text
        if language not in languages:
            available = f"it has {', '.join(languages)}" if languages else "it has none"
            raise ValueError(
                f"The vocabulary has no token for the target language {language!r}; {available}."
            )
        return f">>{language}<< {text}"

    def decode(self, ids: Iterable[SupportsIndex]) -> str:
        """Return the text of `ids` up to the first `</s>`. `<pad>` and `<s>` are skipped, `<unk>`
        becomes " ⁇ ", invalid bytes become "�". Raises ValueError for an id out of range."""
        ids_before_end = list(takewhile(lambda number: number != self.eos_id, self._checked(ids)))
        text: str = self._model.decode(ids_before_end)  # omits control pieces
        return text

    def token(self, id: SupportsIndex) -> str:
        """Return the piece with this id: "▁I", "</s>", "<0xE2>"."""
        return self.tokens([id])[0]

    def tokens(self, ids: Iterable[SupportsIndex]) -> list[str]:
        """Return the pieces of these ids. Raises ValueError for an id out of range."""
        return [self._model.id_to_piece(number) for number in self._checked(ids)]

    def __contains__(self, piece: str) -> bool:
        """Whether there is this piece, such as "▁I"."""
        found: str = self._model.id_to_piece(self._model.piece_to_id(_clean(piece)))
        return found == piece

    def id(self, piece: str) -> int:
        """Return the id of a piece such as "▁I". Raises ValueError if there is no such piece."""
        number: int = self._model.piece_to_id(_clean(piece))
        if number == self.unk_id and piece != self._model.id_to_piece(self.unk_id):
            raise ValueError(f'The vocabulary of {len(self)} pieces has no piece "{piece}".')
        return number

    def check(self, config: ModelConfig) -> None:
        """Raise ValueError if a model of this `config` cannot use this vocabulary."""
        if config.vocab_size != len(self):
            raise ValueError(
                f"The model has {config.vocab_size} pieces, the vocabulary has "
                f"{len(self)}; they must be the same."
            )
        for name in (f"{kind}_id" for kind in SPECIAL):
            expected, actual = getattr(config, name), getattr(self, name)
            if expected != actual:
                raise ValueError(
                    f"The model's {name} is {expected}, the vocabulary's is {actual}; "
                    "they must be equal."
                )

    def _checked(self, ids: Iterable[SupportsIndex]) -> Iterator[int]:
        for item in ids:
            number = item.__index__()
            if not 0 <= number < len(self):
                raise ValueError(f"Id {number} is outside the vocabulary's 0 to {len(self) - 1}.")
            yield number


class _SentenceStream:
    """Counts the sentences of a stream and keeps the error that ended it, because SentencePiece
    turns every error of its iterator into a RuntimeError."""

    def __init__(self, sentences: Iterable[str]) -> None:
        self._sentences = sentences
        self.count = 0
        self.error: BaseException | None = None

    def __iter__(self) -> Iterator[str]:
        try:
            for sentence in self._sentences:
                self.count += 1
                yield _readable(sentence)
        except (Exception, KeyboardInterrupt) as error:
            self.error = error
            raise


def _training_error(error: RuntimeError, stream: _SentenceStream, size: int) -> ValueError:
    if stream.count == 0:
        return ValueError(
            f"There are 0 sentences to learn {size} pieces from; at least 1 is needed."
        )
    needed = re.search(r"required_chars\. \d+ vs (\d+)", str(error))
    if needed:
        return ValueError(
            f"A vocabulary of {size} pieces is too small: the special pieces, 256 bytes and the "
            f"text's characters alone need {needed[1]}; ask for at least {needed[1]}."
        )
    return ValueError(
        f"SentencePiece could not learn {size} pieces from {stream.count} sentences: {error}"
    )


def _readable(text: str) -> str:
    """Return the text without lone surrogates and characters that nobody sees."""
    return without_invisible(_clean(text))


def _clean(text: str) -> str:
    """Replace lone surrogates, which UTF-8 cannot represent."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
