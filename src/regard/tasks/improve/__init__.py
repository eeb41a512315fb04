"""More from little text: a plan of stages that adds translations of models to the text of a run, and what the result is worth."""
