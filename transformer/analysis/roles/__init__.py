"""Roles: every head measured over a corpus and named by published rules.

`head_measures` applies `transformer.measures`, with `corpus_tokens` for what these need to know;
`head_roles` names heads.
It may not define a measure (that is a module of `transformer.measures`), nor change a head.
"""
