"""The Streamlit user interface; no other package imports streamlit.

It has the frame of every page, the state of a session, its address and the cached models. `kit/`
has widgets that several pages share, `server/` the server around the pages, and each page has a
folder. Computation belongs to the lower layers, where a notebook can call it too.
"""
