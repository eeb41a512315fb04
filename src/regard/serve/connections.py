"""Connections with limits: how many there may be, how long headers may take, and how long a client may leave an answer unread.

uvicorn has none of them. A client that sends a header every few seconds, or that asks and never reads, would hold its connection for ever.
"""

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from regard.serve.settings import LimitSettings

SPARE = 100
"""Connections beyond `limits.connections`: of clients that keep theirs open between requests. As many more get a refusal.

Those beyond both are cut at once: else each of them would be held for `REFUSED_SECONDS`, however many they are.
"""
REFUSED_SECONDS = 1.0
"""How long a connection beyond these waits for its request. An answer before it could be lost with the connection."""
_REFUSAL = b'{"error":"Slowdown: too many connections"}'
REFUSAL = (
    b"HTTP/1.1 429 Too Many Requests\r\nContent-Type: application/json\r\nRetry-After: 1\r\nConnection: close\r\n"
    b"Content-Length: %d\r\n\r\n%b" % (len(_REFUSAL), _REFUSAL)
)
"""The answer to it. Nothing of its request is looked at."""


def bounded_protocol(limits: LimitSettings) -> type[H11Protocol]:
    """The class of connections with these limits; uvicorn makes its objects."""

    class BoundedConnection(H11Protocol):
        _headers_end: asyncio.TimerHandle | None = None
        _reading_end: asyncio.TimerHandle | None = None
        _refused = False
        _unread = 0
        """Bytes that the system did not take when the client was looked at last."""

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            beyond = len(self.connections) - limits.connections
            self._refused = beyond > SPARE
            if beyond > 2 * SPARE:
                transport.abort()
            elif self._refused:
                self._headers_end = self.loop.call_later(REFUSED_SECONDS, self._too_slow)
            else:
                transport.set_write_buffer_limits(
                    0
                )  # writing pauses whenever bytes are left, also those of a closing one
                self._wait_for_headers()

        def data_received(self, data: bytes) -> None:
            if self._refused:
                self.transport.write(REFUSAL)
                self.transport.close()
                return
            super().data_received(data)
            if self.conn.their_state is not h11.IDLE:
                self._cancel_timer()
            elif self._headers_end is None and self.conn.trailing_data[0]:
                self._wait_for_headers()

        def connection_lost(self, exc: Exception | None) -> None:
            self._cancel_timer()
            self._stop_watching()
            super().connection_lost(exc)

        def pause_writing(self) -> None:
            super().pause_writing()
            self._watch_reading()

        def resume_writing(self) -> None:
            self._stop_watching()
            super().resume_writing()

        def _watch_reading(self) -> None:
            self._unread = self.transport.get_write_buffer_size()
            self._reading_end = self.loop.call_later(limits.send_seconds, self._look)

        def _look(self) -> None:
            if self.transport.get_write_buffer_size() < self._unread:
                self._watch_reading()
            else:
                self.transport.abort()  # `close` would wait for the bytes

        def _stop_watching(self) -> None:
            if self._reading_end is not None:
                self._reading_end.cancel()
                self._reading_end = None

        def _wait_for_headers(self) -> None:
            self._headers_end = self.loop.call_later(limits.upload_seconds, self._too_slow)

        def _too_slow(self) -> None:
            self._headers_end = None
            if not self.transport.is_closing():
                self.transport.close()

        def _cancel_timer(self) -> None:
            if self._headers_end is not None:
                self._headers_end.cancel()
                self._headers_end = None

    return BoundedConnection
