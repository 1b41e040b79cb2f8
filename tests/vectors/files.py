"""The files of vectors by their names."""

from pathlib import Path

from . import collecting, compiling, devices, draws, events, grids, questions, randomizers, uploading
from .rendering import Cases

FOLDER = Path(__file__).parent

FILES: dict[str, Cases] = {
    "streams.json": draws.streams,
    "draws.json": draws.draws,
    "fields.json": draws.fields,
    "points.json": draws.points,
    "mechanisms.json": randomizers.laws,
    "laws.json": compiling.laws,
    "choices.json": randomizers.choices,
    "reports.json": randomizers.reports,
    "bloom.json": randomizers.bloom,
    "buckets.json": randomizers.buckets,
    "answers.json": questions.answers,
    "numbers.json": grids.numbers,
    "metrics.json": questions.metrics,
    "refused_metrics.json": questions.refused_metrics,
    "compiled.json": compiling.compiled_metrics,
    "permanent.json": devices.permanent,
    "surveys.json": devices.surveys,
    "bodies.json": devices.bodies,
    "events.json": events.events,
    "batches.json": collecting.batches,
    "uploads.json": collecting.answered,
    "verdicts.json": uploading.cases,
    "tallies.json": collecting.tallies,
}
