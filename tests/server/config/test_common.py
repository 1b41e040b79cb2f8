"""What the settings of every server have in common. What each wrong value is told is tested with the settings."""

from dataclasses import dataclass

import pytest

from dither_server.config.common import check_common
from dither_shared import ParameterError


@dataclass(frozen=True)
class Some:
    db: str = "sqlite:///dither.db"
    port: int = 0
    proxies: str = ""
    horizon: int = 45
    log_level: str = "info"
    threads: int = 1
    wait: float = 0.5
    is_open: bool = False


def test_what_is_right_passes() -> None:
    check_common(Some())
    check_common(Some(port=65_535, proxies="10.0.0.0/8", horizon=31))


@pytest.mark.parametrize(
    "wrong",
    [
        {"db": "file.db"},
        {"port": -1},
        {"port": 65_536},
        {"proxies": "nobody"},
        {"horizon": 30},
        {"log_level": "loud"},
        {"threads": 0},
        {"wait": 0.0},
    ],
)
def test_what_is_wrong_is_named(wrong: dict[str, str]) -> None:
    with pytest.raises(ParameterError) as caught:
        check_common(Some(**wrong))  # type: ignore[arg-type]  # that is what is tested
    assert caught.value.place in {*wrong, "database"}
