"""The server: models behind HTTP, with LibreTranslate's API, OpenAI's completions, regard's own routes and the page."""
