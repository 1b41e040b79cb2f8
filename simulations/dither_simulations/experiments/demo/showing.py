"""Let devices or visitors of a web page answer the demo, and compare the estimates with the truth."""

import json
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from tqdm import tqdm

from dither_server.dashboard.publishing.contents import SiteScope
from dither_server.dashboard.publishing.site import Site
from dither_server.estimation.estimate import estimate
from dither_server.estimation.numeric.estimate import estimate_number
from dither_server.estimation.numeric.tabulated import law_of
from dither_server.reading.summaries.number_scale import Scale
from dither_server.store import Store
from dither_shared import Metric, ParameterError
from dither_shared.counted import counted
from dither_shared.metrics.period import utc_today
from dither_shared.privacy.wording import MEMOISATION, losses

from ...choices import DEVICES, VISITORS
from ...collector import DATABASE, CollectorError, ended_by_sigterm, fetch_estimate, running_collector, send_all
from ...plots import COLOURS, FONT, GREY, figure_of, save
from ...samplers.devices import device_entropy, device_tally
from ...tables import render, write_bytes
from ...users.populations import Floats, Population
from .surveys import DemoSurvey, browser_survey, column_survey, page_survey
from .visitors import CHECKOUT, installed_programs, served

_MOST_SHOWN = 16
"""Maximum number of values that are printed and drawn."""

_QUANTILES = (0.5, 0.95)
"""Two of the quantiles that an estimate has by default."""

_BAR = "#C9C9C9"


@dataclass(frozen=True, eq=False)
class _ComparedEstimates:
    """True values beside estimates of them; each column has one entry per label."""

    labels: tuple[str, ...]
    truth: Floats
    estimate: Floats
    low: Floats
    high: Floats

    @property
    def covered(self) -> NDArray[np.bool_]:
        """Whether each interval contains the truth."""
        return (self.low <= self.truth) & (self.truth <= self.high)

    def chosen(self, order: NDArray[np.intp], factor: float = 1.0) -> "_ComparedEstimates":
        """Return the rows of these indices, in their order, all numbers times a factor: 100 makes percent of shares."""
        columns = (factor * column[order] for column in (self.truth, self.estimate, self.low, self.high))
        return _ComparedEstimates(tuple(self.labels[index] for index in order), *columns)


def _estimates_plot(rows: _ComparedEstimates, title: str, unit: str) -> Figure:
    """Return a figure with true values as bars and estimates as points with intervals; the first label is on top."""
    count = len(rows.labels)
    figure, (axes,) = figure_of(1.35 + 0.31 * count)
    height = figure.get_figheight()
    figure.subplots_adjust(left=0.36, right=0.95, top=1 - 0.72 / height, bottom=0.55 / height)
    places = np.arange(count)
    axes.barh(places, rows.truth, height=0.72, color=_BAR, zorder=1)
    axes.hlines(places, rows.low, rows.high, color=COLOURS[0], linewidth=2.2, zorder=2)
    axes.plot(rows.estimate, places, "o", color=COLOURS[0], markersize=6, markeredgecolor="white", zorder=3)
    axes.axvline(0, color=GREY, linewidth=0.8)
    axes.set_yticks(places, [_shortened(label) for label in rows.labels])
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.set_ylim(count - 0.4, -0.6)
    axes.set_xlabel(unit)
    figure.text(0.03, 1 - 0.24 / height, title, fontsize=FONT + 0.5, va="center", weight="bold")
    second = 1 - 0.5 / height
    figure.text(0.03, second, "bars: the truth", fontsize=FONT - 0.5, va="center", color=GREY)
    legend = "points: the estimate, 95% interval"
    figure.text(0.36, second, legend, fontsize=FONT - 0.5, va="center", color=COLOURS[0])
    return figure


def _shortened(label: str, width: int = 24) -> str:
    text = label if len(label) <= width else label[: width - 1] + "…"
    return text.replace("$", r"\$")  # matplotlib reads a pair of $ as mathematics


@dataclass(frozen=True, eq=False)
class _DemoAnswer:
    """The estimates of one metric beside the truth: ``rows`` for JSON, and those that are ``shown``, in ``unit``.

    ``names`` say what a label is and what an estimate is, in JSON; ``heads`` are the heads of the columns of labels,
    true values and estimates; ``odds`` is a sentence on what one report reveals about a person.
    """

    metric: Metric
    reports: int
    rows: _ComparedEstimates
    shown: _ComparedEstimates
    unit: str
    names: tuple[str, str]
    heads: tuple[str, str, str]
    odds: str

    def described(self) -> dict[str, object]:
        """Return the answer as objects and arrays for JSON."""
        rows = self.rows
        columns = zip(rows.labels, rows.truth, rows.estimate, rows.low, rows.high, strict=True)
        label, estimate = self.names
        names = (label, "truth", estimate, "low", "high")
        values = [dict(zip(names, (row[0], *map(float, row[1:])), strict=True)) for row in columns]
        return {"metric": self.metric.name, "reports": self.reports, "values": values}

    def text(self) -> str:
        """Return text for people: the question, what a report reveals about a person, and a table of the estimates."""
        metric, shown = self.metric, self.shown
        rows = [
            (
                label,
                f"{shown.truth[i]:.2f}",
                f"{shown.estimate[i]:.2f}",
                f"{shown.low[i]:.2f} to {shown.high[i]:.2f}{' ' if inside else '!'}",
            )
            for i, (label, inside) in enumerate(zip(shown.labels, shown.covered, strict=True))
        ]
        memoised = "" if metric.mechanism.permanent_epsilon is None else f". {MEMOISATION.removesuffix('.')}"
        return "\n".join(
            (
                f"{metric.description} ({metric.mechanism.name}, {losses(metric.mechanism)}, "
                f"{counted(self.reports, 'report')})",
                f"In words: {self.odds}{memoised}.",
                "",
                render((*self.heads, "95% interval"), rows),
            )
        )


def collected(survey: DemoSurvey, name: str, answer: Mapping[str, Any]) -> _DemoAnswer:
    """Return a collector's estimate of a metric, given the JSON of its API."""
    if survey.metrics[name].question.kind == "number":
        quantiles = {quantile["share"]: quantile for quantile in answer["quantiles"]}
        return _number(survey, name, answer["reports"], [answer["mean"], *(quantiles[share] for share in _QUANTILES)])
    truth, values = survey.truth(name), {value["value"]: value for value in answer["values"]}
    rows = [[values[label][key] for label in truth.labels] for key in ("frequency", "low", "high")]
    return _shares(survey.metrics[name], truth, answer["reports"], *np.array(rows, dtype=np.float64))


def drawn(survey: DemoSurvey, name: str, seed: np.random.SeedSequence) -> _DemoAnswer:
    """Return the estimate of a metric from randomizers and estimator alone: no client, no network, one seed."""
    metric = survey.metrics[name]
    mechanism, entropy = metric.mechanism, device_entropy(seed)
    if metric.question.kind != "number":
        truth = survey.truth(name)
        made = estimate(mechanism, truth.labels, device_tally(mechanism, truth, entropy))
        return _shares(metric, truth, made.reports, made.frequency, made.low, made.high)
    scale = Scale.of(metric)
    points = [metric.answers.encode(person[name]).rounded(entropy) for person in survey.people]
    labels = tuple(f"{scale.at(point):g}" for point in range(scale.last + 1))
    people = Population(labels, np.bincount(points, minlength=len(labels)))
    number = estimate_number(law_of(mechanism), device_tally(mechanism, people, entropy))
    quantiles = [scale.quantile(quantile, number.reports) for quantile in number.quantiles(_QUANTILES)]
    return _number(survey, name, number.reports, [scale.mean(number.mean), *quantiles])


def _shares(metric: Metric, truth: Population, reports: int, *columns: np.ndarray[Any, Any]) -> _DemoAnswer:
    """Return the share of each answer that someone gives; the truly most frequent ones are shown, in percent."""
    rows = _ComparedEstimates(truth.labels, truth.shares, *columns).chosen(np.flatnonzero(truth.counts))
    shown = rows.chosen(np.argsort(-rows.truth, kind="stable")[:_MOST_SHOWN], 100)
    held, name = len(rows.labels), metric.name
    title = name if held <= _MOST_SHOWN else f"{name}, the {_MOST_SHOWN} most frequent of {held}"
    example = (shown.labels[0], "another") if metric.question.names else None
    return _DemoAnswer(
        metric,
        reports,
        rows,
        shown,
        unit="% of all users",
        names=("value", "frequency"),
        heads=(title, "true %", "estimate %"),
        odds=metric.question.odds(metric.mechanism, example),
    )


def _number(survey: DemoSurvey, name: str, reports: int, statistics: Sequence[Mapping[str, Any]]) -> _DemoAnswer:
    """Return the mean, the median and the 95th percentile, in the metric's unit."""
    metric = survey.metrics[name]
    scale = Scale.of(metric)
    held = np.clip([float(person[name]) for person in survey.people], scale.low, scale.high)  # type: ignore[arg-type]  # a survey's own numbers
    truth = np.array([held.mean(), *np.quantile(held, _QUANTILES, method="inverted_cdf")])
    columns = (np.array([row[key] for row in statistics], dtype=np.float64) for key in ("value", "low", "high"))
    rows = _ComparedEstimates(("mean", *(f"p{100 * share:g}" for share in _QUANTILES)), truth, *columns)
    return _DemoAnswer(
        metric,
        reports,
        rows,
        rows,
        unit=scale.unit,
        names=("statistic", "estimate"),
        heads=(f"{name}, {scale.unit}", "true", "estimate"),
        odds=metric.question.odds(metric.mechanism),
    )


@dataclass(frozen=True)
class _Crowd:
    """Everyone who is asked, a limited number at a time.

    ``report`` lets each person of a survey report to a collector: given the survey, its ``metrics.toml``, the
    collector's URL, and what to call after each. It raises DitherError if one of them cannot report. ``unit`` is the
    noun for a person, ``origins`` are those of the pages that report.
    """

    unit: str
    report: Callable[[DemoSurvey, Path, str, Callable[[], object]], None]
    origins: str = ""


def devices(jobs: int) -> _Crowd:
    """Return devices with clients in Python, ``jobs`` at a time."""

    def report(survey: DemoSurvey, _definition: Path, url: str, step: Callable[[], object]) -> None:
        if not send_all(survey.metrics, url, survey.people, jobs, step):
            raise CollectorError("the collector did not accept a device's reports within the time that a device waits")

    return _Crowd("device", report)


@contextmanager
def visitors(jobs: int) -> Iterator[_Crowd]:
    """Serve the demo's page, and yield its visitors, each in a browser context with a separate storage.

    Raises ParameterError if a required program is missing.
    """
    with served(*installed_programs()) as page:

        def report(survey: DemoSurvey, definition: Path, url: str, step: Callable[[], object]) -> None:
            page.visit(definition, url, survey.people, jobs, step)

        yield _Crowd("visitor", report, page.origin)


SITE = "site"
"""The folder of the site, within that of the demo."""


def publish_site(survey: DemoSurvey, out: Path) -> None:
    """Write the site of the database in ``out``. Its only day is not over, but nobody else reports to this database."""
    title = "What the demo's devices answered"
    site = Site(survey.metrics, survey.definition.encode(), SiteScope(None, utc_today()), title, whole=False)
    with closing(Store(f"sqlite:///{out / DATABASE}", create=False)) as store:
        site.publish(store, out / SITE)


_DEFINITION = "demo-metrics.toml"


def survey_of(devices: int | None, seed: int, source: Path | None, column: str | None) -> DemoSurvey:
    """Return the demo's survey: people drawn from a table of browser usage, or the rows of a file."""
    if source is None:
        if column is not None:
            raise ParameterError("--input", "missing; --column needs the file that contains it")
        return browser_survey(devices or DEVICES, np.random.default_rng(seed))
    if column is None:
        raise ParameterError("--column", f"missing; it says which column of {source} holds the answers")
    if devices is not None:
        raise ParameterError("--devices", "cannot be used with --input, each row of which is a device")
    return column_survey(source, column)


def asked_on_the_page(visitors: int | None, seed: int) -> DemoSurvey:
    """Return the survey of the demo's page, with visitors drawn for it."""
    definition = (CHECKOUT / "demo" / "metrics.toml").read_text(encoding="utf-8")
    return page_survey(definition, visitors or VISITORS, np.random.default_rng(seed))


def show_all(survey: DemoSurvey, out: Path | None, crowd: _Crowd, *, as_json: bool) -> None:
    """Collect, print and, if given, draw into the folder ``out``."""
    with ended_by_sigterm(), _folder(out) as folder:
        answers = _collect(survey, folder, crowd, quiet=as_json)
        if as_json:
            click.echo(json.dumps([answer.described() for answer in answers], indent=1))
        else:
            _print(answers)
        if out is not None:
            publish_site(survey, out)
            _draw(answers, out, quiet=as_json)


@contextmanager
def _folder(out: Path | None) -> Iterator[Path]:
    """Yield the folder asked for, without the files of an earlier run, or a temporary one."""
    if out is None:
        with tempfile.TemporaryDirectory(prefix="dither-demo-") as vanishing:
            yield Path(vanishing)
        return
    try:
        out.mkdir(parents=True, exist_ok=True)
        for old in out.glob(f"{DATABASE}*"):
            old.unlink()  # this run must not count the reports of another
    except OSError as error:
        raise ParameterError("--out", f"{out} cannot be written to: {error.strerror}") from None
    yield out


def _collect(survey: DemoSurvey, folder: Path, crowd: _Crowd, quiet: bool) -> list[_DemoAnswer]:
    """Send every person's answers to a separate collector, and ask it for its estimates."""
    definition = folder / _DEFINITION
    write_bytes(definition, survey.definition.encode("utf-8"))
    people = len(survey.people)
    with running_collector(definition, folder, crowd.origins) as collector:
        if not quiet:
            click.echo(f"A collector listens at {collector.url}; {people:,} {crowd.unit}s report to it.\n")
        with tqdm(total=people, unit=crowd.unit, disable=None, leave=False) as bar:
            crowd.report(survey, definition, collector.url, bar.update)
        answers = [collected(survey, name, fetch_estimate(collector, name)) for name in survey.metrics]
    for answer in answers:
        if answer.reports != people:
            raise CollectorError(
                f"{answer.metric.name}: {counted(people, 'report')} sent, but the collector counted {answer.reports:,}"
            )
    return answers


def _print(answers: list[_DemoAnswer]) -> None:
    for answer in answers:
        click.echo(f"{answer.text()}\n")
    shown = np.concatenate([answer.shown.covered for answer in answers])
    click.echo(
        f"{shown.sum()} of the {len(shown)} intervals shown contain the truth (! marks the others); 95 in 100 should."
    )


def _draw(answers: list[_DemoAnswer], out: Path, quiet: bool) -> None:
    for answer in answers:
        title = answer.metric.description or answer.metric.name
        save(_estimates_plot(answer.shown, title, answer.unit), out / f"{answer.metric.name}.png")
    if quiet:
        return
    name, definition, database = answers[0].metric.name, out / _DEFINITION, out / DATABASE
    click.echo(
        f"The charts are in {out}, and a site of the answers is {out / SITE / 'index.html'}.\n"
        "To ask the collector's database again:"
    )
    click.echo(f"  dither-server estimate {name} --metrics {definition} --db sqlite:///{database}")


def count(survey: DemoSurvey, seed: int, repeats: int) -> None:
    """Say how many intervals contain the truth, over repeats with consecutive seeds."""
    held = total = 0
    for number in range(seed, seed + repeats):
        roots = np.random.SeedSequence(number).spawn(len(survey.metrics))
        answers = [drawn(survey, name, root) for name, root in zip(survey.metrics, roots, strict=True)]
        covered = np.concatenate([answer.rows.covered for answer in answers])
        click.echo(f"seed {number}: {covered.sum()} of {len(covered)} intervals contain the truth")
        held, total = held + int(covered.sum()), total + len(covered)
    click.echo(f"in all: {held} of {total}, {held / total:.1%}; 95% are expected to")
