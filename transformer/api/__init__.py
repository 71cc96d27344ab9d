"""The server's engine: requests of the client and of other programs, answered by a model.

`routes` are Starlette routes. `requests` describes what they accept, `answers` computes the answers
of a loaded model, and `docs/http.md` is the manual. `notebook` answers the same requests in the
kernel of a notebook. Streamlit's pages use the same models and cached traces (`models`, `traces`)
and share the processors with them (`fair_slots`).
"""
