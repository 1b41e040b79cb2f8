"""Answers read over HTTP from a notebook: their content, their dependencies, and hostile servers."""

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from importlib.util import find_spec

import pytest

from client.peers import replying_with, serving
from dither_server.answers import AnswersError, RemoteEstimate, RemoteMetrics, RemoteTrend, connect
from dither_server.store import Store
from dither_shared import ParameterError
from server.collecting import LAYOUT, METRICS, METRICS_TOML, SPEED, STRATA_TOML, THEME, TODAY, rows_of, running, upload
from server.reading.test_weights import POPULATION, filled


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RemoteMetrics]:
    folder = tmp_path_factory.mktemp("collector")
    (folder / "population.toml").write_text(POPULATION, encoding="utf-8")
    with closing(Store(f"sqlite:///{folder}/dither.db")) as store:
        store.register([*METRICS.values(), LAYOUT, SPEED])
        filled(store)
        for ago in (1, 2):
            store.commit([upload(THEME, rows_of(THEME, 400))], TODAY - timedelta(days=ago), b"s" * 16)
    population = ("--population", str(folder / "population.toml"))
    with running(folder, *population, toml=METRICS_TOML + STRATA_TOML) as (url, _):
        yield connect(url)


def test_questions_are_listed_and_described(answers: RemoteMetrics) -> None:
    assert set(answers) == {"theme", "mobile", "version", "open", "layout", "speed"}
    assert len(answers) == 6
    theme = answers["theme"]
    assert (theme.name, theme.description) == ("theme", "Which theme do people use?")
    assert list(theme.versions) == [THEME.version]
    with pytest.raises(KeyError, match="nothing"):
        answers["nothing"]
    assert "nothing" not in answers


def test_an_estimate_has_a_figure_for_each_value(answers: RemoteMetrics) -> None:
    found = answers["theme"].estimate()
    assert (found.reports, found.days) == (800, (TODAY - timedelta(days=2), TODAY - timedelta(days=1)))
    light = found["light"]
    assert (light.verdict, light.weighted) == ("ok", None)
    assert light.estimate is not None
    assert light.low is not None
    assert light.high is not None
    assert 0.7 < light.low < light.estimate
    assert [row["value"] for row in found.records] == list(found.figures) == list(THEME.labels)
    narrower = answers["theme"].estimate(since=TODAY - timedelta(days=1), confidence=0.5, values=["light"])
    assert (narrower.reports, list(narrower.figures)) == (400, ["light"])
    with pytest.raises(KeyError):
        found["purple"]


def test_a_number_has_a_mean_and_quantiles_and_rows_as_an_export_has(answers: RemoteMetrics) -> None:
    found = answers["speed"].estimate(weighted=True, quantile=[0.5, 0.999], at=[5])
    assert list(found.figures) == ["mean", "p50", "p99.9"]
    mean = found["mean"]
    assert mean.weighted is not None
    assert mean.estimate is not None
    assert mean.estimate < mean.weighted
    kinds = [("mean", None), ("quantile", 0.5), ("quantile", 0.999), ("share", 5.0)]
    assert [(row["statistic"], row["at"]) for row in found.records] == kinds
    assert len({tuple(row) for row in found.records[1:3]}) == 1


def test_client_reads_strata_days_trends_and_comparisons(answers: RemoteMetrics) -> None:
    linux = answers["layout"].estimate(strata={"platform": "linux"})
    assert linux.reports == 900
    assert [answer.reports for answer in answers["layout"].estimates(by="platform")] == [900, 300, 20, 1220]
    assert [answer.reports for answer in answers["theme"].estimates(by_day=True)] == [400, 400]
    trend = answers["theme"].trend()
    assert isinstance(trend, RemoteTrend)
    assert [row["since"] for row in trend.records[:2]] == ["2026-11-18", "2026-11-19"]
    days = {"since": "2026-11-18", "until": "2026-11-18", "other_since": "2026-11-19", "other_until": "2026-11-19"}
    assert answers["theme"].compare(**days).records[0]["value"] == "dark"


def test_estimates_convert_to_tables_of_other_libraries(answers: RemoteMetrics) -> None:
    found = answers["speed"].estimate()
    table = found.to_arrow()
    assert table.num_rows == len(found.records)
    assert str(table.schema.field("at").type) == "double"
    trend = answers["theme"].trend().to_arrow()
    assert str(trend.schema.field("since").type) == "date32[day]"
    if find_spec("pandas"):
        assert len(found.to_pandas()) == len(found.records)


def test_a_plot_has_a_point_for_each_figure(answers: RemoteMetrics) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    axes = answers["layout"].estimate(weighted=True).plot()
    assert [label.get_text() for label in axes.get_yticklabels()] == list(LAYOUT.labels)
    assert [len(line.get_xdata()) for line in axes.lines] == [3, 3]
    assert len(answers["theme"].trend().plot().lines) == len(THEME.labels)


def test_a_notebook_shows_a_table_whose_cells_are_escaped() -> None:
    row = {"value": "<script>", "frequency": None, "low": 0.0, "high": 1.0, "verdict": "too-few"}
    shown = RemoteEstimate.of({"metric": "x", "reports": 1, "values": [row]})._repr_html_()
    assert "<td>&lt;script&gt;</td><td>–</td>" in shown
    assert "<script>" not in shown


def test_what_the_collector_refuses_is_an_error_with_its_reason(answers: RemoteMetrics) -> None:
    with pytest.raises(AnswersError, match="answered 400: since: not a date"):
        answers["theme"].estimate(since="yesterday")
    with pytest.raises(AnswersError, match="unknown; known here"):
        answers["theme"].estimate(sinse="2026-11-01")
    with pytest.raises(ParameterError, match="format"):
        answers["theme"].estimate(format="csv")


@pytest.mark.parametrize(
    ("url", "token", "timeout", "wrong"),
    [
        ("https://user:pass@answers.example", None, 1, "url: not a collector's URL"),
        ("http://answers.example", "secret", 1, "url: not encrypted"),
        ("https://answers.example", "se\ncret", 1, "token: not a token"),
        ("https://answers.example", "", 1, "token: not a token"),
        ("https://answers.example", None, 0, "timeout"),
        ("https://answers.example", None, float("nan"), "timeout"),
    ],
)
def test_invalid_connection_parameters_are_refused(url: str, token: str | None, timeout: float, wrong: str) -> None:
    with pytest.raises(ParameterError) as raised:
        connect(url, token=token, timeout=timeout)
    assert wrong in str(raised.value)
    assert token is None or len(token) < 3 or token not in str(raised.value)


def test_token_of_the_client_is_not_shown() -> None:
    assert "secret" not in repr(connect("https://answers.example", token="secret"))  # noqa: S106 - of nobody


HOSTILE = {
    b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nnot json!": "no JSON",
    b"HTTP/1.1 200 OK\r\n\r\n" + b"[" * 1_000_000: "no JSON",
    b"HTTP/1.1 302 Found\r\nLocation: https://elsewhere.example\r\nContent-Length: 2\r\n\r\n{}": "answered 302",
    b"HTTP/1.1 500 Oh\r\n\r\n" + json.dumps({"detail": "x" * 10_000}).encode(): "answered 500: " + "x" * 200,
    b"SSH-2.0-OpenSSH\r\n": "the answer is not HTTP",
    b"": "cannot be reached",
}


@pytest.mark.parametrize("sent", HOSTILE, ids=lambda sent: str(sent[:20]))
def test_a_hostile_server_gets_an_error_of_bounded_length(sent: bytes) -> None:
    with serving(replying_with(sent)) as peer, pytest.raises(AnswersError) as raised:
        list(connect(peer.endpoint, timeout=10))
    assert HOSTILE[sent] in str(raised.value)
    assert len(str(raised.value)) < 400


def test_a_server_that_never_answers_costs_no_more_than_the_timeout() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, pytest.raises(AnswersError, match=r"within 0\.1 seconds"):
        list(connect(f"http://127.0.0.1:{server.getsockname()[1]}", timeout=0.1))


def test_importing_the_answers_module_loads_no_third_party_library() -> None:
    code = (
        "import sys, dither_server.answers; loaded = {name.partition('.')[0] for name in sys.modules}; "
        "print(sorted(loaded & {'numpy', 'flask', 'sqlalchemy', 'pandas', 'pyarrow', 'matplotlib', 'scipy', 'click'}))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout == "[]\n"
