"""The settings of every server. The message for each wrong value is tested with the settings of the collector."""

import pytest

from dither_serving.settings import ServerSettings
from dither_shared import ParameterError


def test_settings_of_every_server_are_checked_and_named() -> None:
    ServerSettings(port=65_535, proxies="10.0.0.0/8", horizon=31)
    wrong: list[tuple[str, object]] = [("port", -1), ("port", 65_536), ("proxies", "nobody"), ("horizon", 30)]
    for name, value in [*wrong, ("log_level", "loud"), ("threads", 0), ("lock_wait", 0.0)]:
        with pytest.raises(ParameterError) as caught:
            ServerSettings(**{name: value})  # type: ignore[arg-type]  # that is what is tested
        assert caught.value.place == name
