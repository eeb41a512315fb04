"""The model directory: what it holds, how it is written, found, verified, read and described."""
