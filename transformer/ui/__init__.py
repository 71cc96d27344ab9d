"""The Streamlit user interface; no other package imports streamlit.

Layers, the lowest first (`[tool.importlinter]` in pyproject.toml):

- `streamlit_fixes/`: workarounds for Streamlit bugs, one file each
- `state.py`, `address.py`: the fields of a page and the URL that holds them
- `services/`: models, traces, jobs, classes, uploads; shared by all sessions
- `shell/`: the server around the pages: routes, security headers, visitors, the page list
- `widgets/`: what several pages show
- `shell/page.py`: the frame of a page
- `pages/`: one folder a page; no page imports another

`site/` writes the static site. Computation belongs to the layers below `ui`, where a notebook can
call it too.
"""
