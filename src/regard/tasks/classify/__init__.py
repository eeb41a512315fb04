"""The task `classify`: one label for a text, or one for each of its words (tagging)."""
