"""The host never notices: mistakes are counted, logged once without a value, and raised only if it asked for that."""

from pathlib import Path
from typing import NoReturn

import pytest

import dither
from client.devices import Make, Script


def test_wrong_values_are_reported_as_the_catch_all_and_counted(make: Make) -> None:
    class Hostile(str):
        __slots__ = ()

        def __str__(self) -> str:
            raise RuntimeError("Very-Secret")

    client = make(strict=False)
    client.record("theme", ["no", "answer"])
    client.record("mobile", "maybe")
    client.record("browser", "b" * 100_000)
    client.record("editor", Hostile("x"))
    assert (client.status().outside, client.status().mistakes) == (2, 2)
    assert client.status().queued == 4
    client.record("nothing", 1)
    client.record(["not", "a", "name"], 1)  # type: ignore[arg-type]
    assert client.status().trouble == {
        "mistaken value for metrics.theme": 1,
        "mistaken value for metrics.mobile": 1,
        "unknown metric": 2,
    }


def test_trouble_is_logged_once_and_without_values(make: Make, caplog: pytest.LogCaptureFixture) -> None:
    class Failing(dither.MemoryState):
        def append(self, record: object) -> NoReturn:
            raise OSError("Very-Secret")

    client = make(Failing(), strict=False)
    for _ in range(3):
        client.record("browser", "Very-Secret")
        client.record("unknown", "Very-Secret")
    assert [record.levelname for record in caplog.records] == ["WARNING", "WARNING"]
    assert "Very-Secret" not in caplog.text
    assert "metrics.unknown" in caplog.text


def test_definitions_that_cannot_be_read_disable_the_client(make: Make, tmp_path: Path) -> None:
    missing = tmp_path / "metrics.toml"
    with pytest.raises(dither.ParameterError, match=r"metrics\.toml"):
        make(metrics=missing)
    with pytest.raises(dither.ParameterError, match="endpoint"):
        make(endpoint="ftp://example.org", transport=None)
    client = make(metrics=missing, strict=False)
    client.record("mobile", True)
    assert client.flush(1)
    assert client.preview() == []
    assert list(client.status().trouble) == ["telemetry is disabled"]


def test_strict_names_an_object_that_is_no_answer_by_its_type_alone(make: Make) -> None:
    client = make()
    with pytest.raises(
        dither.ParameterError, match=r"metrics\.theme: a value of type list that is no answer"
    ) as caught:
        client.record("theme", ["Very-Secret"])
    assert "Very-Secret" not in str(caught.value)
    assert client.preview() == []


@pytest.mark.parametrize("mistake", [{"metrics": 7}, {"state": 3}, {"endpoint": None}])
def test_arguments_that_cannot_be_disable_the_client(make: Make, mistake: dict[str, object]) -> None:
    client = make(mode=None, strict=False, transport=None, **mistake)
    client.record("mobile", True)
    assert (client.preview(), client.sent(), client.pending(), client.flush(1)) == ([], [], [], True)
    assert client.status().trouble
    assert client.status().mode == "off"


@pytest.mark.parametrize("app", [None, "", ".", "..", "../../etc", "a/b", "a\\b", "a\nb", "C:", 7])
def test_an_app_whose_name_is_none_disables_the_client(app: str, tmp_path: Path) -> None:
    client = dither.Client({}, "https://example.org", app, tmp_path, environ={"DITHER": "on"})
    assert client.status().trouble == {"telemetry is disabled": 1}
    with pytest.raises(dither.ParameterError, match=r"^app: "):
        dither.Client({}, "https://example.org", app, strict=True, environ={})


def test_strict_names_a_metric_that_is_not_defined(make: Make) -> None:
    with pytest.raises(dither.ParameterError, match=r"metrics\.colour"):
        make(mode=None).record("colour", "red")


def test_an_unreachable_server_keeps_reports(make: Make, folder: Path) -> None:
    client = make(folder, transport=Script(down=True))
    client.record("mobile", True)
    assert not client.flush(0)
    client.close()
    assert make(folder).status().queued == 1
