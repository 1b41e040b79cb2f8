"""Whether a question can be answered, found out before anyone is asked."""

from .devices import device_entropy, device_tally
from .experiments import Plan, Row, sweep
from .populations import Population
from .samplers import sample_tally
from .trials import Outcome, Setting, run_trial

__all__ = [
    "Outcome",
    "Plan",
    "Population",
    "Row",
    "Setting",
    "device_entropy",
    "device_tally",
    "run_trial",
    "sample_tally",
    "sweep",
]
