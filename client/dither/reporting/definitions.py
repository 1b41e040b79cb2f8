"""Cache calibrated definitions: the part of each metric that a device needs is stored beside its journal, as integers.

Reading ``metrics.toml`` and calibrating its mechanisms takes 50 ms, with the same result every time. So the result is
kept in the file ``definitions`` of the state folder. It is trusted only with a tag keyed by the device's secret, over
this version of dither, the bytes of the definitions and the content: anything made from another file, by another
version, on another device or by somebody without the secret is ignored.
"""

from __future__ import annotations

import marshal
import os

from dither_shared import VERSION
from dither_shared.draws import draws_of
from dither_shared.encoding import BooleanAnswers, ChoiceAnswers, NumberAnswers, StringAnswers
from dither_shared.errors import ParameterError
from dither_shared.light import cast, suppress
from dither_shared.primitives.digests import sha256
from dither_shared.primitives.entropy import KeyedFamily, SystemEntropy, encoded

from ..consent.rules import covering
from ..forks import importing
from ..state.files import overwrite, read, read_small
from ..state.folder import FolderState
from ..state.state import StateError
from .ledger import Price

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import date
    from typing import Any

    from dither_shared.encoding import Answers
    from dither_shared.metrics.metric import Metric

    from ..state.folder import State

_TAG_BYTES = 32
_MOST = 1 << 17
"""Maximum bytes of definitions that are kept."""


class _CompiledMetric:
    """The part of a metric that a usual run needs; anything else loads the definitions themselves.

    The attributes that are not set in ``__init__`` are those of the whole metric.
    """

    # fmt: off
    __slots__ = (
        "_expires",
        "_whole",
        "after",
        "answers",
        "charge",
        "covering",
        "draws",
        "name",
        "of",
        "period",
        "price",
        "seal",
        "strata",
        "survey",
        "version",
    )
    # fmt: on

    def __init__(self, whole: _Whole, stored: tuple[Any, ...]) -> None:
        basis, expires, price, answers, draws, bare = stored
        self._whole, self._expires, self.seal = whole, expires, None
        self.name, self.version, self.period, self.charge, self.covering, self.of, self.after = basis
        self.price = Price(*price)
        if answers is not None:
            self.answers = _ANSWERS[answers.pop("kind")](**answers)
        if draws is not None:
            self.draws = draws_of(draws)
        if bare:
            self.strata = self.survey = None

    def __getattr__(self, name: str) -> Any:
        value = getattr(self.whole, name)
        if name in {"answers", "draws", "strata", "survey"}:
            setattr(self, name, value)
        return value

    @property
    def whole(self) -> Metric:
        """The metric as it is defined."""
        return self._whole.metrics()[self.name]

    def expired(self, today: date) -> bool:
        """Return whether the last day on which the metric is asked is over."""
        return self._expires is not None and today.toordinal() > self._expires


class _Whole:
    """The original definitions, which are read on first access."""

    def __init__(self, text: bytes, source: str) -> None:
        self._text, self._source = text, source
        self._metrics: dict[str, Metric] = {}

    def metrics(self) -> dict[str, Metric]:
        """Return the metrics by name."""
        if not self._metrics:
            with importing():
                from dither_shared.metrics.definition import parse_metrics  # noqa: PLC0415 - what is to be saved

                try:
                    text = self._text.decode("utf-8")
                except UnicodeDecodeError:
                    raise ParameterError(self._source, "cannot be read: not UTF-8") from None
                self._metrics = parse_metrics(text, self._source)  # imports the mechanisms
        return self._metrics


def load(path: str, state: State) -> Mapping[str, Metric]:
    """Return the metrics of a ``metrics.toml``, by name, compiled if the state has kept them.

    Raises ParameterError that names the file, the metric and the key.
    """
    text = _small(path) if isinstance(state, FolderState) and state.has_secret() else None
    if text is None or not isinstance(state, FolderState):
        with importing():
            from dither_shared.metrics.definition import load_metrics  # noqa: PLC0415 - likewise

        return load_metrics(path)
    whole, file = _Whole(text, path), os.path.join(state.folder, "definitions")
    family = None
    with suppress(StateError, OSError):
        secret = state.secret(SystemEntropy(), may_create=False)
        family = KeyedFamily(encoded(secret, b"definitions", VERSION.encode(), sha256(text).digest()))
    if family is None:
        return whole.metrics()
    with suppress(Exception):  # if anything is wrong with it, it counts as missing
        kept = read_small(file, _MOST)
        content = kept[_TAG_BYTES:]
        if kept and kept[:_TAG_BYTES] == family.first(content, _TAG_BYTES):
            stored = marshal.loads(content)  # noqa: S302 - this device has written it
            return cast("Mapping[str, Metric]", {metric[0][0]: _CompiledMetric(whole, metric) for metric in stored})
    metrics = whole.metrics()
    content = marshal.dumps([_stored(metric) for metric in metrics.values()], 4)
    with suppress(OSError):
        if len(content) + _TAG_BYTES <= _MOST and not any(metric.seal for metric in metrics.values()):
            overwrite(file, family.first(content, _TAG_BYTES) + content)
    return metrics


def _small(path: str) -> bytes | None:
    """Return the content of a small file; None if it is large, or cannot be read.

    It is read to its end, because a piece of it may be a definition without its cap.
    """
    with suppress(OSError), open(path, "rb", buffering=0) as file:
        data = read(file.fileno(), 0, _MOST)
        return data if len(data) < _MOST else None
    return None


def _stored(metric: Metric) -> tuple[object, ...]:
    """Return the arguments of ``_CompiledMetric``."""
    expires = None if metric.expires is None else metric.expires.toordinal()
    basis = metric.name, metric.version, metric.period, metric.charge, covering(metric), metric.of, metric.after
    bare = metric.strata is None and metric.survey is None
    return basis, expires, tuple(Price.of(metric)), _stored_answers(metric), metric.mechanism.stored_draws, bare


def _stored_answers(metric: Metric) -> dict[str, object] | None:
    """Return the stored rules that read answers, or None if only the whole metric can read them."""
    return dict(metric.question.compiled(metric.mechanism)) if metric.question.kind in _ANSWERS else None


_ANSWERS: dict[str, Callable[..., Answers]] = {
    "boolean": BooleanAnswers,
    "choice": ChoiceAnswers,
    "number": NumberAnswers,
    "string": StringAnswers,
}
