"""Exact draws of the tally of n users from its own law, at a cost that does not depend on n. No estimator is here.

An estimate from n reports needs only their tally, and the tally's law given the users' values is made of binomials,
multinomials and hypergeometrics. Drawing from it is not an approximation: device and sampler follow the same law, up to
the rounding of a probability to a float (relative 2^-53). Users send one report each; if a mechanism has a permanent
part, its draw and the instantaneous one are then a single channel.

A mechanism takes part by registering functions of ``registry.py``, in the file of its kind or in a new one: each file
of this folder is imported. One without a sampler can still be simulated device by device (``device_tally``). If the
joint law costs too much, ``sample_support`` draws the support of each value separately.
"""

from importlib import import_module
from pkgutil import iter_modules

from .registry import (
    Marginal,
    collision_bias,
    expected_tally,
    has_marginal,
    has_sampler,
    joint_draws,
    sample_support,
    sample_tally,
)

__all__ = [
    "Marginal",
    "collision_bias",
    "expected_tally",
    "has_marginal",
    "has_sampler",
    "joint_draws",
    "sample_support",
    "sample_tally",
]

for _module in iter_modules(__path__, f"{__name__}."):
    import_module(_module.name)  # each registers its samplers
