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

OPERATORS: dict[str, list[dict[str, object]]] = {
    "name": [{"name": "Paint e.V."}],
    "address": [{"address": "Testweg 2"}],
    "contact": [{"contact": "other@example.org"}],
    "app": [{"app": "Paint"}],
    "endpoint": [{"endpoint": "https://other.example"}, {"endpoint": "http://other.example"}],
    "legal_basis": [{"legal_basis": "a law"}],
    "withdraw": [{"withdraw": "open the settings"}],
    "retention_days": [{"retention_days": 1}, {"retention_days": 0}],
    "address_log_days": [{"address_log_days": 7}],
    "backup_days": [{"backup_days": 0}, {"backup_days": 1}],
    "hosting": [{"hosting": "Host GmbH"}],
    "third_country": [{"third_country": "Norway"}],
    "relay": [{"relay": "Relay e.V."}, {"relay": "Notes e.V."}],
    "officer": [{"officer": "Somebody"}],
    "authority": [{"authority": "An authority"}],
    "published": [{"published": "https://answers.example"}],
    "source": [{"source": "https://source.example"}],
    "horizon_days": [{"horizon_days": 60}],
    "users": [{"users": 5000}],
    "children": [{"children": True}],
    "web": [{"web": True}],
}
"""Other values of each key of operator.toml."""

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
    for key, others in OPERATORS.items():
        for other in others:
            if key != "relay":
                yield f"operator.{key}", plain, facts(replace(OPERATOR, **other))  # type: ignore[arg-type]
            yield (
                f"operator.{key}",
                shut,
                facts(*sealed({"relay": "Third e.V."} if other == {"relay": "Relay e.V."} else other)),
            )
    for key, texts in DEFINITIONS.items():
        for text in texts:
            before, operator = plain, replace(OPERATOR, relay="Relay e.V.") if key == "seal.key" else OPERATOR
            yield key, before, facts(operator, text)


@pytest.fixture(scope="module")
def changed() -> list[tuple[str, set[Fact], set[Fact]]]:
    return list(changes())


def test_every_setting_of_the_papers_is_varied() -> None:
    assert OPERATORS.keys() == {source.name for source in fields(Operator)}


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


def test_every_fact_of_a_paper_names_its_sources() -> None:
    assert [fact.text for fact in facts() | facts(*sealed({})) if not fact.sources] == []


def test_text_of_a_paper_outside_facts_contains_no_setting() -> None:
    values = [str(value) for field in fields(Operator) if len(str(value := getattr(OPERATOR, field.name))) > 5]
    for draft in drafts():
        for part in draft.parts:
            if isinstance(part, str):
                assert not any(value in part for value in values), part


def test_each_paper_says_that_it_is_no_legal_advice() -> None:
    texts = [draft.text() for draft in drafts()]
    assert all("It is no legal advice" in text and "AppTelemetry" not in text for text in texts)
    assert len({draft.file for draft in drafts()}) == len(PAPERS)


def test_limit_of_waiting_reports_in_papers_equals_the_javascript_clients() -> None:
    source = (ROOT / "client/js/src/reporting/ledger.js").read_text(encoding="utf-8")
    assert "MAX_REPORTS = 1_000;" in source
    assert any("at most 1,000 wait" in fact.text for fact in facts(replace(OPERATOR, web=True)))


def test_papers_call_a_large_privacy_loss_large() -> None:
    large = METRICS.replace("cap = 4", "cap = 52")
    assert any("at most epsilon 52. That may leave no doubt" in fact.text for fact in facts(definitions=large))
    assert any("at most epsilon 4." in fact.text and "no doubt" not in fact.text for fact in facts())
    unbounded = facts(definitions=METRICS + MORE)
    assert any("No total is bounded: each further report of start costs" in fact.text for fact in unbounded)


def test_papers_say_if_a_device_can_be_recognized() -> None:
    lasting = facts(definitions=DEFINITIONS["metrics.permanent_epsilon"][0])
    assert any("may be recognized as coming from one device" in fact.text for fact in lasting)
    assert any("repeat a permanent answer may be matched with each other" in fact.text for fact in lasting)
    assert not any("may be recognized" in fact.text for fact in facts())
    logs = facts(replace(OPERATOR, address_log_days=3))
    assert any("consider declaring the data as linked" in fact.text for fact in logs)
    assert any("network addresses, in logs for 3 days." in fact.text for fact in logs)


def test_papers_list_unrandomized_state_among_what_a_thief_learns() -> None:
    kept = facts(definitions=METRICS + 'of = "furthest"\n')
    assert any(fact.text.endswith("and for how long, is stated for theme.") for fact in kept)
    assert any("and when, and what is kept unchanged for theme." in fact.text for fact in kept)
    assert any("and when, but no answer is stored." in fact.text for fact in facts())


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
