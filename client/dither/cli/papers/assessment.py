"""Papers for those who must account for the processing: the record of Article 30, and the questions of a DPIA."""

from collections.abc import Sequence

from dither_shared.counted import counted

from .notices import recipients
from .sentences import AppTelemetry, Draft, Fact, Open, Part, say


def record_of_processing(about: AppTelemetry) -> Draft:
    """Return the entry of the record of processing activities (Article 30(1) of the GDPR)."""
    op = about.operator
    officer = f" Data protection officer: {op.officer}." if op.officer else ""
    return Draft(
        "record-of-processing.md",
        f"Record of processing: telemetry of {op.app}",
        [
            "## (a) Controller",
            say(
                f"{op.name}, {op.address}, {op.contact}.{officer}",
                *("operator.name", "operator.address", "operator.contact", "operator.officer"),
            ),
            "## (b) Purposes",
            about.purposes(),
            say(f"Legal basis: {op.legal_basis}.", "operator.legal_basis"),
            "## (c) Data subjects and categories of data",
            _people(about),
            _data(about),
            about.sensitive(),
            "## (d) Recipients, (e) third countries",
            *recipients(about),
            "## (f) Time limits for erasure",
            about.kept(),
            "## (g) Security measures (Article 32)",
            _measures(about),
        ],
    )


def dpia(about: AppTelemetry) -> Draft:
    """Return the questions of a data protection impact assessment (Article 35(7) of the GDPR), with answers."""
    op = about.operator
    return Draft(
        "dpia.md",
        f"Data protection impact assessment: telemetry of {op.app}",
        [
            "## Is an assessment required?",
            "Article 35(1) asks for one if a high risk is likely. The criteria below are those of the European data"
            " protection authorities (WP 248 rev. 01); two that are met usually suffice. Whether one is required"
            " is for you to decide.",
            _criteria(about),
            Open("Is one of the lists of your supervisory authority (Article 35(4) and (5)) concerned?"),
            "## The processing, and its purposes (Article 35(7)(a))",
            about.changed(),
            *about.questions(),
            about.sent(),
            about.kept(),
            *recipients(about),
            "## Necessity and proportionality (Article 35(7)(b))",
            about.purposes(),
            say(f"Legal basis: {op.legal_basis}.", "operator.legal_basis"),
            about.total(),
            about.off(),
            Open(
                "Do answers belong to the special categories of Article 9, such as health? They need explicit consent."
            ),
            Open("Could the purpose be reached with fewer questions, a smaller epsilon, or without asking?"),
            "## Risks for people (Article 35(7)(c))",
            *_risks(about),
            Open("How likely and how severe is each of these risks for the people who use the app?"),
            "## Measures (Article 35(7)(d))",
            _measures(about),
            Open("Does an unacceptable risk remain (then Article 36 asks you to consult the authority first)?"),
            "## Who was heard",
            *_heard(about),
            Open("What do users, or those who speak for them, say (Article 35(9))?"),
            Open("When is this assessment reviewed (Article 35(11))? At the latest when metrics.toml changes."),
        ],
    )


def _people(about: AppTelemetry) -> Fact:
    op = about.operator
    number = f" (about {counted(op.users, 'person', 'people')})" if op.users else ""
    children = " Children are among them." if op.children else ""
    return say(
        f"People who use {op.app}{number} and have agreed.{children}",
        "operator.app",
        "operator.users",
        "operator.children",
    )


def _data(about: AppTelemetry) -> Fact:
    clear = any(metric.strata is not None for metric in about.metrics)
    return say(
        f"Answers to {counted(len(about.metrics), 'question')}, changed at random on the device; "
        + ("attributes that are sent in the clear; " if clear else "")
        + "network addresses, while a connection lasts.",
        "metrics.strata",
    )


def _criteria(about: AppTelemetry) -> Sequence[Fact]:
    """Answer the nine criteria of WP 248, as far as the settings allow."""
    op = about.operator
    named = ", ".join(one.name for one in about.metrics if one.tier == "sensitive")
    large = (
        f"about {counted(op.users, 'person', 'people')} use the app" if op.users else "the number of users is not given"
    )
    sums = "tests/server/store/test_store.py::test_nothing_finer_than_a_day_is_kept"
    return [
        say("Evaluation or scoring of people: no; only sums over all users are kept.", sums),
        say("Automated decisions about people: no; nothing that is kept is about one person.", sums),
        say(f"Systematic monitoring: the app reports repeatedly ({_periods(about)}).", "metrics.period"),
        say(
            f"Sensitive data: {f'yes ({named})' if named else 'none is declared (tier in metrics.toml)'}.",
            "metrics.tier",
        ),
        say(f"Large scale: {large}.", "operator.users"),
        say(
            "Matching of data sets: no identifier is sent by which reports could be matched with other data.",
            "tests/client/upload/test_transport.py::test_all_requests_look_alike",
        ),
        say(f"Vulnerable people: {'yes, children' if op.children else 'none are declared'}.", "operator.children"),
        say(
            "New technology: local differential privacy is uncommon; its protection is proved by enumeration.",
            "tests/contract/test_privacy.py::test_exact_ratio_is_the_stated_one_and_spends_the_declared_epsilon",
        ),
        say(
            "Keeping people from a service: no; without consent the client does nothing, and raises no error.",
            "tests/client/consent/test_rules.py::test_off_draws_nothing_and_writes_nothing",
        ),
    ]


def _periods(about: AppTelemetry) -> str:
    return ", ".join(f"{one.name}: {one.period}" for one in about.metrics)


def _risks(about: AppTelemetry) -> list[Part]:
    """List what may go wrong, with what bounds it."""
    large = [f"{one.name} (epsilon {one.mechanism.epsilon:.3g})" for one in about.metrics if one.mechanism.epsilon > 1]
    weak = (
        f"Above 1 is the loss of one report of {', '.join(large)}." if large else "No report costs more than epsilon 1."
    )
    found = [
        say(
            "Somebody who sees a report becomes surer of the answer of the person who sent it. The bound is stated"
            f" for each question above. {weak}",
            "metrics.epsilon",
        ),
        say(
            "Many reports of one person add up, unless a cap or a permanent answer bounds them. " + about.total().text,
            *about.total().sources,
        ),
        say(
            "The network, and the people who run the collector or the relay, can see that an address uses the app.",
            "tests/client/upload/test_transport.py::test_the_bytes_that_arrive_are_the_bytes_that_were_shown",
        ),
        *about.sent()[2:-1],
        say(
            "False reports can move the published shares. They reveal nothing about anyone.",
            "tests/server/analysis/test_poisoning.py::test_no_report_moves_an_estimate_by_more_and_one_does_by_as_much",
        ),
        _thief(about),
        *([_relay_alone()] if about.sealed else []),
    ]
    return [found]


def _thief(about: AppTelemetry) -> Fact:
    guesses = any(metric.mechanism.memoised for metric in about.metrics)
    return say(
        "Somebody who holds the device's files learns which questions were answered and when, but no answer is stored."
        + (" With the device's secret they can test guesses of permanent answers." if guesses else ""),
        "metrics.permanent_epsilon",
        "metrics.mechanism",
        "tests/client/reporting/test_permanent.py::test_the_folder_holds_no_value_and_no_day_beside_a_tag",
    )


def _relay_alone() -> Fact:
    return say(
        "A dishonest relay that can read the answers while they grow can single out a report that it forwards alone,"
        " changed at random as it is.",
        "seal.key",
    )


def _files(about: AppTelemetry) -> Fact:
    kept = (
        "What is kept in the browser can be read by pages of the same site alone"
        if about.operator.web
        else "Files on the device can be read by their owner alone"
    )
    return say(
        f"{kept}, and reading answers at the collector takes a token unless its setting open lets everybody read.",
        "operator.web",
        "tests/client/reporting/test_keys.py::test_the_secret_is_drawn_from_the_entropy_that_is_given_and_stored_once",
        "tests/server/access/test_local_token.py::test_reading_from_this_machine_needs_a_token",
    )


def _measures(about: AppTelemetry) -> list[Fact]:
    return [
        about.changed(),
        say(
            "No answer of a server can make a device report more, or with less noise.",
            "tests/client/upload/test_hostile_server.py::test_no_answer_changes_what_is_emitted",
        ),
        say(
            "The length of a report does not depend on the answer, and each leaves at a random time.",
            "tests/client/upload/test_transport.py::test_the_length_of_a_body_does_not_depend_on_the_value",
            "tests/client/upload/test_schedule.py::test_each_report_waits_for_a_time_of_its_own_with_full_jitter",
        ),
        _files(about),
        about.sent()[-1],
    ]


def _heard(about: AppTelemetry) -> list[Part]:
    if not about.operator.officer:
        return [Open("Is a data protection officer designated? If so, their advice is needed (Article 35(2)).")]
    return [
        say(f"The data protection officer is {about.operator.officer}.", "operator.officer"),
        Open("What is their advice (Article 35(2))?"),
    ]
