"""Two uploads of a device are linked by nothing, or by the permanent draw alone."""

from client.linkage import QUESTIONS, top_one, top_one_relayed


def test_uploads_without_a_permanent_part_cannot_be_linked() -> None:
    for name, metric in QUESTIONS.items():
        if metric.mechanism.permanent_ratio is None:
            assert top_one(metric, 3, devices=200) < 0.05, name  # 0.005 expected by guessing


def test_permanent_row_is_the_only_linkable_feature_of_a_device() -> None:
    rappor = QUESTIONS["any text, RAPPOR, 128 bits"]
    assert top_one(rappor, 3, devices=200) > 0.5
    assert top_one(rappor, 3, devices=200, lasting=False) < 0.05


def test_behind_a_relay_only_a_permanent_draw_links_reports_of_two_days() -> None:
    """Guessing finds 1 of 200 on average, and 10 with a probability of 1.2e-7 (Poisson's law), in six trials."""
    for name, metric in QUESTIONS.items():
        if metric.mechanism.permanent_ratio is None:
            assert max(top_one_relayed(metric, 200)) < 0.05, name
            assert top_one_relayed(metric, 200, relay=False).place == 1.0  # without one, the order of arrival is enough
    rappor = top_one_relayed(QUESTIONS["any text, RAPPOR, 128 bits"], 200)
    assert rappor.content > 0.05  # a relay hides no feature
    assert rappor.place < 0.05
