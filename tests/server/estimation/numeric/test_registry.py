"""Which law estimates read for which mechanism, and what an estimate by it costs."""

import pytest

from contract.cases import NUMERIC, usual
from dither_server.estimation.numeric.dithered import Dithered
from dither_server.estimation.numeric.tabulated import Tabulated, law_of
from dither_shared import DitheredResponse


@pytest.mark.parametrize("name", NUMERIC)
def test_every_mechanism_of_numbers_has_a_law_of_its_grid(name: str) -> None:
    one = usual(name, resolution=4)
    law = law_of(one)
    assert isinstance(law, Dithered if name == "dithered-response" else Tabulated)
    assert law.points == one.size
    assert law_of(usual(name, resolution=4)) is law  # made once
    assert law.worst_variance == pytest.approx(float(one.worst_mean_variance))  # type: ignore[attr-defined]


def test_a_finer_grid_costs_more_and_the_usual_one_some_milliseconds() -> None:
    usual = law_of(DitheredResponse.calibrate(None, 1.0)).cost
    assert 200 < usual < 1000
    costs = [law_of(DitheredResponse.calibrate(None, 1.0, steps=steps, resolution=64)).cost for steps in (1, 20, 1023)]
    assert costs == sorted(costs)
    assert costs[-1] > 100_000  # two seconds
    wide = law_of(DitheredResponse.calibrate(None, 1.0, steps=20, resolution=256)).cost
    assert wide > 5 * costs[1]
