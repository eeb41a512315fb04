"""`Metrics`: the numbers of `/metrics` for Prometheus. No label is made of a key, an address or a text: routes are templates."""

from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

if TYPE_CHECKING:
    from regard.serve.service import Service

SECONDS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60)
TEXTS = (1, 2, 4, 8, 16, 32, 64, 128)


class Metrics:
    """The counters of one server."""

    def __init__(self) -> None:
        self._registry = registry = CollectorRegistry()
        self._requests = Counter("regard_requests", "Requests.", ("route", "status"), registry=registry)
        self._seconds = Histogram(
            "regard_request_seconds", "Seconds of a request.", ("route",), buckets=SECONDS, registry=registry
        )
        self._batches = Histogram("regard_batch_texts", "Texts of a batch.", buckets=TEXTS, registry=registry)
        self._batch_seconds = Histogram(
            "regard_batch_seconds", "Seconds of a batch.", buckets=SECONDS, registry=registry
        )
        self._tokens = Counter("regard_tokens", "Tokens of sources and translations.", ("side",), registry=registry)
        self._cached = Counter(
            "regard_cache", "Texts by whether their translation was kept.", ("found",), registry=registry
        )
        self._waiting = Gauge("regard_queue_texts", "Texts that wait for a worker.", registry=registry)
        self._running = Gauge("regard_requests_running", "Requests that are answered now.", registry=registry)
        self._ready = Gauge(
            "regard_ready", "1 when the models are loaded and the server is not stopping.", registry=registry
        )
        self.running = 0
        """Requests that are answered now."""
        self._tokens.labels("source"), self._tokens.labels("target")  # they begin at 0

    def watch(self, service: "Service") -> None:
        """Read the queue and the state of a service when the numbers are asked for."""
        self._running.set_function(lambda: self.running)
        self._waiting.set_function(lambda: service.batcher.waiting)
        self._ready.set_function(lambda: service.state == "ready")

    def began(self) -> None:
        """A request has begun."""
        self.running += 1

    def ended(self, route: str, status: int, seconds: float) -> None:
        """A request has ended. route: the template of a path, such as `/download_file/{name}`."""
        self.running -= 1
        self._requests.labels(route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def batch(self, texts: int, source_tokens: int, target_tokens: int, seconds: float) -> None:
        """A batch is done."""
        self._batches.observe(texts)
        self._batch_seconds.observe(seconds)
        self._tokens.labels("source").inc(source_tokens)
        self._tokens.labels("target").inc(target_tokens)

    def cache(self, hits: int, misses: int) -> None:
        """So many texts were kept, and so many were not."""
        self._cached.labels("yes").inc(hits)
        self._cached.labels("no").inc(misses)

    def text(self) -> bytes:
        """The numbers in Prometheus' format."""
        return generate_latest(self._registry)
