"""The server around the pages: routes, lifespan, security headers, updates of a class."""
