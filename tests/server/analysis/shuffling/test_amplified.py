import pytest

from contract.cases import usual
from dither_server.analysis.shuffling import Amplified, amplified
from dither_shared import MECHANISMS, ParameterError
from dither_shared.privacy.shuffling import generic_epsilon

MEMOISED = {"bit-flip", "rappor"}
"""Those that have a permanent draw even if none is asked for."""


@pytest.mark.parametrize("name", list(MECHANISMS))
def test_every_mechanism_has_bounds_or_a_reason(name: str) -> None:
    mechanism = usual(name)
    found = amplified(mechanism, 10_000, 1e-6)
    assert found.local == mechanism.epsilon
    if name in MEMOISED or mechanism.delta:
        assert found == Amplified(10_000, 1e-6, mechanism.epsilon, reason=found.reason)
        assert found.best == found.local
        assert found.reason
        assert ("permanent" in found.reason) == (name in MEMOISED)
    else:
        assert found.reason is None
        assert found.generic == generic_epsilon(mechanism.epsilon, 10_000, 1e-6)
        assert found.generic == pytest.approx(0.053, abs=1e-4)
        assert (found.blanket is None) == (mechanism.two_level is None)
        assert found.best == min(found.generic, found.blanket or found.generic)


@pytest.mark.parametrize("name", [name for name in MECHANISMS if "permanent_epsilon" in MECHANISMS[name].keys])
def test_a_permanent_draw_is_not_hidden_by_others(name: str) -> None:
    found = amplified(usual(name, permanent_epsilon=2.0), 10**6, 1e-6)
    assert (found.generic, found.blanket, found.best) == (None, None, found.local)
    assert found.reason is not None


def test_a_bound_is_never_above_the_loss_of_one_report() -> None:
    for reports in (1, 2, 10):
        found = amplified(usual("randomized-response"), reports, 1e-12)
        assert found.best <= found.local
        assert found.generic is not None
        assert found.generic <= found.local
    assert amplified(usual("randomized-response"), 1, 1e-12).best == pytest.approx(1, abs=1e-4)


def test_forged_reports_hide_nobody() -> None:
    mechanism = usual("projective-geometry")
    assert amplified(mechanism, 10_000, 1e-6, forged=0.1) == amplified(mechanism, 9_000, 1e-6)
    with pytest.raises(ParameterError, match="forged"):
        amplified(mechanism, 10_000, 1e-6, forged=1.0)
    with pytest.raises(ParameterError, match="reports"):
        amplified(mechanism, 10, 1e-6, forged=0.95)


def test_batches_compose_and_delta_adds() -> None:
    found = amplified(usual("randomized-response"), 10_000, 1e-6)
    assert found.after(1) == (found.best, 1e-6)
    few, many = found.after(2), found.after(365)
    assert [*few] == pytest.approx([2 * found.best, 2e-6])
    assert many[0] < 0.5 * 365 * found.best
    assert many[1] == pytest.approx(366e-6)
    with pytest.raises(ParameterError, match="delta"):
        found.after(10**6)


def test_without_amplification_losses_add_and_there_is_no_delta() -> None:
    found = amplified(usual("bit-flip"), 10_000, 1e-6)
    assert [*found.after(3)] == pytest.approx([3 * found.local, 0.0])
