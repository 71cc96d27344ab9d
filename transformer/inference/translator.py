"""`Translator`: translate text, and trace the model while it does so."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Unpack

import torch
from torch import Tensor

from transformer.checkpoint import checkpoint_hash
from transformer.exchange.opening import open_folder, resolve_folder
from transformer.exchange.pretrained import FolderFormat, save_pretrained
from transformer.hooks import Hooks, NamesFilter
from transformer.inference.activation_cache import ActivationCache
from transformer.inference.beam import Hypotheses
from transformer.inference.decoding import Output, SequenceDecoder, group_by_length
from transformer.inference.device import choose_device, computed_with
from transformer.inference.encoding import encode_prefix, encode_sources, encode_target
from transformer.inference.options import Decoding, DecodingOptions, decoding_for
from transformer.inference.results import Candidate, StepTable, Translation, length_penalty
from transformer.inference.trace import Trace
from transformer.inference.trace_recording import TRACED_SENTENCES, Recording, trace_of
from transformer.model import Transformer
from transformer.text import Vocabulary

if TYPE_CHECKING:
    from transformer.api.notebook import TryWidget

if hasattr(os, "register_at_fork"):
    # A forked process inherits PyTorch's thread pool without its threads and would wait for them.
    os.register_at_fork(after_in_child=lambda: torch.set_num_threads(1))


class Translator:
    """A model with its vocabulary. Safe to share between threads: no call changes it.

    Options of `translate`, `translate_batch` and `trace` are those of `Decoding`: method
    ("greedy", "beam", "sample"), beam_size, length_penalty, temperature, top_k, top_p, seed,
    max_len, candidates.
    """

    def __init__(self, model: Transformer, vocabulary: Vocabulary) -> None:
        """Wrap a model in evaluation mode. Its weights may be edited in place between two calls.

        Everything is computed in the number format of the weights: float32, unless you convert the
        model. Raises ValueError if model and vocabulary do not match, or if the model is in
        training mode.
        """
        vocabulary.check(model.config)
        if model.training:
            raise ValueError("the model is in training mode; call model.eval() first")
        self.model, self.vocabulary = model, vocabulary
        self.device: torch.device = model.embedding.weight.device
        self.folder: Path | None = None  # the checkpoint folder, if it was loaded from one
        self._decoder = SequenceDecoder(model)
        self._pieces = tuple(vocabulary.tokens(range(len(vocabulary))))

    @property
    def computed_with(self) -> dict[str, str | int]:
        """Precision, device and threads, which the last digits of every number depend on."""
        return computed_with(self.model.embedding.weight)

    def __reduce__(self) -> tuple[Callable[..., Translator], tuple[Any, ...]]:
        """Copy and pickle the model, the vocabulary and the folder, without caches and locks."""
        return _restore, (self.model, self.vocabulary.to_bytes(), self.folder)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        device: str = "auto",
        *,
        revision: str | None = None,
    ) -> Translator:
        """Load a model to "cpu", "cuda", "mps" or the best available device ("auto").

            Translator.load("en-fr")
            Translator.load("owner/name")  # from the Hugging Face hub

        Args:
            path: one of these, the first that exists: a checkpoint folder or a Marian folder of
                `transformers`; a .safetensors file that the page Train saved in a browser; the name
                of a checkpoint included in Heads Up, such as "en-fr"; the "owner/name" of such a
                folder on the Hugging Face hub.
            revision: a branch, tag or commit on the hub; the main branch if None.

        Raises:
            CheckpointError: a ValueError that says what is wrong with the folder or repository.
            ValueError: for a device that is not available.
            ImportError: for a name on the hub, without the optional package huggingface_hub.
        """
        chosen_device = choose_device(device)
        folder = resolve_folder(path, revision)
        translator = cls(*open_folder(folder, chosen_device))
        translator.folder = folder if folder.is_dir() else None
        return translator

    def save_pretrained(
        self,
        folder: str | os.PathLike[str],
        *,
        format: FolderFormat = "heads-up",
        languages: Sequence[str] | None = None,
        license: str | None = None,
    ) -> None:
        """Write model, vocabulary and model card to a folder; see `exchange.save_pretrained`.

            translator.save_pretrained("en-fr-marian", format="marian", license="cc-by-2.0")

        The card names library, task, languages and licence; languages and licence default to those
        of the loaded checkpoint.
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
        """Raise AttributeError; for an attribute of the model, suggest `translator.model`."""
        if not name.startswith("__") and hasattr(self.__dict__.get("model"), name):
            raise AttributeError(
                f"a Translator has no attribute {name!r}, but its model has; pass "
                f"translator.model where a model is expected"
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
            target: a translation to score instead of decoding one, as text or ids.
            prefix: the beginning of the output, as text or ids; decoding continues after it. The
                candidates of its steps are those of the model, as for all other steps.
            hooks: functions that read or replace tensors in this call only.
            options: see `Decoding`.

        Raises:
            ValueError: for an empty text, a text of more than 512 pieces, or invalid options.
            TypeError: if the text is not a string, or the ids are not integers.
        """
        if isinstance(text, (list, tuple)):
            raise TypeError("translate takes one text; translate_batch takes a list of texts")
        targets = None if target is None else [target]
        prefix_ids = encode_prefix(self.vocabulary, prefix, targets)
        decoding = decoding_for(options, targets)
        return self._translate([text], targets, hooks, decoding, prefix_ids)[0]

    def translate_batch(
        self,
        texts: Iterable[str],
        *,
        targets: Sequence[str | Sequence[int]] | None = None,
        hooks: Hooks | None = None,
        **options: Unpack[DecodingOptions],
    ) -> list[Translation]:
        """Translate many sentences in batches and return them in the same order; see `translate`.

        Sentences of similar length are padded and batched together, so hooks receive batches, and
        several of them for a long list.
        """
        return self._translate(_text_list(texts), targets, hooks, decoding_for(options, targets))

    def check(self, text: str, target: str | None = None) -> None:
        """Raise ValueError if `text` or `target` is blank or too long."""
        encode_sources(self.vocabulary, [text], self.model.config)
        if target is not None:
            self._target_ids(target, Decoding(method="forced"))

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
        """Translate, or use `target`, and record all hook points in one pass over the output.

        `prefix` and the options are those of `translate`. The encoder runs once, and the decoder
        once more over the finished output. With `hooks`, the trace shows the model with that
        intervention. Records all of `model.hook_names`, or those that match `names`, as in
        `run_with_cache`. Raises ValueError as `translate` does, and for an unknown hook name.
        """
        targets = None if target is None else [target]
        prefix_ids = encode_prefix(self.vocabulary, prefix, targets)
        decoding = decoding_for(options, targets)
        return self._trace([text], targets, hooks, names, decoding, prefix_ids)[0]

    def trace_batch(
        self,
        texts: Iterable[str],
        *,
        targets: Sequence[str | Sequence[int]] | None = None,
        hooks: Hooks | None = None,
        names: NamesFilter = None,
        **options: Unpack[DecodingOptions],
    ) -> list[Trace]:
        """Translate many sentences, or use `targets`, and return a trace of each, in their order.

        Arguments and errors are those of `translate_batch` and `trace`. Sentences of similar length
        share a pass, and hooks receive batches. A trace holds no padding and equals that of `trace`
        to rounding. Pass `names` for many sentences: all hook points of one take megabytes.
        """
        decoding = decoding_for(options, targets)
        return self._trace(_text_list(texts), targets, hooks, names, decoding)

    def run_with_cache(
        self,
        src: str | Sequence[str],
        tgt: str | Sequence[int] | Sequence[str | Sequence[int]],
        *,
        names_filter: NamesFilter = None,
        hooks: Hooks | None = None,
    ) -> tuple[Tensor, ActivationCache]:
        """Run the model once over sources and targets, and return its activations.

            logits, cache = translator.run_with_cache(
                "I am a student.", "Je suis étudiant.", names_filter="*.hook_weights"
            )
            cache["decoder.blocks.0.cross_attn.hook_pattern"]  # (batch, heads, tgt, src)

        Args:
            src: one text, or a list of texts.
            tgt: the target, as text or ids (`</s>` included); a list of them if `src` is a list.
                The decoder reads `<s>` and all but the last piece.
            names_filter: the hook points to record: one name or pattern, several, or a function of
                the name; None records all. See `hooks.matching` for patterns and aliases.
            hooks: interventions in this call; the cache holds the tensors after them.

        Returns:
            logits: (batch, tgt, vocab), on the model's device, without gradients.
            cache: the activations by name, with the batch dimension, on the CPU.

        Raises:
            ValueError: for a blank or too long text, lists of different lengths, or a name or
                pattern that matches no hook point.
        """
        texts = [src] if isinstance(src, str) else list(src)
        targets: list[Any] = [tgt] if isinstance(src, str) else list(tgt)
        if not texts:
            raise ValueError("there are no texts")
        sources = encode_sources(self.vocabulary, texts, self.model.config)
        outputs = self._all_target_ids(texts, targets, Decoding(method="forced"))
        recording = Recording(self.model, hooks, names_filter)
        memory = self._decoder.encode(sources, recording.hooks)
        logits = self._decoder.logits(memory, outputs, recording.hooks)
        src_lengths, tgt_lengths = (tuple(map(len, ids)) for ids in (sources, outputs))
        n_layers = self.model.config.n_layers
        return logits, ActivationCache(recording.finished(), n_layers, src_lengths, tgt_lengths)

    def explore(self, text: str = "", **fields: Any) -> TryWidget:
        """Return the page Try as a notebook widget: type, look into every head, switch heads off.

            page = translator.explore("I am a student.")  # as the last line of a cell: draws it
            page.state["text"], page.state["off"]         # in a later cell: what is on screen

        Args:
            text: the sentence on screen at first; "" for an example of the model.
            fields: other fields of a link to the page Try, such as `depth="off", off="c1.6"`.

        Raises:
            ImportError: without the optional package anywidget.
            ValueError: for an unknown field or an invalid value.
        """
        try:
            from transformer.api.notebook import TryWidget
        except ModuleNotFoundError as error:
            raise ImportError(
                'the widget needs the package anywidget: pip install "heads-up[widget]"'
            ) from error
        return TryWidget(self, {**fields, "text": text} if text else fields)

    def with_penalty(self, trace: Trace, length_penalty: float) -> Trace | None:
        """Return the trace of the same beam search with another length penalty.

        The model runs only if another translation wins. Returns None if the new search would need
        more steps than were recorded: call `trace` with the new penalty then.

        Raises:
            ValueError: for a trace that is not from a beam search without hooks, or is from a file;
                and for an invalid penalty.
        """
        search, translation_before = trace.translation.search, trace.translation
        if not isinstance(search, Hypotheses):
            raise ValueError(
                "the length penalty can only be changed for the trace of a beam search without "
                "hooks that was not loaded from a file"
            )
        replayed = search.with_length_penalty(length_penalty)
        if replayed is None:
            return None
        output = Output(replayed.decoded(), search=replayed)
        translation = self._translation(
            translation_before.source, [*translation_before.src_ids], output, replayed.options
        )
        if translation.ids != translation_before.ids:
            trace = self.trace(translation_before.source, translation.ids, names=trace.names)
        return replace(trace, translation=translation)

    def _translate(
        self,
        texts: list[str],
        targets: Sequence[str | Sequence[int]] | None,
        hooks: Hooks | None,
        decoding: Decoding,
        prefix: Sequence[int] = (),
    ) -> list[Translation]:
        sources = encode_sources(self.vocabulary, texts, self.model.config)
        target_ids = None if targets is None else self._all_target_ids(texts, targets, decoding)
        outputs = self._decoder.run(sources, decoding, hooks, target_ids, prefix=prefix)
        triples = zip(texts, sources, outputs, strict=True)
        return [self._translation(*triple, decoding, hooks) for triple in triples]

    def _trace(
        self,
        texts: list[str],
        targets: Sequence[str | Sequence[int]] | None,
        hooks: Hooks | None,
        names: NamesFilter,
        decoding: Decoding,
        prefix: Sequence[int] = (),
    ) -> list[Trace]:
        """Return a trace of each text. The encoder and the recorded decoder pass run once for each
        batch of sentences of similar length."""
        sources = encode_sources(self.vocabulary, texts, self.model.config)
        target_ids = None if targets is None else self._all_target_ids(texts, targets, decoding)
        traces: dict[int, Trace] = {}
        for indices in group_by_length([len(source) for source in sources], TRACED_SENTENCES):
            recording = Recording(self.model, hooks, names)
            memory = self._decoder.encode([sources[i] for i in indices], recording.hooks)
            if target_ids is None:
                outputs = self._decoder.decode(memory, decoding, hooks, prefix=prefix)
                ids = [output.decoded.ids for output in outputs]
                self._decoder.logits(memory, ids, recording.hooks)
            else:
                ids = [target_ids[i] for i in indices]
                outputs = self._decoder.decode(memory, decoding, recording.hooks, ids)
            tensors = recording.finished()
            for row, (i, output) in enumerate(zip(indices, outputs, strict=True)):
                translation = self._translation(texts[i], sources[i], output, decoding, hooks)
                traces[i] = trace_of(translation, self.model, self._pieces, tensors, row)
        return [traces[i] for i in range(len(texts))]

    def _all_target_ids(
        self, texts: list[str], targets: Sequence[str | Sequence[int]], decoding: Decoding
    ) -> list[list[int]]:
        if len(targets) != len(texts):
            raise ValueError(f"there are {len(texts)} texts and {len(targets)} targets")
        return [self._target_ids(target, decoding) for target in targets]

    def _target_ids(self, target: str | Sequence[int], decoding: Decoding) -> list[int]:
        return self._decoder.check_target(encode_target(self.vocabulary, target), decoding)

    def _translation(
        self,
        text: str,
        source: list[int],
        output: Output,
        decoding: Decoding,
        hooks: Hooks | None = None,
    ) -> Translation:
        decoded = output.decoded
        pieces = self._pieces
        tokens = tuple(pieces[id] for id in decoded.ids)
        probabilities = torch.tensor(decoded.log_probabilities, device="cpu").exp().tolist()
        table = StepTable(
            inputs=(pieces[self.model.config.bos_id], *tokens[:-1]),
            chosen=tuple(map(Candidate, tokens, decoded.ids, probabilities)),
            tokens=[[pieces[id] for id in row] for row in decoded.candidate_ids.tolist()],
            ids=decoded.candidate_ids.tolist(),
            probabilities=decoded.candidate_probabilities.tolist(),
        )
        log_probability = decoded.log_probability
        return Translation(
            source=text,
            src_ids=tuple(source),
            src_tokens=tuple(pieces[id] for id in source),
            text=self.vocabulary.decode(decoded.ids),
            ids=tuple(decoded.ids),
            tokens=tokens,
            finished=decoded.finished,
            log_probability=log_probability,
            score=log_probability / length_penalty(len(tokens), decoding.length_penalty),
            method=decoding.method or "greedy",
            table=table,
            seed=output.seed,
            tree=None if output.search is None else output.search.tree(pieces),
            search=None if hooks else output.search,
        )


def _text_list(texts: Iterable[str]) -> list[str]:
    if isinstance(texts, str):
        raise TypeError("a batch takes a list of texts; translate takes one text")
    return list(texts)


def load_unchanged(folder: str | os.PathLike[str], digest: str) -> Translator:
    """Load a checkpoint if it still has the hash that a computation was submitted with. Raises
    ValueError if it has changed, or OSError if it cannot be read."""
    if checkpoint_hash(Path(folder)) != digest:
        raise ValueError(
            f"the checkpoint {Path(folder).name} has changed since this was submitted; submit again"
        )
    return Translator.load(folder)


def _restore(model: Transformer, vocabulary: bytes, folder: Path | None) -> Translator:
    translator = Translator(model, Vocabulary(vocabulary))
    translator.folder = folder
    return translator
