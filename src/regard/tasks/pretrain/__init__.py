"""The task `pretrain`: models that learn from corrupted texts, to be trained further."""
