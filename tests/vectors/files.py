"""The files of vectors by their names."""

from pathlib import Path

from .collecting import BATCHES, TALLIES, UPLOADS
from .compiling import COMPILED, LAWS
from .devices import BODIES, PERMANENT, SURVEYS
from .draws import DRAWS, FIELDS, POINTS, STREAMS
from .events import EVENTS
from .grids import NUMBERS
from .questions import ANSWERS, METRICS, REFUSED_METRICS
from .randomizers import BLOOM, BUCKETS, CHOICES, MECHANISMS, REPORTS
from .rendering import File
from .uploading import VERDICTS

FOLDER = Path(__file__).parent

FILES: dict[str, File] = {
    "streams.json": STREAMS,
    "draws.json": DRAWS,
    "fields.json": FIELDS,
    "points.json": POINTS,
    "mechanisms.json": MECHANISMS,
    "laws.json": LAWS,
    "choices.json": CHOICES,
    "reports.json": REPORTS,
    "bloom.json": BLOOM,
    "buckets.json": BUCKETS,
    "answers.json": ANSWERS,
    "numbers.json": NUMBERS,
    "metrics.json": METRICS,
    "refused_metrics.json": REFUSED_METRICS,
    "compiled.json": COMPILED,
    "permanent.json": PERMANENT,
    "surveys.json": SURVEYS,
    "bodies.json": BODIES,
    "events.json": EVENTS,
    "batches.json": BATCHES,
    "uploads.json": UPLOADS,
    "verdicts.json": VERDICTS,
    "tallies.json": TALLIES,
}
