"""The only room that imports streamlit: the frame of a page, what a session remembers, its address
and the models. `kit/` has what pages put on the screen, `server/` what stands around them, and each
page a folder of its own. What computes lies on the floors below, where a notebook can call it."""
