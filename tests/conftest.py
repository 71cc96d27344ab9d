"""Configuration and fixtures of all tests: shape checks, a tiny model, and a check for leaks."""

from __future__ import annotations

import gc
import itertools
import os
import random
import shutil
import sys
from collections.abc import Generator, Iterator
from pathlib import Path

# Use one thread, also in processes that tests start: tiny models are not faster with more threads,
# and sums are equal on every machine. If a test sets more threads, they sleep while they wait for
# each other (see `transformer/__init__.py`). OpenMP reads both variables when torch is imported.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import jaxtyping

import tests.shapes

# The shapes in signatures of modules that are imported from here on are checked at calls. Modules
# without shapes are left out, because mypy checks their types.
ROOT = Path(__file__).resolve().parents[1]
MODULES_WITH_SHAPES = [
    ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for file in ROOT.glob("transformer/**/*.py")
    if "jaxtyping" in file.read_text("utf-8")
]
assert "transformer" not in sys.modules, "imported too early for its shapes to be checked"
jaxtyping.install_import_hook(MODULES_WITH_SHAPES, f"{tests.shapes.__name__}.checked")

import hypothesis
import pytest
import torch

# `TEST_DEVICE=cuda pytest tests/model tests/inference tests/training` runs them on a GPU, and
# TEST_DEVICE=pretend on a pretend one. Models and tensors that tests make are then on this device.
DEVICE = os.environ.get("TEST_DEVICE", "cpu")
if DEVICE == "pretend":
    from tests import pretend_device

    pretend_device.install("cuda")  # before the modules that it changes are imported
if DEVICE != "cpu":
    torch.set_default_device(DEVICE)

from tests import leaks
from tests.warm_python import warm_python
from transformer.checkpoint import save_checkpoint
from transformer.config import ModelConfig
from transformer.inference.translator import Translator
from transformer.model.transformer import Transformer
from transformer.text.languages import front_matter
from transformer.text.vocabulary import Vocabulary

# Every run has the same examples, so that a new failure is caused by a change, and no deadline,
# because the machine may be busy. For more examples: pytest --hypothesis-profile=explore
hypothesis.settings.register_profile("repeatable", derandomize=True, deadline=None, max_examples=50)
hypothesis.settings.register_profile("explore", deadline=None, max_examples=1000)
hypothesis.settings.load_profile("repeatable")

torch.set_num_threads(1)

_SUBJECTS = {
    "The baker": "Le boulanger",
    "My aunt": "Ma tante",
    "A pilot": "Un pilote",
    "She": "Elle",
}
_VERBS = {"paints": "peint", "sells": "vend", "hides": "cache", "finds": "trouve"}
_NOUN_PHRASES = {
    "a boat": "un bateau",
    "the lamp": "la lampe",
    "bread": "du pain",
    "books": "des livres",
}
_ADVERBS = {"today": "aujourd'hui", "at night": "la nuit", "again": "encore", "first": "d'abord"}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--sentences", type=int, default=8, help="random sentences for each model in test_truth.py"
    )


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Exclude the imported modules from garbage collection, since they are never freed."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """If another device than the CPU is tested, skip the tests that make no sense on it."""
    markers = {"cpu": [], "pretend": ["cpu", "real_device"]}.get(DEVICE, ["cpu"])
    skip = pytest.mark.skip(reason=f"makes no sense on {DEVICE}")
    for item in items:
        if any(item.get_closest_marker(name) for name in markers):
            item.add_marker(skip)


@pytest.fixture(scope="session")
def pairs() -> list[tuple[str, str]]:
    """200 different English–French pairs, composed of a few words."""
    sentences = [
        (" ".join(words), " ".join(french_words))
        for words, french_words in (
            zip(*phrases, strict=True)
            for phrases in itertools.product(
                *(d.items() for d in (_SUBJECTS, _VERBS, _NOUN_PHRASES, _ADVERBS))
            )
        )
    ]
    sample = random.Random(0).sample(sentences, 200)
    return [(f"{english}.", f"{french}.") for english, french in sample]


@pytest.fixture(scope="session")
def pairs_file(tmp_path_factory: pytest.TempPathFactory, pairs: list[tuple[str, str]]) -> Path:
    """The 200 pairs as a file."""
    path = tmp_path_factory.mktemp("corpus") / "pairs.tsv"
    path.write_text("".join(f"{source}\t{target}\n" for source, target in pairs), "utf-8")
    return path


@pytest.fixture(scope="session")
def vocabulary(pairs: list[tuple[str, str]]) -> Vocabulary:
    """A vocabulary of 320 tokens, including 256 bytes, learned from both sides of `pairs`."""
    return Vocabulary.train(itertools.chain.from_iterable(pairs), 320)


@pytest.fixture(scope="session")
def tiny_model(vocabulary: Vocabulary) -> Transformer:
    """The `tiny` preset with `vocabulary` and random weights, in evaluation mode."""
    with torch.random.fork_rng(), torch.device("cpu"):  # the same weights on every device
        torch.manual_seed(1)
        model = Transformer(ModelConfig.preset("tiny", vocab_size=len(vocabulary)))
    return leaks.share_model(model.to(DEVICE))


@pytest.fixture(scope="session")
def translator(tiny_model: Transformer, vocabulary: Vocabulary) -> Translator:
    """A translator with `tiny_model`."""
    return Translator(tiny_model, vocabulary)


@pytest.fixture(scope="session")
def checkpoints(
    tmp_path_factory: pytest.TempPathFactory, tiny_model: Transformer, vocabulary: Vocabulary
) -> Path:
    """A folder of checkpoints that contains only `tiny`."""
    folder = tmp_path_factory.mktemp("app") / "checkpoints"
    card = f"{front_matter(('en', 'fr'))}# A tiny model\n"
    save_checkpoint(folder / "tiny", tiny_model, vocabulary, card)
    return folder


@pytest.fixture(scope="session")
def warm_path(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A PATH whose `python` starts without importing torch again (`tests/warm_python.py`)."""
    with warm_python(tmp_path_factory.mktemp("python")) as path:
        yield path


@pytest.fixture(scope="session")
def chromium() -> str | None:
    """Return the path of this machine's Chromium for Playwright; None for Playwright's own."""
    return shutil.which("chromium")


@pytest.fixture(autouse=True)
def fail_on_leaks() -> Iterator[None]:
    """Fail a test that changes state which other tests or sessions share."""
    torch.manual_seed(0)
    process_before, children = leaks.process_state(), leaks.children()
    models = [(model, leaks.model_state(model)) for model in leaks.shared_models]
    yield
    leaked = leaks.changes(process_before, leaks.process_state())
    for model, state in models:
        leaked += [
            f"shared model, {change}" for change in leaks.changes(state, leaks.model_state(model))
        ]
    leaked += leaks.stop(leaks.children() - children)
    if leaked:
        pytest.fail("the test changed shared state: " + "; ".join(leaked))
