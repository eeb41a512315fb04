"""`TextStream`: streaming of a text, piece by piece, while it is generated. It drives the steps of a search."""

from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Any, Generic, TypeVar

from regard.engine.resident import Resident
from regard.errors import SearchError
from regard.search.expansion import Expansion, Steps
from regard.search.hypothesis import Hypothesis
from regard.tasks.generate.token_logprobs import TokenLogprob, added_token

ResultT = TypeVar("ResultT")


class TextStream(Iterator[str], Generic[ResultT]):
    """An iterator over the pieces of one text. The network is locked for one step at a time, so other threads can use it in between.

    A character is yielded when all its bytes are complete. `close`, or leaving a `with` block, ends the search between two tokens and frees
    its memory. `result` is available after the last piece.
    """

    def __init__(
        self,
        resident: Resident[Any],
        steps: Steps,
        limit: int,
        text_of: Callable[[Sequence[int]], str],
        finish: Callable[[Sequence[Hypothesis]], tuple[str, ResultT]],
        logprobs: Sequence[TokenLogprob] = (),
    ) -> None:
        """limit: the longest text in tokens; text_of: decodes tokens; finish: returns the whole text and the result.

        logprobs: what the steps add the log-probability of each token to.
        """
        self.logprobs = logprobs
        self._resident, self._limit, self._text_of, self._finish = resident, limit, text_of, finish
        self._steps: Steps | None = steps
        self._tokens: list[int] = []
        self._text = ""  # of all pieces so far
        self._result: ResultT | None = None

    @property
    def result(self) -> ResultT:
        """The result, available after the last piece."""
        if self._result is None:
            raise SearchError("the text is not whole yet: read all of its pieces first")
        return self._result

    @property
    def tokens(self) -> Sequence[int]:
        """The ids of the text so far."""
        return self._tokens

    def __next__(self) -> str:
        while self._steps is not None:
            hypotheses = None
            try:
                with self._resident.evaluating():
                    try:
                        expansion = next(self._steps)
                    except StopIteration as end:
                        [hypotheses] = end.value
            except BaseException:
                self._steps = None  # a search that has failed does not go on
                raise
            if hypotheses is not None:
                self._steps = None
                text, self._result = self._finish(hypotheses)
            else:
                assert expansion is not None
                text = self._after(expansion)
            if len(text) > len(self._text) and text.startswith(self._text):
                piece, self._text = text[len(self._text) :], text
                return piece
        raise StopIteration

    def close(self) -> None:
        """End the search now, if it is still running."""
        if self._steps is not None:
            with self._resident.evaluating():  # not while another thread makes a step
                self._steps.close()
            self._steps = None

    def __enter__(self) -> "TextStream[ResultT]":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _after(self, expansion: Expansion) -> str:
        """The text after one more step; unchanged if the step ended it."""
        token = added_token(expansion)
        if token is None or len(self._tokens) == self._limit:
            return self._text
        self._tokens.append(token)
        return self._text_of(self._tokens).rstrip("\ufffd")
