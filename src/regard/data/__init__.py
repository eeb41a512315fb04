"""Reading and checking corpora, encoding them on disk, and making batches of tensors. It knows no model."""
