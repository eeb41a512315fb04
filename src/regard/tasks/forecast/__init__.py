"""The task `forecast`: the future of time series, a value and quantiles for every step."""
