"""The page Try as a notebook widget, answered by the notebook's kernel.

Needs the optional package anywidget (`pip install "heads-up[widget]"`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from transformer.analysis.alignment.aligner_head import ALIGNER_FILE, AlignerHead, load_aligner_head
from transformer.api.address_fields import LINKED
from transformer.api.client_data import client_data, model_data
from transformer.api.kinds import KINDS
from transformer.api.model_description import ModelDescription, describe_model
from transformer.api.models import Model, digest
from transformer.api.requests import FILE_FORMATS, METHODS
from transformer.figures.state import read_values
from transformer.figures.views import try_widget_module
from transformer.inference import Translator
from transformer.text.door import quoted, read_fields
from transformer.text.sentences import EXAMPLE
from transformer.text.visible import as_sentence

_MODULE = try_widget_module()
_VISITOR = "notebook"


class TryWidget(anywidget.AnyWidget):
    """The page Try for one translator, in Jupyter, marimo, VS Code or Colab.

        page = translator.explore("I am a student.", depth="off")
        page                             # draws it below the cell
        page.state["off"]                # in a later cell: the heads that are switched off
        page.address = {"off": "c1.6"}   # opens this place

    A change of the translator's weights is seen by the next request.

    Attributes:
        address: fields of a link to what is on screen, where they differ from the defaults, by the
            names in `address_fields.LINKED`. It can be set and observed.
    """

    _esm = _MODULE.script
    _css = _MODULE.style
    address = traitlets.Dict().tag(sync=True)

    def __init__(self, translator: Translator, address: Mapping[str, Any]) -> None:
        """Create the widget. Raises ValueError for an unknown field or an invalid value."""
        self._model = _opened(translator)
        super().__init__(address=_read_address(address))
        self.on_msg(self._respond)

    @property
    def state(self) -> dict[str, Any]:
        """All fields of `address_fields.LINKED`: what is on screen. A `layer` of -1 is the layer of
        the head that the page chooses itself."""
        examples = self._model.description.examples
        defaults = {name: field.default for name, field in LINKED.items()}
        return {**defaults, "text": examples[0] if examples else "", **self.address}

    @traitlets.validate("address")
    def _check_address(self, proposal: Any) -> dict[str, Any]:
        try:
            return _read_address(proposal["value"])
        except ValueError as error:
            raise traitlets.TraitError(str(error)) from None

    def _respond(self, _widget: object, message: Any, _buffers: object) -> None:
        """Answer a request of `client/engine/notebook.js`."""
        reply, data = {"id": message.get("id")}, b""
        try:
            data = self._answer(message.get("kind"), message.get("request"))
        except (ValueError, OverflowError) as error:
            reply["problem"] = as_sentence(error)
        except KeyboardInterrupt:
            reply["problem"] = "The computation was interrupted."
        except Exception as error:  # without a reply the page would wait
            reply["problem"] = f"The kernel raised {type(error).__name__}: {as_sentence(error)}"
        self.send(reply, [data])

    def _answer(self, name: str, values: object) -> bytes:
        """Return packed bytes, or JSON in UTF-8. Raises ValueError for a wrong request."""
        model = replace(self._model, hash=_fingerprint(self._model.translator))
        if name == "models":
            config = model.translator.model.config
            data = model_data(model.name, model.description, config, model.aligner)
            entry = {**data, "prepared": {"text": None}}
            answer: Any = client_data({model.name: entry}, methods=METHODS, files=FILE_FORMATS)
        elif name in KINDS:
            kind = KINDS[name]
            answer = kind.answer(_VISITOR, model, read_fields(values, kind.shape))
        else:
            raise ValueError(f"There is no request {quoted(name)}; there is {', '.join(KINDS)}.")
        return answer if isinstance(answer, bytes) else json.dumps(answer).encode()


def _read_address(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields with their values as numbers or text; True and False are 1 and 0."""
    numbers = {n: int(value) if isinstance(value, bool) else value for n, value in values.items()}
    return read_values(numbers, LINKED, "page Try")


def _opened(translator: Translator) -> Model:
    folder = translator.folder
    if folder is None:
        return Model("model", "", translator, _description(translator))
    name = folder.parent.name if folder.name == "checkpoint" else folder.name
    aligner = _aligner(translator, folder)
    return Model(name, "", translator, describe_model(folder), aligner)


def _description(translator: Translator) -> ModelDescription:
    """Describe a model without a folder; one that cannot read the usual examples reads symbols."""
    vocabulary = translator.vocabulary
    if vocabulary.unk_id not in vocabulary.encode(EXAMPLE):
        return ModelDescription()
    symbols = vocabulary.decode(range(4, min(len(vocabulary), 9)))  # 0 to 3 are special pieces
    return ModelDescription(examples=(symbols,), placeholder="Symbols separated by spaces")


def _aligner(translator: Translator, folder: Path) -> AlignerHead | None:
    """Return the aligner head that was measured for the folder's weights; None if there is none, or
    if the translator's weights have been changed."""
    if (folder / ALIGNER_FILE).is_file():
        with suppress(OSError, ValueError):
            stored = Translator.load(folder, str(translator.device))
            if _sums(stored) == _sums(translator):
                return load_aligner_head(folder, digest(folder), translator.model.config)
    return None


def _fingerprint(translator: Translator) -> str:
    """Return a text that changes when the weights are changed in place: `Model.hash`."""
    versions = [weight._version for weight in translator.model.parameters()]
    return repr((id(translator), versions, _sums(translator)))


def _sums(translator: Translator) -> list[float]:
    return [float(weight.detach().sum()) for weight in translator.model.parameters()]
