"""Pure tensor functions, one equation each; no weights, no text, no files."""
