"""The wire format: report rows and the JSON object that carries a batch of them.

All rows of a metric have one width (``rows``). A batch travels as one flat JSON object of four strings

    {"batch": "<32 hex>", "metric": "theme", "version": "<16 hex>", "reports": "<base64 of n rows>"}

or, for a metric with strata, of five: after the version comes ``"stratum": "linux"``, the label of the cell of all its
reports. It is read strictly: whatever an honest peer does not write is refused.
"""

from __future__ import annotations

import binascii

from .errors import WireError
from .flat_json import quoted, read_base64, read_object
from .light import NamedTuple, lru_cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from typing import Self

    from .mechanism import Mechanism

LONGEST_STRATUM = 100
"""Characters of the label of a stratum."""

OTHER = "other"
"""The value of an attribute that is not listed, or not given."""

_FIELDS = ("batch", "metric", "version", "reports")
_KNOWN = ("batch", "metric", "version", "stratum", "reports")
_DIGITS = frozenset("0123456789abcdef")


@lru_cache(maxsize=1)
def _usual() -> re.Pattern[bytes]:
    """Return the pattern of what nearly every peer writes: the members in their order, and a plain ASCII name.

    Such a body can be read in only one way.
    """
    import re  # noqa: PLC0415 - a device, which only writes, saves 3 ms

    return re.compile(
        rb' ?\{ ?"batch" ?: ?"([0-9a-f]{32})"'
        rb' ?, ?"metric" ?: ?"([ !#-Z\]-z|}~]*)"'
        rb' ?, ?"version" ?: ?"([0-9a-f]{16})"'
        rb'(?: ?, ?"stratum" ?: ?"([ !#-Z\]-z|}~]{1,100})")?'
        rb' ?, ?"reports" ?: ?"([A-Za-z0-9+/]+={0,2})" ?\} ?'
    )


class Report(NamedTuple):
    """One person's perturbed answer: a public cohort and the payload that the mechanism made."""

    cohort: int
    payload: bytes

    def encode(self, mechanism: Mechanism) -> bytes:
        """Return the row of ``mechanism.row_bytes`` bytes."""
        return mechanism.row_format.encode(self.cohort, self.payload)

    @classmethod
    def decode(cls, row: bytes, mechanism: Mechanism) -> Self:
        """Read a row; raise WireError unless ``encode`` could have written it."""
        return cls(*mechanism.row_format.decode(row))

    def cells(self, mechanism: Mechanism) -> tuple[int, ...]:
        """Return the cells that the payload reports; raise WireError if it names one that does not exist."""
        return mechanism.row_format.cells_of(self.payload)


class Batch(NamedTuple):
    """Reports of one metric version, and of one stratum if it has any, delivered and counted together, once."""

    batch: str
    metric: str
    version: str
    reports: bytes
    stratum: str | None = None

    def encode(self) -> bytes:
        """Return the JSON body; its length depends on names, stratum and number of rows, never on an answer."""
        reports = binascii.b2a_base64(self.reports, newline=False).decode("ascii")
        name = quoted(self.metric)  # the others are hex digits
        stratum = "" if self.stratum is None else f',"stratum":{quoted(self.stratum)}'
        text = f'{{"batch":"{self.batch}","metric":{name},"version":"{self.version}"{stratum},"reports":"{reports}"}}'
        return text.encode()

    @classmethod
    def decode(cls, body: bytes) -> Self:
        """Read a JSON body; raise WireError, which says what is wrong and where, unless it is exactly a batch."""
        return cls._usual(body) or cls._strict(body)

    @classmethod
    def _usual(cls, body: bytes) -> Self | None:
        """Read a body as ``encode`` writes it, other blanks allowed; return None to leave it to ``_strict``."""
        match = _usual().fullmatch(body)
        if match is None:
            return None
        batch, metric, version, stratum, text = match.groups()
        try:
            reports = binascii.a2b_base64(text)
        except binascii.Error:
            return None
        if binascii.b2a_base64(reports, newline=False) != text:
            return None
        label = stratum.decode("ascii") if stratum else None
        return cls(batch.decode("ascii"), metric.decode("ascii"), version.decode("ascii"), reports, label)

    @classmethod
    def _strict(cls, body: bytes) -> Self:
        """Read any body; raise WireError if something is wrong with it."""
        values = read_object(body, _FIELDS, _KNOWN)
        if len(values["batch"]) != 32 or not _DIGITS.issuperset(values["batch"]):
            raise WireError("batch: not 32 lower-case hexadecimal digits")
        if len(values["version"]) != 16 or not _DIGITS.issuperset(values["version"]):
            raise WireError("version: not 16 lower-case hexadecimal digits")
        stratum = values.get("stratum")
        if stratum is not None and not 0 < len(stratum) <= LONGEST_STRATUM:
            raise WireError(f"stratum: {len(stratum)} characters; the label of a cell has 1 to {LONGEST_STRATUM}")
        reports = read_base64(values["reports"], "reports")
        if not reports:
            raise WireError("reports: empty; a batch has at least one row")
        return cls(values["batch"], values["metric"], values["version"], reports, stratum)
