"""The attacks on series of reports, by the names of their commands."""

from collections.abc import Mapping

from .averaging import Averaging
from .change import Change
from .common import SeriesExperiment
from .linkage import Linkage

EXPERIMENTS: Mapping[str, type[SeriesExperiment]] = {"averaging": Averaging, "linkage": Linkage, "change": Change}
