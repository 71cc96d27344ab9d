"""The server around the pages: security headers, start-up, shutdown, visitor identity, routes."""
