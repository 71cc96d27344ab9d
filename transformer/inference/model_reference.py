"""The model that made a trace, without keeping it in memory."""

from __future__ import annotations

import weakref

from transformer.model import Transformer


class ModelReference:
    """A weak reference to a model, or to none; a copy in another process has none."""

    def __init__(self, model: Transformer | None = None) -> None:
        self._find = None if model is None else weakref.ref(model)

    def __reduce__(self) -> tuple[type[ModelReference], tuple[()]]:
        return ModelReference, ()

    def get(self) -> Transformer:
        """Return the model. Raises ValueError if there is none, or if it has been deleted."""
        model = None if self._find is None else self._find()
        if model is None:
            raise ValueError(
                "this trace does not know its model any more: it was read from a file, or is of "
                "another library's model; make it with Translator.trace, or pass model and trace "
                "to the functions of transformer.analysis.attribution"
            )
        return model
