"""The Train page: three cards, the form, the page of a run, and the list of runs."""

from __future__ import annotations

from dataclasses import dataclass

from transformer.text.tasks import TASKS
from transformer.ui.base.address import View, field
from transformer.ui.base.registry import Page

HERE_FORM = (
    r"[a-zA-Z0-9_.,;=@~-]{0,2000}",
    'settings of a run in the browser, like "task=reverse;seed=3"',
)
OWN_PAIRS = "own"
"""The form's value for the visitor's own sentence pairs, instead of a task."""
FORMS = {**{name: task.title for name, task in TASKS.items()}, OWN_PAIRS: "Your own sentences"}
"""What the form can train, with the labels."""


@dataclass(frozen=True)
class Train(View):
    """Address fields of the page: the name of the open run; "" is none.

    Attributes:
        form: the task of the open form; "" is none.
        here: the run that trains in the browser, as `client/app/trainer/link.js` writes it.
    """

    run: str = field()
    form: str = field(choices=("", *FORMS))
    here: str = field(form=HERE_FORM)


PAGE = Page(
    "pages/train.py",
    "Train",
    Train,
    "**Train** a model, and watch attention form →",
    "A small model learns to reverse, to sort or to write simple French, in seconds.",
)
