"""Roles: every head measured over a corpus and named by published rules.

`head_measures` applies `transformer.measures`, with token properties from `corpus_tokens`;
`head_roles` names heads. Measures themselves are defined in `transformer.measures`, and no head is
changed here.
"""
