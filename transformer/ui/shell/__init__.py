"""The server around the pages: the ASGI application, its routes, and who may reach it."""
