"""The only room that imports streamlit: the frame of a page, what a session remembers, the caches,
and the browser views on the page. What computes lives downstairs, where a notebook can call it."""
