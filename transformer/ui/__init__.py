"""The Streamlit user interface; no other package imports streamlit.

Folders are layers, the lowest first (`[tool.importlinter]` in pyproject.toml):

- `base/`: the fields of a page and the address that holds them, the list of pages, the visitor;
  `streamlit_fixes/`: workarounds for Streamlit bugs, one file each
- `services/`: models, traces, jobs, classes, uploads; shared by all sessions
- `widgets/`: what several pages show, and the frame of a page
- `pages/`: one folder a page; no page imports another
- `server/`: routes, lifespan, security headers
- `site/`: writes the static site

Computation belongs to the layers below `ui`, where a notebook can
call it too.
"""
