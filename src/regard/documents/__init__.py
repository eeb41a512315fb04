"""Documents: text in files as segments to translate, and back, with all markup in its place. It knows no model, server or command."""
