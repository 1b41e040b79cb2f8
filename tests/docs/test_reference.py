"""The reference is complete, in the generated parts and in those written by hand."""

import re
import tomllib
from datetime import date
from pathlib import Path

import pytest

import dither
from dither.upload.schedule import rule_for
from dither_reference import GENERATORS, generated
from dither_reference.docstrings import as_markup
from dither_reference.http_api import document
from dither_relay.config import RELAY
from dither_server.config.sources import COLLECTOR
from dither_serving.problems import Kind
from dither_shared import MECHANISMS, QUESTIONS, ParameterError, parse_metrics
from docs.blocks import blocks_of
from docs.pages import ROOT

REFERENCE = ROOT / "docs" / "reference"


def page(name: str) -> str:
    return (REFERENCE / name).read_text(encoding="utf-8")


def rows_of(text: str) -> list[list[str]]:
    """Return the cells of all rows of a page's tables."""
    return [re.split(r"(?<!\\)\|", line.strip("| ")) for line in text.splitlines() if line.startswith("| ")]


@pytest.mark.parametrize(
    ("program", "command"),
    [("dither-server", "token-create"), ("dither-relay", "forward"), ("dither-sim", "attack-poisoning")],
)
def test_reference_lists_the_commands_of_each_program(program: str, command: str) -> None:
    text = GENERATORS["commands"](program)
    listed = set(re.findall(r"^\| \[`[\w -]+`\]\(#([\w-]+)\)", text, re.MULTILINE))
    assert listed == {heading.replace(" ", "-") for heading in re.findall(r"^## (.+)$", text, re.MULTILINE)}
    assert f"{program}-{command}" in listed


def test_options_of_a_command_have_their_default_range_choices_and_variable() -> None:
    sim, server = (GENERATORS["commands"](program) for program in ("dither-sim", "dither-server"))
    assert "| `--zipf-s FLOAT` | Exponent of Zipf's law. Default: `1.1`. Range: `x>=0`. |" in sim
    assert "One of `raw`, `consistent`, `shift`" in sim
    assert "| `--port VALUE` | Port to listen on; 0 takes any free one. Variable `DITHER_PORT`. |" in server
    assert "## python -m dither status" in GENERATORS["module-commands"]("")


def test_reference_lists_every_setting_of_collector_and_relay() -> None:
    for program, sources in (("collector", COLLECTOR), ("relay", RELAY)):
        rows = rows_of(GENERATORS["settings"](program))[2:]
        assert [cells[0].strip().partition("<br>")[0].strip("`") for cells in rows] == [*sources.settings]


def test_reference_lists_every_route() -> None:
    text = GENERATORS["http-api"]("routes")
    assert "## POST /v1/reports" in text
    assert re.search(r"## GET /v1/metrics/\{name\}/estimate.*?`confidence` \| number", text, re.DOTALL)
    linked = {*re.findall(r"problems\.md#([\w-]+)", text + page("http-api.md"))}
    assert linked <= {kind.slug for kind in Kind}
    schemas = GENERATORS["http-api"]("schemas")
    for name in re.findall(r"http-answers\.md#(\w+)", text + schemas):
        assert re.search(rf"^## {name}$", schemas, re.MULTILINE | re.IGNORECASE), name


@pytest.mark.parametrize("kind", Kind, ids=lambda kind: kind.slug)
def test_reference_lists_every_problem_type(kind: Kind) -> None:
    section = page("problems.md").partition(f"### {kind.slug}\n")[2].partition("\n###")[0]
    assert section.strip().startswith(f"{kind.status}, *{kind.title}*"), section
    fate = rule_for(kind.status).fate
    assert ("client drops" in section) <= (fate == "dropped")


def test_table_of_what_a_client_does_after_each_status_is_true() -> None:
    table = page("problems.md").partition("## What a client does")[2].partition("##")[0]
    rows = {cells[0].strip(): {*map(int, re.findall(r"\b\d{3}\b", cells[1]))} for cells in rows_of(table)}
    actions = {status: action for action, statuses in rows.items() for status in statuses}
    assert len(actions) == 17
    for status, action in actions.items():
        rule = rule_for(status)
        assert (rule.fate == "sent") == action.startswith("forgets")
        assert (rule.fate == "dropped") == ("drops" in action)
        assert rule.fate is not None or rule.window.base == (900.0 if "soon" in action else 4 * 3600.0)


def keys_in(text: str) -> set[str]:
    """Return what stands as code in the first column of a page's tables."""
    return {key for cells in rows_of(text) for key in re.findall(r"`([^`]+)`", cells[0])}


def test_reference_explains_and_shows_every_key_of_a_definition() -> None:
    text = page("metrics-toml.md")
    with pytest.raises(ParameterError) as refused:
        parse_metrics("[metrics.a]\ntype = 'boolean'\nzzz = 1")
    known = {*str(refused.value).rpartition("known here: ")[2].split(", ")}
    assert {"description", "epsilon", "one_of", "report_budget"} <= known
    known = known.union(*(kind.keys for kind in QUESTIONS.values()), *(MECHANISMS[name].keys for name in MECHANISMS))
    assert known <= keys_in(text)
    shown: set[str] = set()
    for block in blocks_of(text):
        for table in tomllib.loads(block.text).get("metrics", {}).values():
            shown |= table.keys()
    assert known <= shown, "each has an example, which the page's own test loads"
    assert {f"discover.{key}" for key in ("alphabet", "length", "fold")} <= keys_in(text)


def test_reference_lists_every_mechanism_with_its_parameters() -> None:
    rows = {cells[0].strip(" `"): cells for cells in rows_of(page("mechanisms.md")) if len(cells) == 5}
    assert set(MECHANISMS) == rows.keys() - {"mechanism", "---"}
    for name in MECHANISMS:
        family = MECHANISMS[name]
        parameters = family.keys - {"epsilon", "permanent_epsilon", "at_most"}
        assert parameters <= {*re.findall(r"`(\w+)`", rows[name][1])}, name
        assert ("permanent_epsilon" in family.keys) == (rows[name][2].strip() == "yes"), name


def test_every_generated_part_is_used_by_a_page_and_no_page_names_another() -> None:
    for path in REFERENCE.rglob("*.md"):
        text = path.read_text(encoding="utf-8")
        assert "<!-- generated" not in generated(text), path
    used = {
        *re.findall(
            r"<!-- generated: ([\w-]+)", "".join(path.read_text(encoding="utf-8") for path in REFERENCE.rglob("*.md"))
        )
    }
    assert used == {*GENERATORS}


def test_markup_of_a_docstring_shows_its_bars_and_formulas() -> None:
    docstring = ["ε is |ln p|, as ``|x|``.", "", "    p = |q|", "", "    r", "", "End."]
    assert as_markup(docstring) == [r"ε is \|ln p\|, as ``|x|``.", "", "::", "", "    p = |q|", "", "    r", "", "End."]


def test_reference_explains_every_field_of_an_estimate() -> None:
    described = {word for code in re.findall(r"`([^`]+)`", page("estimates.md")) for word in re.findall(r"\w+", code)}
    schemas = document()["components"]["schemas"]
    for name in ("Estimate", "NumberEstimate", "SelectionEstimate", "Crossing", "Discovery", "Comparison", "Trend"):
        assert not set(schemas[name]["properties"]) - described - {"metric", "note"}, name
    row = schemas["Estimate"]["properties"]["values"]["items"]["properties"]
    assert set(row) <= described


def test_reference_explains_every_file_and_record_of_a_state_folder(tmp_path: Path) -> None:
    state = tmp_path / "state"
    metrics = parse_metrics(
        "[metrics.a]\ntype = 'choice'\nvalues = ['x', 'y']\nepsilon = 1.0\npermanent_epsilon = 2.0\n"
        "mechanism = 'local-hashing'\n[metrics.b]\ntype = 'boolean'\nepsilon = 1.0\n[metrics.c]\ntype = 'number'\n"
        "low = 0\nhigh = 9\nof = 'count'\nperiod = 'week'\nafter = '1 day'\nepsilon = 1.0"
    )
    days = iter([date(2026, 11, 1)] * 50 + [date(2026, 11, 3)] * 500)
    client = dither.Client(
        metrics, "http://127.0.0.1:9", "notes", state, environ={}, background=False, today=lambda: next(days)
    )
    client.consent("on")
    for _ in range(60):
        client.record("a", "x")
        client.record("b", True)
    assert not client.flush(5)
    client.close()
    text = page("state-folder.md")
    files = {path.name for path in state.iterdir()}
    assert {"consent", "secret", "journal", "extent", "delivery", "events"} <= files <= keys_in(text)
    lines = [
        line for name in ("consent", "secret", "journal") for line in (state / name).read_text("ascii").splitlines()
    ]
    kinds = {line.split(" ")[1] for line in lines}
    named = {"journal", "debit", "permanent", "queued", "consent", "accepted", "secret", "first-use"}
    assert named <= kinds <= keys_in(text)
