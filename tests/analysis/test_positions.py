"""Positions in numbers: against the closed form by hand, against torch, and by brute force."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from transformer import Translator
from transformer.analysis import positions
from transformer.config import ModelConfig
from transformer.model import Transformer
from transformer.model.positions import sinusoidal as models_own
from transformer.text import Vocabulary
from transformer.text.tasks import TASKS

TEXTS = ("The baker paints a boat.", "A pilot finds bread.", "She hides the lamp again.")
TARGETS = ("Le boulanger peint un bateau.", "Un pilote trouve du pain.", "Elle cache la lampe.")


def small(vocabulary: Vocabulary, **more: object) -> Translator:
    """A model that has learned nothing; its weights are seeded."""
    shape = {"d_model": 16, "n_heads": 2, "n_layers": 1, "d_ff": 16, "vocab_size": len(vocabulary)}
    with torch.random.fork_rng():
        torch.manual_seed(1)
        model = Transformer(ModelConfig(**{**shape, **more}))  # type: ignore[arg-type]
    return Translator(model.eval(), vocabulary)


@pytest.fixture(scope="module")
def letters() -> Vocabulary:
    return Vocabulary.of_symbols(TASKS["copy"].symbols)


def test_wavelengths_go_from_two_pi_to_just_below_ten_thousand_times_that() -> None:
    found = positions.wavelengths(512)
    assert found[0] == pytest.approx(2 * math.pi)
    assert found[-1] == pytest.approx(2 * math.pi * 10_000 ** (510 / 512))
    # A geometric progression (section 3.5): each a fixed factor longer than the one before.
    np.testing.assert_allclose(found[1:] / found[:-1], 10_000 ** (2 / 512))


def test_a_wave_repeats_after_its_wavelength() -> None:
    """A base for which a wavelength is whole: 2π/ω is 2π·10000^(2i/d), taken as a distance."""
    width = 8
    for i, wavelength in enumerate(positions.wavelengths(width)):
        angle = 2 * math.pi / wavelength
        column = positions.sinusoidal(40, width)[:, 2 * i]
        np.testing.assert_allclose(column, [math.sin(p * angle) for p in range(40)], atol=1e-12)


@pytest.mark.parametrize(("width", "start"), [(6, 0), (7, 3), (64, 1000)])
def test_the_table_is_the_models_own(width: int, start: int) -> None:
    own = models_own(50, width, start).numpy()
    np.testing.assert_allclose(positions.sinusoidal(50, width, start), own, atol=1e-6)


@pytest.mark.parametrize("width", [6, 7])
def test_the_slip_moves_cosines_alone(width: int) -> None:
    by_hand = [
        [
            math.sin(p / 10_000 ** (j / width))
            if j % 2 == 0
            else math.cos(p / 10_000 ** (j / width))
            for j in range(width)
        ]
        for p in range(30)
    ]
    np.testing.assert_allclose(positions.slip(30, width), by_hand, atol=1e-12)
    np.testing.assert_array_equal(
        positions.slip(30, width)[:, 0::2], positions.sinusoidal(30, width)[:, 0::2]
    )


def test_the_dot_product_depends_on_the_distance_alone() -> None:
    rows = positions.sinusoidal(200, 32)
    for p in (0, 5, 61, 150):
        for k in (0, 1, 7, 49):
            found = float(positions.by_distance(32, k))
            assert found == pytest.approx(
                sum(a * b for a, b in zip(rows[p], rows[p + k], strict=True))
            )
    assert float(positions.by_distance(32, 0)) == 16
    np.testing.assert_allclose(
        positions.by_distance(32, np.arange(-3, 4)), positions.by_distance(32, np.arange(3, -4, -1))
    )


def test_distances_are_those_of_all_pairs() -> None:
    rows = np.random.default_rng(0).normal(size=(9, 5))
    found = positions.distances(rows, 8)
    for k in range(9):
        each = [rows[p] @ rows[p + k] for p in range(9 - k)]
        wanted = [k, np.mean(each), min(each), max(each)]
        np.testing.assert_allclose(found.loc[k, ["k", "mean", "least", "most"]].to_list(), wanted)
    with pytest.raises(ValueError, match="no rows of 9 are 9 apart; 8 is the most"):
        positions.distances(rows, 9)


@pytest.mark.parametrize("k", [0, 1, 13, -1, -40])
def test_a_shift_is_one_rotation_of_every_pair(k: int) -> None:
    turn = positions.shift_matrix(k, 16)
    rows = positions.sinusoidal(100, 16)
    for p in (40, 50, 59):
        np.testing.assert_allclose(turn @ rows[p], rows[p + k], atol=1e-12)
    np.testing.assert_allclose(turn @ turn.T, np.eye(16), atol=1e-12)
    np.testing.assert_allclose(
        turn, np.linalg.matrix_power(positions.shift_matrix(1, 16), k), atol=1e-9
    )
    assert positions.shift_errors(rows, k).shape == (100 - abs(k),)
    assert positions.shift_errors(rows, k).max() < 1e-12


def test_a_table_that_is_no_sinusoid_does_not_shift() -> None:
    rows = positions.sinusoidal(60, 16)
    rows[30, 3] += 0.25
    errors = positions.shift_errors(rows, 2)
    # Row 30 is wrong as an end (28) and as a beginning, where its two numbers mix (30).
    assert np.flatnonzero(errors > 1e-9).tolist() == [28, 30]
    assert errors[28] == pytest.approx(0.25)


def test_an_odd_width_has_a_sine_without_its_cosine() -> None:
    for asked in (lambda: positions.shift_matrix(1, 7), lambda: positions.by_distance(7, 1)):
        with pytest.raises(ValueError, match="its cosine, not 7"):
            asked()


def test_the_papers_pairs_lie_on_a_circle_and_the_slips_do_not() -> None:
    np.testing.assert_allclose(positions.pair_lengths(positions.sinusoidal(50, 12)), 1)
    lengths = positions.pair_lengths(positions.slip(50, 12))
    np.testing.assert_allclose(lengths[0], 1)  # at position 0 every sine is 0 and every cosine 1
    rows = positions.slip(50, 12)
    assert lengths[7, 2] == pytest.approx(rows[7, 4] ** 2 + rows[7, 5] ** 2)
    assert lengths.max() > 1.9
    assert lengths.min() < 0.1


def test_no_matrix_moves_the_slip_along() -> None:
    width = 16
    paper, slipped = positions.sinusoidal(400, width), positions.slip(400, width)
    for k in (1, 7, -7):
        assert positions.pair_residuals(paper, k).max() < 1e-12
        assert positions.map_residual(paper, k) < 1e-12
        left = positions.pair_residuals(slipped, k)
        assert left[:3].min() > 0.1
        # The slowest pairs hardly turn in 400 positions: there almost any matrix will do.
        assert left[-1] < 1e-3
        assert positions.map_residual(slipped, k) > 0.1
    # Against torch's own least squares, pair by pair.
    here, there = torch.tensor(slipped[:-7]), torch.tensor(slipped[7:])
    for i, found in enumerate(positions.pair_residuals(slipped, 7)):
        a, b = here[:, 2 * i : 2 * i + 2], there[:, 2 * i : 2 * i + 2]
        left = a @ torch.linalg.lstsq(a, b).solution - b
        assert found == pytest.approx(left.abs().max().item(), rel=1e-6)


def test_what_the_slip_does_not_break() -> None:
    """Half the dot product is still of the distance alone, and positions can be told apart."""
    width, k = 16, 5
    sines = 10_000.0 ** (-np.arange(0, width, 2) / width)
    cosines = 10_000.0 ** (-(np.arange(0, width, 2) + 1) / width)
    rows = positions.slip(300, width)
    for p in (0, 3, 90):
        constant = 0.5 * (np.cos(sines * k) + np.cos(cosines * k)).sum()
        moving = 0.5 * (np.cos(cosines * (2 * p + k)) - np.cos(sines * (2 * p + k))).sum()
        assert rows[p] @ rows[p + k] == pytest.approx(constant + moving)
    apart = np.linalg.norm(rows[:, None] - rows[None], axis=-1) + 9 * np.eye(300)
    assert apart.min() > 0.1
    assert np.abs(rows).max() <= 1


def test_too_few_positions_say_nothing_and_are_refused() -> None:
    rows = positions.slip(17, 16)
    with pytest.raises(ValueError, match="16 positions fit any matrix of 16 dimensions"):
        positions.map_residual(rows, 1)
    with pytest.raises(ValueError, match="2 positions are too few"):
        positions.pair_residuals(rows, 15)
    with pytest.raises(ValueError, match="no rows of 17 are 17 apart"):
        positions.shift_errors(rows, -17)


def test_what_is_added_is_what_the_first_layer_reads(
    tiny_model: Transformer, vocabulary: Vocabulary
) -> None:
    trace = Translator(tiny_model, vocabulary).trace(TEXTS[0])
    for side, stack in positions.STACKS.items():
        found = positions.added(trace, side)
        own = tiny_model.embedding.weight[
            list(getattr(trace, f"{side[:1]}{'rc' if side == 'source' else 'gt'}_ids"))
        ]
        own = own.detach() * math.sqrt(tiny_model.config.d_model)
        places = models_own(len(own), tiny_model.config.d_model)
        np.testing.assert_allclose(found["embedding"], own.norm(dim=1), rtol=1e-5)
        np.testing.assert_allclose(found["encoding"], math.sqrt(64 / 2), rtol=1e-6)
        cosine = torch.cosine_similarity(own, places, dim=1)
        np.testing.assert_allclose(found["cosine"], cosine, atol=1e-5)
        read = np.linalg.norm(trace[f"{stack}.embed.hook_output"], axis=1)
        np.testing.assert_allclose(found["sum"], read, rtol=1e-5)
        # The law of cosines, which ties the four.
        square = found["embedding"] ** 2 + found["encoding"] ** 2
        square += 2 * found["embedding"] * found["encoding"] * found["cosine"]
        np.testing.assert_allclose(found["sum"] ** 2, square, rtol=1e-5)
    assert tuple(positions.added(trace, "target")["token"]) == trace.tgt_tokens
    with pytest.raises(ValueError, match="side must be 'source' or 'target', not 'encoder'"):
        positions.added(trace, "encoder")


def test_a_model_without_positions_adds_nothing(vocabulary: Vocabulary) -> None:
    translator = small(vocabulary, positions="none")
    found = positions.added(translator.trace(TEXTS[0]), "source")
    assert not found["encoding"].any()
    assert not found["cosine"].any()
    np.testing.assert_allclose(found["sum"], found["embedding"])
    assert not positions.table(translator.model, "source", 5).any()


def test_the_table_of_a_model_is_its_own_and_a_copy(vocabulary: Vocabulary) -> None:
    model = small(vocabulary, positions="learned", max_len=12).model
    for side, stack in positions.STACKS.items():
        weight = getattr(model, stack).embed.positions.weight
        found = positions.table(model, side, 4, start=8)
        np.testing.assert_array_equal(found, weight[8:].detach().numpy())
        found[:] = 0
        assert weight[8:].any()
    with pytest.raises(
        ValueError, match="learned 12 positions; a sequence of 13 tokens needs more"
    ):
        positions.table(model, "target", 13)


def test_a_sinusoid_is_found_again_and_noise_is_not_taken_for_one() -> None:
    places = np.arange(40)[:, None]
    lengths = np.array([7.3, 12.0, 31.0])
    waves = 3 * np.sin(2 * np.pi * places / lengths + [0.1, 1.0, 2.0]) + [5, -5, 0]
    fit = positions.sinusoid_fit(waves)
    np.testing.assert_allclose(fit.wavelength, lengths, rtol=0.03)
    assert fit.r2.min() > 0.98
    noise = positions.sinusoid_fit(positions.noise_like(np.empty((40, 400)))).r2
    # By chance alone two of 39 directions hold about 2/39, and the best of many more.
    assert 2 / 39 < np.median(noise) < 0.4
    assert np.median(positions.sinusoid_fit(positions.noise_like(np.empty((11, 400)))).r2) > 0.4


def test_the_fit_is_that_of_least_squares() -> None:
    """The same wavelengths, one after the other, by numpy's lstsq with a constant column."""
    rows = np.random.default_rng(3).normal(size=(15, 4))
    fit = positions.sinusoid_fit(rows, steps=50)
    best = np.zeros(4)
    for wavelength in np.geomspace(2, 60, 50):
        angle = 2 * np.pi * np.arange(15) / wavelength
        design = np.stack([np.sin(angle), np.cos(angle), np.ones(15)], axis=1)
        left = rows - design @ np.linalg.lstsq(design, rows, rcond=1e-9)[0]
        best = np.maximum(
            best, 1 - (left**2).sum(axis=0) / (rows - rows.mean(axis=0)).__pow__(2).sum(axis=0)
        )
    np.testing.assert_allclose(fit.r2, best, atol=1e-6)


def test_a_dimension_that_never_changes_is_explained_by_nothing() -> None:
    assert positions.sinusoid_fit(np.ones((10, 2))).r2.tolist() == [0, 0]
    with pytest.raises(ValueError, match="6 positions or more, not 5"):
        positions.sinusoid_fit(np.ones((5, 2)))


def test_moved_to_the_beginning_is_not_moved(
    tiny_model: Transformer, vocabulary: Vocabulary
) -> None:
    translator = Translator(tiny_model, vocabulary)
    pairs = list(zip(TEXTS, TARGETS, strict=True))
    plain = [translator.translate(src, target=tgt) for src, tgt in pairs]
    pieces = sum(len(one.ids) for one in plain)
    wanted = sum(one.log_probability for one in plain) / pieces
    assert positions.moved(translator, pairs, 0) == pytest.approx(wanted, rel=1e-4)
    assert positions.moved(translator, pairs, 30) != pytest.approx(wanted, rel=1e-3)


def test_moved_by_hand(vocabulary: Vocabulary) -> None:
    """As a model whose table begins later reads the same ids."""
    translator = small(vocabulary, positions="learned", max_len=40)
    later = small(vocabulary, positions="learned", max_len=40)
    with torch.no_grad():
        for stack in (later.model.encoder, later.model.decoder):
            weight = stack.embed.positions.weight
            weight.copy_(weight.roll(-9, dims=0))
    pair = [(TEXTS[0], TARGETS[0])]
    assert positions.moved(translator, pair, 9) == pytest.approx(
        positions.moved(later, pair, 0), rel=1e-4
    )
    with pytest.raises(ValueError, match="learned 40 positions"):
        positions.moved(translator, pair, 35)


def test_without_positions_no_place_is_far(vocabulary: Vocabulary) -> None:
    translator = small(vocabulary, positions="none")
    pairs = list(zip(TEXTS, TARGETS, strict=True))
    assert positions.moved(translator, pairs, 500) == positions.moved(translator, pairs, 0)


def test_joined_texts_are_one_text(tiny_model: Transformer, vocabulary: Vocabulary) -> None:
    translator = Translator(tiny_model, vocabulary)
    pieces, found = positions.joined(translator, list(zip(TEXTS[:2], TARGETS[:2], strict=True)))
    whole = translator.translate(" ".join(TEXTS[:2]), target=" ".join(TARGETS[:2]))
    assert pieces == len(whole.src_ids)
    assert found == pytest.approx(whole.log_probability / len(whole.ids))
    with pytest.raises(ValueError, match="at most 512"):
        positions.joined(translator, [(TEXTS[0], TARGETS[0])] * 200)


@pytest.mark.parametrize("task", positions.BEYOND)
@pytest.mark.parametrize("length", [2, 17])
def test_a_model_that_knows_nothing_gets_nothing_right(
    task: str, length: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    translator = small(Vocabulary.of_symbols(TASKS[task].symbols))
    read: list[str] = []
    batch = translator.translate_batch
    monkeypatch.setattr(
        translator, "translate_batch", lambda texts, **more: batch(read_into(read, texts), **more)
    )
    assert positions.by_length(translator, task, length, n=5) == positions.Right(length, 0.0)
    assert [len(text.split()) for text in read] == [length] * 5


def read_into(read: list[str], texts: list[str]) -> list[str]:
    read += texts
    return texts


def test_a_model_that_is_always_right_is_seen_to_be(
    letters: Vocabulary, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What comes back is the source: right when the task is to copy, and wrong when to reverse."""
    translator = small(letters)
    done = translator.translate("a b c", target="a b c")
    monkeypatch.setattr(
        translator,
        "translate_batch",
        lambda texts, **_: [replace(done, text=text, finished=True) for text in texts],
    )
    assert positions.by_length(translator, "copy", 12, n=7, letters=5).share == 1
    assert positions.by_length(translator, "reverse", 12, n=7, letters=26).share == 0
    monkeypatch.setattr(
        translator,
        "translate_batch",
        lambda texts, **_: [replace(done, text=text, finished=False) for text in texts],
    )
    assert positions.by_length(translator, "copy", 12, n=7).share == 0


def test_where_learned_positions_end_the_error_is_told(letters: Vocabulary) -> None:
    translator = small(letters, positions="learned", max_len=12)
    assert positions.by_length(translator, "copy", 11, n=3).share == 0
    beyond = positions.by_length(translator, "copy", 12, n=3)
    assert beyond.share is None
    assert beyond.why == (
        "The text has 13 pieces; at most 12 can be translated at once. Split it into sentences."
    )


def test_lengths_and_tasks_that_there_are_not(letters: Vocabulary) -> None:
    assert set(positions.BEYOND) == {"copy", "reverse", "sort", "cipher", "brackets"}
    with pytest.raises(ValueError, match="'dates' has no lengths: choose one of copy"):
        positions.by_length(small(letters), "dates", 3)
    with pytest.raises(ValueError, match="longest is 21; it must be from 1 to 20"):
        positions.by_length(small(letters), "copy", 21)


def test_our_sentences_are_written_as_people_write() -> None:
    pairs = positions.sentences(300)
    assert len({source for source, _ in pairs}) == 300
    for source, target in pairs:
        assert source[0].isupper()
        assert target[0].isupper()
        assert "  " not in source + target
        for text in (source, target):
            assert " ." not in text
            assert " '" not in text
            assert "' " not in text
    asked = [pair for pair in pairs if pair[0].endswith("?")]
    assert asked
    assert all(target.endswith(" ?") and not source.endswith(" ?") for source, target in asked)


def test_texts_of_their_own_are_counted_from_the_first(
    tiny_model: Transformer, vocabulary: Vocabulary
) -> None:
    translator = Translator(tiny_model, vocabulary)
    pairs = list(zip(TEXTS, TARGETS, strict=True))
    found = positions.apart(translator, pairs, (1, 3))
    each = [translator.translate(src, target=tgt) for src, tgt in pairs]
    assert found[0] == pytest.approx(each[0].log_probability / len(each[0].ids), rel=1e-4)
    assert found[1] == pytest.approx(positions.moved(translator, pairs, 0), rel=1e-4)
