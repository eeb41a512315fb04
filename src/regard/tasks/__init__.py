"""Tasks: translate, generate, classify and forecast. Each has its settings, its training objective, its served model and its evaluation."""
