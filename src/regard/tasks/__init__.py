"""Tasks: translate, generate and classify. Each has its settings, its training objective, its served model and its evaluation."""
