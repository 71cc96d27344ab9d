"""Text in, text and everything about it out."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NoReturn, Unpack

import torch
from torch import Tensor

from transformer.checkpoint import checkpoint_hash, load_checkpoint
from transformer.device import choose_device
from transformer.exchange.pretrained import FolderFormat, save_pretrained
from transformer.hook_names import NamesFilter
from transformer.hooks import Hooks
from transformer.house import find_checkpoint
from transformer.inference.activation_cache import ActivationCache
from transformer.inference.backend import Precision
from transformer.inference.beam import Hypotheses
from transformer.inference.decoding import Output, SequenceDecoder
from transformer.inference.options import Decoding, DecodingOptions, check_source
from transformer.inference.results import Candidate, StepTable, Translation, length_penalty
from transformer.inference.trace import Trace
from transformer.inference.trace_recording import Recording, make_trace
from transformer.model import Transformer
from transformer.text import Vocabulary
from transformer.text.visible import is_blank

NO_TEXT = "There is no text to translate; write a sentence first."


class Translator:
    """A model and its vocabulary. Any number of threads may share one; no call changes it.

    Options of `translate`, `translate_batch` and `trace` are those of `Decoding`: method
    ("greedy", "beam", "sample"), beam_size, length_penalty, temperature, top_k, top_p, seed,
    max_len, candidates.
    """

    def __init__(
        self, model: Transformer, vocabulary: Vocabulary, precision: Precision = "auto"
    ) -> None:
        """Takes the model in evaluation mode. Its weights may be edited in place between two calls,
        best under `torch.no_grad()`; see `Engine` on edits through `.data`.

        `precision` is of batches: with "auto", eight sentences or more at once are computed with
        bfloat16 products if that is faster here, and rounding may then exchange two nearly equal
        words; "fp32" never does so. Single sentences and traces are always float32's. Raises
        ValueError if model and vocabulary do not fit, or the model is in training mode.
        """
        vocabulary.check(model.config)
        if model.training:
            raise ValueError("the model is in training mode; call model.eval() first")
        self.model, self.vocabulary = model, vocabulary
        self.device: torch.device = model.embedding.weight.device
        self.folder: Path | None = None  # that it was loaded from
        self._decoder = SequenceDecoder(model, precision)
        self._pieces = tuple(vocabulary.tokens(range(len(vocabulary))))

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], device: str = "auto", precision: Precision = "auto"
    ) -> Translator:
        """Load a checkpoint to "cpu", "cuda", "mps" or the best device there is ("auto").

        Args:
            path: a checkpoint folder, or the name of a checkpoint that comes with Heads Up, such
                as "en-fr". A folder of that name in the working directory comes first.

        Raises:
            CheckpointError: a ValueError that says what is wrong with the folder.
            ValueError: for a device that is not there.
        """
        folder = find_checkpoint(path)
        made = cls(*load_checkpoint(folder, choose_device(device)), precision)
        made.folder = folder
        return made

    def save_pretrained(
        self,
        folder: str | os.PathLike[str],
        *,
        format: FolderFormat = "heads-up",
        languages: Sequence[str] | None = None,
        license: str | None = None,
    ) -> None:
        """Write model, vocabulary and a model card into a folder; see `exchange.save_pretrained`.

            translator.save_pretrained("en-fr-marian", format="marian", license="cc-by-2.0")

        The card names library, task, languages and licence, those of the loaded checkpoint where
        they are left out.
        """
        save_pretrained(
            self.model,
            self.vocabulary,
            folder,
            format=format,
            languages=languages,
            licence=license,
            loaded_from=self.folder,
        )

    def __getattr__(self, name: str) -> NoReturn:
        """Raise AttributeError; where a model was expected, one that says to pass the model."""
        if not name.startswith("__") and hasattr(self.__dict__.get("model"), name):
            raise AttributeError(
                f"a Translator has no attribute {name!r}, its model has: pass translator.model "
                "where a model is expected"
            )
        raise AttributeError(f"a Translator has no attribute {name!r}")

    def translate(
        self,
        text: str,
        *,
        target: str | Sequence[int] | None = None,
        prefix: str | Sequence[int] | None = None,
        hooks: Hooks | None = None,
        **options: Unpack[DecodingOptions],
    ) -> Translation:
        """Translate one sentence.

        Args:
            target: a translation to score instead of searching for one: text, or ids.
            prefix: what the output begins with, text or ids; the search continues after it. The
                candidates of its steps are the model's own, as for all other steps.
            hooks: look or intervene in every pass of this call, and of no other.
            options: see `Decoding`.

        Raises:
            ValueError: for empty text, text longer than 512 pieces, or options that do not fit.
            TypeError: for a text that is no string, or ids that are no whole numbers.
        """
        if isinstance(text, (list, tuple)):
            raise TypeError("translate takes one text; translate_batch takes a list of texts")
        targets = None if target is None else [target]
        begin = self._prefix(prefix, options, targets)
        return self._translate([text], targets, hooks, _options(options, targets), begin)[0]

    def translate_batch(
        self,
        texts: Iterable[str],
        *,
        targets: Sequence[str | Sequence[int]] | None = None,
        hooks: Hooks | None = None,
        **options: Unpack[DecodingOptions],
    ) -> list[Translation]:
        """Translate many sentences side by side, in the order given; see `translate`. Hooks see
        batches of sentences of like length, padded; a long list makes several."""
        if isinstance(texts, str):
            raise TypeError("translate_batch takes a list of texts; translate takes one text")
        return self._translate(list(texts), targets, hooks, _options(options, targets))

    def check(self, text: str, target: str | None = None) -> None:
        """Raises ValueError if `text` cannot be translated, or not to `target`, being blank or too
        long."""
        self._encode([text])
        if target is not None:
            self._target(target, Decoding(method="forced"))

    def trace(
        self,
        text: str,
        target: str | Sequence[int] | None = None,
        *,
        prefix: str | Sequence[int] | None = None,
        hooks: Hooks | None = None,
        names: NamesFilter = None,
        **options: Unpack[DecodingOptions],
    ) -> Trace:
        """Translate, or take `target`, and record every site in one pass over the output.

        `prefix` and the options are those of `translate`. The encoder runs once, and the decoder
        once more over the finished output. With `hooks`, the trace shows the model with that
        intervention. Sites to record are all of `model.hook_names`, or `names`, as in
        `run_with_cache`. Raises ValueError as `translate`, and for a name that is no site.
        """
        begin = self._prefix(prefix, options, target)
        decoding = _options(options, target)
        sources = self._encode([text])
        recording = Recording(self.model, hooks, names)
        memory = self._decoder.encode(sources, recording.hooks)
        given = None if target is None else [self._target(target, decoding)]
        watch = recording.hooks
        output = self._decoder.decode(memory, decoding, hooks, given, watch=watch, prefix=begin)[0]
        translation = self._translation(text, sources[0], output, decoding, hooks)
        return make_trace(recording, self._decoder, memory, output, translation, self._pieces)

    def run_with_cache(
        self,
        src: str | Sequence[str],
        tgt: str | Sequence[int] | Sequence[str | Sequence[int]],
        *,
        names_filter: NamesFilter = None,
        hooks: Hooks | None = None,
    ) -> tuple[Tensor, ActivationCache]:
        """Run the model once over sources and given targets, and keep its activations.

            logits, cache = translator.run_with_cache(
                "I am a student.", "Je suis étudiant.", names_filter="*.hook_weights"
            )
            cache["decoder.blocks.0.cross_attn.hook_pattern"]  # (batch, heads, tgt, src)

        Args:
            src: one text, or a list of texts.
            tgt: what the model is to write, a text or ids (`</s>` included); a list of them where
                `src` is a list. The decoder reads `<s>` and all but the last piece.
            names_filter: what to keep: one name or pattern, several, or a function of the name;
                everything if None. See `hook_names.matching` for patterns and aliases.
            hooks: interventions in this call; the cache has the tensors after them.

        Returns:
            logits: (batch, tgt, vocab), on the model's device, without gradients.
            cache: the activations by name, with the batch dimension, on the CPU.

        Raises:
            ValueError: for blank or too long text, for lists of different lengths, or for a name or
                pattern that no hook point has.
        """
        texts = [src] if isinstance(src, str) else list(src)
        targets = [tgt] if isinstance(src, str) else list(tgt)
        if len(texts) != len(targets) or not texts:
            raise ValueError(f"there are {len(texts)} texts and {len(targets)} targets")
        sources = self._encode(texts)
        outputs = [self._target(one, Decoding(method="forced")) for one in targets]  # type: ignore[arg-type]
        recording = Recording(self.model, hooks, names_filter)
        memory = self._decoder.encode(sources, recording.hooks)
        logits = self._decoder.logits(memory, outputs, recording.hooks)
        src_lengths, tgt_lengths = (tuple(map(len, ids)) for ids in (sources, outputs))
        n_layers = self.model.config.n_layers
        return logits, ActivationCache(recording.finished(), n_layers, src_lengths, tgt_lengths)

    def with_penalty(self, trace: Trace, length_penalty: float) -> Trace | None:
        """`trace`, of a beam search, as it would be with another length penalty.

        The model runs only where another translation wins; None if it would have to run on,
        because the search ends later: then `trace` anew.

        Raises:
            ValueError: for a trace that no beam search without hooks made, or one from a file; and
                as `translate`, for the penalty.
        """
        search, done = trace.translation.search, trace.translation
        if not isinstance(search, Hypotheses):
            raise ValueError("only what a beam search found, without hooks, can be ended otherwise")
        ended = search.with_length_penalty(length_penalty)
        if ended is None:
            return None
        output = Output(ended.decoded(), search=ended)
        translation = self._translation(done.source, [*done.src_ids], output, ended.options)
        if translation.ids != done.ids:
            trace = self.trace(done.source, translation.ids, names=trace.names)
        return replace(trace, translation=translation)

    def _translate(
        self,
        texts: list[str],
        targets: Sequence[str | Sequence[int]] | None,
        hooks: Hooks | None,
        decoding: Decoding,
        prefix: Sequence[int] = (),
    ) -> list[Translation]:
        sources = self._encode(texts)
        if targets is not None and len(targets) != len(texts):
            raise ValueError(f"there are {len(texts)} texts and {len(targets)} targets")
        given = None if targets is None else [self._target(one, decoding) for one in targets]
        outputs = self._decoder.run(sources, decoding, hooks, given, prefix=prefix)
        triples = zip(texts, sources, outputs, strict=True)
        return [self._translation(*triple, decoding, hooks) for triple in triples]

    def _encode(self, texts: list[str]) -> list[list[int]]:
        for text in texts:
            if not isinstance(text, str):
                raise TypeError(f"a text must be a string, not {type(text).__name__}")
            if is_blank(text):
                raise ValueError(NO_TEXT)
        sources = self.vocabulary.encode_batch(texts, threads=1)
        for source in sources:
            if source == [self.vocabulary.eos_id]:  # all that the vocabulary leaves of the text
                raise ValueError(NO_TEXT)
            check_source(len(source), self.model.config)
        return sources

    def _target(self, target: str | Sequence[int], decoding: Decoding) -> list[int]:
        if isinstance(target, str):
            ids = self.vocabulary.encode(target, target=True)
            if is_blank(target) or ids == [self.vocabulary.eos_id]:
                raise ValueError("There is no translation to force; write one first.")
        else:
            ids = list(target)
        return self._decoder.check_target(ids, decoding)

    def _prefix(
        self, prefix: str | Sequence[int] | None, options: DecodingOptions, targets: object
    ) -> list[int]:
        """The ids that an output begins with. Raises ValueError if there are some and nothing is
        searched for."""
        if isinstance(prefix, str):
            ids = self.vocabulary.encode(prefix, target=True)[:-1]  # without </s>
        else:
            ids = list(prefix or ())
        if ids and (targets is not None or options.get("method") == "forced"):
            raise ValueError(
                "give either a target, which is scored whole, or a prefix, which is continued"
            )
        return ids

    def _translation(
        self,
        text: str,
        source: list[int],
        output: Output,
        decoding: Decoding,
        hooks: Hooks | None = None,
    ) -> Translation:
        done = output.decoded
        pieces = self._pieces
        tokens = tuple(pieces[id] for id in done.ids)
        shares = [float(p) for p in torch.tensor(done.log_probabilities).exp()]
        table = StepTable(
            inputs=(pieces[self.model.config.bos_id], *tokens[:-1]),
            chosen=tuple(map(Candidate, tokens, done.ids, shares)),
            tokens=[[pieces[id] for id in row] for row in done.candidate_ids.tolist()],
            ids=done.candidate_ids.tolist(),
            probabilities=done.candidate_probabilities.tolist(),
        )
        total = done.log_probability
        return Translation(
            source=text,
            src_ids=tuple(source),
            src_tokens=tuple(pieces[id] for id in source),
            text=self.vocabulary.decode(done.ids),
            ids=tuple(done.ids),
            tokens=tokens,
            finished=done.finished,
            log_probability=total,
            score=total / length_penalty(len(tokens), decoding.length_penalty),
            method=decoding.method or "greedy",
            table=table,
            seed=output.seed,
            tree=None if output.search is None else output.search.tree(pieces),
            search=None if hooks else output.search,
        )


def load_unchanged(folder: str | os.PathLike[str], digest: str) -> Translator:
    """The checkpoint that a computation was asked about, loaded where it still is that one. Raises
    ValueError or OSError for a checkpoint that has another hash by now."""
    if checkpoint_hash(Path(folder)) != digest:
        raise ValueError(f"the checkpoint {Path(folder).name} has changed meanwhile; ask again")
    return Translator.load(folder)


def _options(options: DecodingOptions, targets: object) -> Decoding:
    """Raises ValueError unless there are targets exactly where the method is "forced"."""
    if targets is None:
        decoding = Decoding.of({**options})
        if decoding.method == "forced":
            raise ValueError("method 'forced' needs a target; give target=\"...\"")
        return decoding
    method = options.get("method")
    if method not in (None, "forced"):
        raise ValueError(f"a target is scored, not searched for: leave method {method!r} out")
    return Decoding.of({**options, "method": "forced"})
