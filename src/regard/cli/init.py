"""`regard init`: every setting with its meaning and default, as a TOML file to change."""


def init() -> None:
    """Print a config with every setting explained: regard init > run.toml"""
    from regard.cli.streams import results
    from regard.settings import to_toml
    from regard.train.config import RunConfig

    with results(None) as stream:
        stream.write("# A run of regard. Start it with: regard train run.toml --out runs/first\n")
        stream.write(to_toml(RunConfig))
