"""Inference engines: run a network on batches of ids, by torch or CTranslate2. They know no task; `tasks/` adds text."""
