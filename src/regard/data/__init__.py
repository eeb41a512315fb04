"""Corpora on disk become encoded examples, and examples become frozen batches of tensors. No model is known here."""
