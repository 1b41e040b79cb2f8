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


def test_settings_of_every_server_are_checked_and_named() -> None:
    check_common(Some())
    check_common(Some(port=65_535, proxies="10.0.0.0/8", horizon=31))
    wrong: list[tuple[str, object]] = [("db", "file.db"), ("port", -1), ("port", 65_536), ("proxies", "nobody")]
    wrong += [("horizon", 30), ("log_level", "loud"), ("threads", 0), ("wait", 0.0)]
    for name, value in wrong:
        with pytest.raises(ParameterError) as caught:
            check_common(Some(**{name: value}))  # type: ignore[arg-type]  # that is what is tested
        assert caught.value.place in {name, "database"}
