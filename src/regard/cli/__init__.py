"""The command line: one file for each command. Heavy imports are inside the commands. Nothing imports this package."""
