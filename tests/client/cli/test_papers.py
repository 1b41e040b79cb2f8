"""Papers: each sentence depends on exactly the settings that it names, and every setting is covered."""

import re
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path

import pytest

from dither.__main__ import main
from dither.cli.papers.assessment import dpia, record_of_processing
from dither.cli.papers.notices import distributions, privacy_notice, retention_text, telemetry_md
from dither.cli.papers.operator import Operator
from dither.cli.papers.sentences import AppTelemetry, Draft, Fact
from dither_shared import ParameterError
from dither_shared.metrics.definition import parse_metrics

ROOT = Path(__file__).parents[3]
PAPERS = (privacy_notice, record_of_processing, dpia, retention_text, telemetry_md, distributions)
OPERATOR = Operator(
    name="Notes e.V.",
    address="Musterweg 1",
    contact="privacy@example.org",
    app="Notes",
    endpoint="https://telemetry.example.org",
    legal_basis="your consent",
    withdraw="run: notes telemetry off",
    retention_days=400,
    address_log_days=0,
    backup_days=30,
)
METRICS = """
[metrics.theme]
description = "Which theme?"
why = "to drop themes"
owner = "the maintainers"
tier = "interaction"
type = "choice"
values = ["light", "dark", "system"]
epsilon = 1.0
period = "week"
cap = 4
expires = 2027-12-31
strata = {platform = ["linux", "windows"]}
"""
SEAL = '[seal]\nkey = "x25519:cTlNiEfbKAzIqe83BadZ2JWqHIIY59MfkyMbd-q3GSk"\n'
MORE = '[metrics.start]\ntype = "boolean"\nepsilon = 3.0\nperiod = "week"\n'

OTHER_VALUES: dict[str, tuple[object, ...]] = {
    "endpoint": ("https://other.example", "http://other.example"),
    "relay": ("Third e.V.", OPERATOR.name),
}
"""Other values of the keys of operator.toml for which the papers distinguish more than that they differ."""


def others(key: str) -> tuple[object, ...]:
    """Return other values of a key of operator.toml."""
    value = getattr(OPERATOR, key)
    if isinstance(value, bool):
        return (not value,)
    if isinstance(value, int):
        return tuple({0, 1, 5000} - {value})
    return OTHER_VALUES.get(key, (f"https://{key}.example",))


DEFINITIONS = {
    "metrics.description": [METRICS.replace("Which theme?", "What?")],
    "metrics.why": [METRICS.replace("to drop", "to draw")],
    "metrics.owner": [METRICS.replace("the maintainers", "nobody")],
    "metrics.tier": [METRICS.replace('tier = "interaction"\n', ""), METRICS.replace("interaction", "sensitive")],
    "metrics.type": [METRICS.replace('"choice"\nvalues', '"selection"\nvalues')],
    "metrics.values": [METRICS.replace('"dark", ', '"dark", "grey", ')],
    "metrics.epsilon": [METRICS.replace("epsilon = 1.0", "epsilon = 2.0")],
    "metrics.permanent_epsilon": [METRICS.replace("epsilon = 1.0", "epsilon = 1.0\npermanent_epsilon = 2.0")],
    "metrics.mechanism": [
        METRICS.replace("epsilon = 1.0", 'epsilon = 1.0\nmechanism = "optimized-unary"'),
        METRICS.replace("epsilon = 1.0", 'epsilon = 1.0\npermanent_epsilon = 2.0\nmechanism = "optimized-unary"'),
    ],
    "metrics.period": [METRICS.replace('"week"', '"day"'), METRICS.replace('"week"', '"once"')],
    "metrics.cap": [METRICS.replace("cap = 4", "cap = 40"), METRICS.replace("cap = 4\n", "")],
    "metrics.expires": [METRICS.replace("expires = 2027-12-31\n", "")],
    "metrics.strata": [METRICS.replace('strata = {platform = ["linux", "windows"]}\n', "")],
    "metrics.of": [METRICS + 'of = "furthest"\n'],
    "metrics.after": [METRICS + 'after = "7 days"\n'],
    "metrics.mixed": [METRICS + "mixed = {epsilon = 0.5, least = 1000}\n"],
    "metrics.one_of": [METRICS + 'one_of = "looks"\n'],
    "seal.key": [METRICS + SEAL],
}
"""Other definitions, in which one key has another value."""


TOTALS = ("All questions together", "Many reports of one person")
"""The total depends on epsilon only if the metric has no cap."""


def drafts(operator: Operator = OPERATOR, definitions: str = METRICS) -> list[Draft]:
    about = AppTelemetry(operator, parse_metrics(definitions).values())
    return [make(about) for make in PAPERS]


def facts(operator: Operator = OPERATOR, definitions: str = METRICS) -> set[Fact]:
    return {fact for draft in drafts(operator, definitions) for fact in draft.facts()}


def sealed(other: dict[str, object]) -> tuple[Operator, str]:
    return replace(OPERATOR, **{"relay": "Relay e.V.", **other}), METRICS + SEAL  # type: ignore[arg-type]


def changes() -> Iterator[tuple[str, set[Fact], set[Fact]]]:
    """Yield each setting with the facts before and after its value changes."""
    plain, shut = facts(), facts(*sealed({}))
    for key in (source.name for source in fields(Operator)):
        for other in others(key):
            if key != "relay":
                yield f"operator.{key}", plain, facts(replace(OPERATOR, **{key: other}))  # type: ignore[arg-type]
            yield f"operator.{key}", shut, facts(*sealed({key: other}))
    for key, texts in DEFINITIONS.items():
        for text in texts:
            yield key, plain, facts(replace(OPERATOR, relay="Relay e.V." * (key == "seal.key")), text)


@pytest.fixture(scope="module")
def changed() -> list[tuple[str, set[Fact], set[Fact]]]:
    return list(changes())


def test_sentence_of_a_paper_changes_only_with_its_named_settings(
    changed: list[tuple[str, set[Fact], set[Fact]]],
) -> None:
    for key, before, after in changed:
        named = {key, "operator.relay"} if key == "seal.key" else {key}
        assert [fact for fact in before ^ after if not named & set(fact.sources)] == [], key


def test_papers_use_every_setting_and_every_named_source_matters(
    changed: list[tuple[str, set[Fact], set[Fact]]],
) -> None:
    moved: dict[str, set[Fact]] = {}
    for key, before, after in changed:
        moved.setdefault(key, set()).update(before ^ after)
    assert [key for key, changed_facts in moved.items() if not changed_facts] == []
    for fact in facts() | facts(*sealed({})):
        vain = {source for source in fact.sources if not source.startswith("tests/") and fact not in moved[source]}
        if not fact.text.startswith(TOTALS):
            assert vain == set(), fact


def test_tests_named_by_a_sentence_exist() -> None:
    named = {
        source
        for operator, text in ((OPERATOR, METRICS), sealed({}), (replace(OPERATOR, web=True), METRICS))
        for fact in facts(operator, text)
        for source in fact.sources
        if source.startswith("tests/")
    }
    assert len(named) > 20
    for name in named:
        file, _, test = name.partition("::")
        assert f"def {test}(" in (ROOT / file).read_text(encoding="utf-8") if test else (ROOT / file).exists(), name


def test_settings_stand_in_facts_that_name_their_sources_and_no_paper_is_legal_advice() -> None:
    assert [fact.text for fact in facts() | facts(*sealed({})) if not fact.sources] == []
    values = [str(value) for field in fields(Operator) if len(str(value := getattr(OPERATOR, field.name))) > 5]
    assert len({draft.file for draft in drafts()}) == len(PAPERS)
    for draft in drafts():
        assert "It is no legal advice" in draft.text()
        outside = [part for part in draft.parts if isinstance(part, str)]
        assert not [value for value in values if any(value in part for part in outside)], draft.file


LASTING, KEPT = DEFINITIONS["metrics.permanent_epsilon"][0], DEFINITIONS["metrics.of"][0]


@pytest.mark.parametrize(
    ("definitions", "logs", "said"),
    [
        (METRICS, 0, "at most epsilon 4."),
        (METRICS.replace("cap = 4", "cap = 52"), 0, "at most epsilon 52. That may leave no doubt"),
        (METRICS + MORE, 0, "No total is bounded: each further report of start costs"),
        (LASTING, 0, "may be recognized as coming from one device"),
        (LASTING, 0, "repeat a permanent answer may be matched with each other"),
        (METRICS, 3, "consider declaring the data as linked"),
        (METRICS, 3, "network addresses, in logs for 3 days."),
        (METRICS, 0, "and when, but no answer is stored."),
        (KEPT, 0, "and for how long, is stated for theme."),
        (KEPT, 0, "and when, and what is kept unchanged for theme."),
    ],
)
def test_papers_state_a_loss_what_links_reports_and_what_a_thief_learns(definitions: str, logs: int, said: str) -> None:
    assert any(said in fact.text for fact in facts(replace(OPERATOR, address_log_days=logs), definitions))
    others = [METRICS, *(text for text in (METRICS + MORE, LASTING, KEPT) if text != definitions)]
    assert definitions == METRICS or not any(said in fact.text for text in others for fact in facts(definitions=text))


def test_limit_of_waiting_reports_in_papers_equals_the_javascript_clients() -> None:
    source = (ROOT / "client/js/src/reporting/ledger.js").read_text(encoding="utf-8")
    assert "MAX_REPORTS = 1_000;" in source
    assert any("at most 1,000 wait" in fact.text for fact in facts(replace(OPERATOR, web=True)))


@pytest.mark.parametrize(
    ("relay", "definitions", "said"), [("", METRICS + SEAL, "say who runs"), ("Relay e.V.", METRICS, "no report goes")]
)
def test_papers_name_a_relay_exactly_if_reports_are_sealed(relay: str, definitions: str, said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        drafts(replace(OPERATOR, relay=relay), definitions)


def filled(tmp_path: Path, **other: str) -> Path:
    """Return an operator.toml: the example with the values of ``OPERATOR`` between its quotes."""
    text = Operator.example()
    for field in fields(Operator):
        value = other.get(field.name, str(getattr(OPERATOR, field.name)))
        text = re.sub(rf'(?m)^{field.name} = ""$', f'{field.name} = "{value}"', text)
    path = tmp_path / "operator.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_operator_toml_example_is_completed_between_its_quotes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert Operator.load(filled(tmp_path)) == OPERATOR
    assert main(["papers", "--example"]) == 0
    assert capsys.readouterr().out == Operator.example()
    assert "\n# Where people reach them about privacy. For example: " in Operator.example()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "still to be filled in: name, address, contact, app, endpoint"),
        ('nmae = "x"', "nmae: unknown; did you mean 'name'?"),
        ('retention_days = "soon"', "retention_days: 'soon' is not a whole number from 0"),
        ("users = -1", "users: -1 is not a whole number from 0"),
        ("users = true", "users: True is not a whole number from 0"),
        ('children = "no"', "children: 'no' is not true or false"),
        ('hosting = "a\\nb"', "hosting: has a line break or a control character"),
        ('endpoint = "ftp://x"', "endpoint"),
        ("name = ", "not TOML"),
    ],
)
def test_a_mistake_in_operator_toml_is_named(text: str, said: str, tmp_path: Path) -> None:
    path = filled(tmp_path)
    key = text.partition(" ")[0]
    rest = "" if not text else re.sub(rf"(?m)^{key} = .*$", "", path.read_text(encoding="utf-8"))
    path.write_text(rest + "\n" + text, encoding="utf-8")
    with pytest.raises(ParameterError) as caught:
        Operator.load(path)
    assert said in str(caught.value)
    assert str(path) in str(caught.value)


def test_papers_are_written_and_never_overwrite_what_was_edited(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    metrics = tmp_path / "metrics.toml"
    metrics.write_text(METRICS, encoding="utf-8")
    out = tmp_path / "papers"
    command = ["papers", "--operator", str(filled(tmp_path)), "--metrics", str(metrics), "-o", str(out)]
    assert main(command) == 0
    said = capsys.readouterr().out
    assert sorted(path.name for path in out.iterdir()) == sorted(draft.file for draft in drafts())
    assert "dpia.md: 8 questions for you to answer" in said
    assert main(command) == 0, "the same settings make the same papers"
    edited = out / "TELEMETRY.md"
    edited.write_text("ours", encoding="utf-8")
    metrics.write_text(METRICS.replace("cap = 4", "cap = 8"), encoding="utf-8")
    before = (out / "dpia.md").read_bytes()
    assert main(command) == 1
    assert edited.read_text(encoding="utf-8") == "ours"
    assert (out / "dpia.md").read_bytes() == before, "nothing is written"
    assert "nothing is written without --force" in capsys.readouterr().err
    assert main([*command, "--force", "--sources"]) == 0
    assert "(operator.name, operator.contact)" in edited.read_text(encoding="utf-8")
