"""What joins two uploads of a device: nothing, or the permanent draw alone."""

from client.linkage import QUESTIONS, top_one


def test_without_a_permanent_part_uploads_cannot_be_joined() -> None:
    for name, metric in QUESTIONS.items():
        if metric.mechanism.permanent_ratio is None:
            assert top_one(metric, 3, devices=200) < 0.05, name  # 0.005 expected by guessing


def test_a_permanent_row_is_a_feature_of_its_device_and_the_only_one() -> None:
    rappor = QUESTIONS["any text, RAPPOR, 128 bits"]
    assert top_one(rappor, 3, devices=200) > 0.5
    assert top_one(rappor, 3, devices=200, lasting=False) < 0.05
