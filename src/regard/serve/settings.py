"""`ServeSettings`: what `regard serve` does, from serve.toml, `--set` and flags. It opens no file and starts nothing."""

from pathlib import Path
from typing import Any

from pydantic import Field, field_validator, model_validator

from regard.bundle.precision import PrecisionChoice
from regard.search.options import LONGEST_OUTPUT, MOST_HYPOTHESES, SearchOptions
from regard.settings import Settings
from regard.tasks.checks import Engine
from regard.text.protected import MOST_PATTERNS, Protection


class LimitSettings(Settings):
    """The limits of one request. Beyond them the answer is 400, 413, 429 or 504."""

    body_bytes: int = Field(default=2 << 20, ge=1024)
    """Bytes of a body, counted while they arrive."""
    file_bytes: int = Field(default=10 << 20, ge=1024)
    """Bytes of a body of `/translate_file`."""
    header_bytes: int = Field(default=16 << 10, ge=1024)
    """Bytes of the request line and all headers."""
    headers: int = Field(default=64, ge=8)
    """Headers of a request."""
    upload_seconds: float = Field(default=30.0, gt=0)
    """Seconds within which the headers, and then the body, must have arrived."""
    send_seconds: float = Field(default=30.0, gt=0)
    """Seconds that a client may leave its answer unread; then its connection is cut."""
    characters: int = Field(default=200_000, ge=1)
    """Characters of all texts of a request."""
    batch_texts: int = Field(default=1000, ge=1)
    """Texts of a request."""
    beam: int = Field(default=10, ge=1, le=MOST_HYPOTHESES)
    """The widest beam, or the most samples."""
    alternatives: int = Field(default=5, ge=0, le=MOST_HYPOTHESES)
    """The most alternatives beside a translation."""
    glossary: int = Field(default=200, ge=0)
    """Terms that a request may bring; 0: none."""
    protect: int = Field(default=20, ge=0, le=MOST_PATTERNS // 2)
    """Strings that a request may protect; 0: none."""
    max_length: int = Field(default=2000, ge=1, le=LONGEST_OUTPUT)
    """The longest output that a request may ask for, in tokens."""
    seconds: float = Field(default=60.0, gt=0)
    """Seconds of a request; then it is cancelled, with 504."""
    file_seconds: float = Field(default=600.0, gt=0)
    """Seconds of `/translate_file`."""
    queue: int = Field(default=4096, ge=1)
    """Texts that may wait. A request that does not fit is refused with 429."""
    jobs: int = Field(default=64, ge=1)
    """Pieces of work besides translation, such as explanations, that may wait or run."""
    wait_seconds: float = Field(default=10.0, gt=0)
    """The longest wait, as the present speed lets expect it. A request that would wait longer is refused with 429."""
    burst_seconds: float = Field(default=0.5, ge=0)
    """Seconds that the queue may be longer than two batches. Then requests are refused until it is shorter."""
    connections: int = Field(default=1000, ge=1)
    """Requests at the same time, waiting ones included."""


class RateSettings(Settings):
    """Requests a minute, by token buckets. 0: no limit."""

    per_address: int = Field(default=0, ge=0)
    """Of an address without a key."""
    per_key: int = Field(default=0, ge=0)
    """Of a key; the file of keys may state another rate for one."""
    wrong_keys: int = Field(default=30, ge=1)
    """Wrong keys of an address. Beyond it even a right one is refused."""
    proxies: tuple[str, ...] = ()
    """Addresses of proxies whose `X-Forwarded-For` names the client."""


class BatchSettings(Settings):
    """How texts of several requests share a search."""

    texts: int = Field(default=32, ge=1)
    """The most texts of a batch."""
    characters: int = Field(default=4000, ge=1)
    """The most characters of a batch, unless a single text has more."""
    delay: float = Field(default=0.002, ge=0, le=1)
    """Seconds that an idle worker waits for more texts."""
    slice: int = Field(default=8, ge=1)
    """The texts of one request that enter a batch before the other requests have their turn."""
    workers: int = Field(default=0, ge=0)
    """Worker threads; 0: one for each usable core."""


class StorageSettings(Settings):
    """Translated files that wait for their download."""

    files: int = Field(default=100, ge=1)
    """The most files; the oldest goes first."""
    bytes: int = Field(default=200 << 20, ge=1)
    """Their bytes in all."""
    seconds: float = Field(default=3600, gt=0)
    """How long a file is kept."""


class SuggestionSettings(Settings):
    """Better translations that users send to `/suggest`."""

    directory: Path | None = None
    """The directory of their TSV files, one for each direction. None: suggestions are refused."""
    bytes: int = Field(default=50 << 20, ge=1)
    """The largest such file."""


class ServeSettings(Settings):
    """The settings of a server."""

    host: str = Field(default="127.0.0.1", min_length=1)
    """The address to listen on; 0.0.0.0 is every address of this machine."""
    port: int = Field(default=5000, ge=0, le=65535)
    """The port; 0: a free one."""
    api_keys: Path | None = None
    """A file with one key a line, and optionally its requests a minute. None: no key is needed."""
    cors: tuple[str, ...] = ()
    """Origins whose pages may use the API, such as https://example.org."""
    precision: PrecisionChoice = "float32"
    """The precision of CTranslate2's weights."""
    engine: Engine = "auto"
    """The engine of translators."""
    device: str = "cpu"
    """The device of torch."""
    beam: int = Field(default=5, ge=1, le=MOST_HYPOTHESES)
    """The beam of `/translate`."""
    alpha: float = Field(default=1.0, ge=0)
    """The length normalisation of `/translate`."""
    languages: dict[str, str] = Field(default_factory=dict)
    """Model -> its languages, such as "demo" = "fr-en", of bundles that do not state them."""
    glossary: dict[str, Path] = Field(default_factory=dict)
    """Direction -> its glossary, such as "fr-en" = "terms.tsv"; one file alone is that of the only direction."""
    protect: tuple[str, ...] = ()
    """Regular expressions of what every translation keeps as it is; also `default` and `numbers`."""
    cache: int = Field(default=0, ge=0)
    """Translations that are kept in memory; 0: none."""
    log_texts: bool = False
    """Whether the log has the texts of requests."""
    metrics: bool = True
    """Whether there is `/metrics`."""
    drain_least: float = Field(default=0.5, ge=0)
    """Seconds that a stopping server goes on to answer, with 503, so that load balancers notice."""
    drain_seconds: float = Field(default=60.0, ge=0)
    """The longest that a stopping server waits for requests in flight."""
    limits: LimitSettings = LimitSettings()
    rates: RateSettings = RateSettings()
    batching: BatchSettings = BatchSettings()
    storage: StorageSettings = StorageSettings()
    suggestions: SuggestionSettings = SuggestionSettings()

    @field_validator("cors")
    @classmethod
    def _origins(cls, origins: tuple[str, ...]) -> tuple[str, ...]:
        for origin in origins:
            scheme, _, rest = origin.partition("://")
            if origin != "*" and (scheme not in ("http", "https") or not rest or "/" in rest):
                raise ValueError(f"{origin!r} is no origin; give one such as https://example.org")
        return origins

    @field_validator("glossary", mode="before")
    @classmethod
    def _of_only_direction(cls, given: Any) -> Any:
        return {"": given} if isinstance(given, str) else given

    @field_validator("protect")
    @classmethod
    def _patterns(cls, patterns: tuple[str, ...]) -> tuple[str, ...]:
        return Protection.of(patterns).patterns  # refuses a wrong one

    @model_validator(mode="after")
    def _within_limits(self) -> "ServeSettings":
        if self.beam > self.limits.beam:
            raise ValueError(f"beam = {self.beam}: above limits.beam = {self.limits.beam}; raise that")
        own, brought = len(self.protect), self.limits.protect
        if own and own + brought > MOST_PATTERNS:
            raise ValueError(
                f"protect has {own} patterns, and a request may bring limits.protect = {brought}: together at most "
                f"{MOST_PATTERNS}; set limits.protect = {MOST_PATTERNS - own}, or join patterns with |"
            )
        return self

    def search(self, alternatives: int = 0) -> SearchOptions:
        """The search of `/translate`, with so many alternatives beside the best. The same object each time: it is checked once."""
        beam = max(self.beam, alternatives + 1)
        return SearchOptions.of({"beam": beam, "alpha": self.alpha, "nbest": alternatives + 1})
