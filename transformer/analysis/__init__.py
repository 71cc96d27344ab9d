"""Numbers about a model: roles, alignment, attribution, importance, findings, Table 1.

Rooms, each below those after it: `evidence`, `corpora`, `attribution`, `alignment`,
`interventions`, `importance`, `roles`, `findings`; `inside`, `positions` and `table1` stand for
themselves. `reports` names all that can be asked over a corpus, for the shell and for the pages.
Nothing here draws, waits in a queue or knows a page.
"""
