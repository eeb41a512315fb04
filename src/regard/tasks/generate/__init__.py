"""The task `generate`: language models, which continue and score texts."""
