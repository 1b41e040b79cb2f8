"""Papers for those who must account for the processing: the record of Article 30, and the questions of a DPIA."""

from collections.abc import Sequence

from dither_shared.counted import counted

from .notices import recipients
from .sentences import ALIKE, EXACT, NO_VALUE, OFF, ONLY_SUMS, AppTelemetry, Draft, Fact, Part, question, say


def record_of_processing(about: AppTelemetry) -> Draft:
    """Return the entry of the record of processing activities (Article 30(1) of the GDPR)."""
    officer = " Data protection officer: {officer}." if about.operator.officer else ""
    return Draft(
        "record-of-processing.md",
        f"Record of processing: telemetry of {about.operator.app}",
        [
            "## (a) Controller",
            about.say("{name}, {address}, {contact}." + officer, "operator.officer"),
            "## (b) Purposes",
            about.purposes(),
            about.legal_basis(),
            "## (c) Data subjects and categories of data",
            _people(about),
            _data(about),
            about.about_people(),
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
    return Draft(
        "dpia.md",
        f"Data protection impact assessment: telemetry of {about.operator.app}",
        [
            "## Is an assessment required?",
            "Article 35(1) asks for one if a high risk is likely. The criteria below are those of the European data"
            " protection authorities (WP 248 rev. 01); two that are met usually suffice. Whether one is required"
            " is for you to decide.",
            _criteria(about),
            question("Is one of the lists of your supervisory authority (Article 35(4) and (5)) concerned?"),
            "## The processing, and its purposes (Article 35(7)(a))",
            about.changed(),
            *about.questions(),
            about.sent(),
            about.kept(),
            *recipients(about),
            "## Necessity and proportionality (Article 35(7)(b))",
            about.purposes(),
            about.legal_basis(),
            about.total(),
            about.off(),
            question(
                "Do answers belong to the special categories of Article 9, such as health? They need explicit consent."
            ),
            question("Could the purpose be reached with fewer questions, a smaller epsilon, or without asking?"),
            "## Risks for people (Article 35(7)(c))",
            _risks(about),
            question("How likely and how severe is each of these risks for the people who use the app?"),
            "## Measures (Article 35(7)(d))",
            _measures(about),
            question("Does an unacceptable risk remain (then Article 36 asks you to consult the authority first)?"),
            "## Who was heard",
            *_heard(about),
            question("What do users, or those who speak for them, say (Article 35(9))?"),
            question("When is this assessment reviewed (Article 35(11))? At the latest when metrics.toml changes."),
        ],
    )


def _people(about: AppTelemetry) -> Fact:
    op = about.operator
    number = f" (about {counted(op.users, 'person', 'people')})" if op.users else ""
    children = " Children are among them." if op.children else ""
    return about.say(
        "People who use {app}" + f"{number} and have agreed.{children}", "operator.users", "operator.children"
    )


def _data(about: AppTelemetry) -> Fact:
    clear = any(metric.strata is not None for metric in about.metrics)
    days = about.operator.address_log_days
    return say(
        f"Answers to {counted(len(about.metrics), 'question')}, changed at random on the device; "
        + ("attributes that are sent in the clear; " if clear else "")
        + (
            f"network addresses, in logs for {counted(days, 'day')}."
            if days
            else "network addresses, while a connection lasts."
        ),
        "metrics.strata",
        "operator.address_log_days",
    )


def _criteria(about: AppTelemetry) -> Sequence[Fact]:
    """Answer the nine criteria of WP 248, as far as the settings allow."""
    op = about.operator
    named = ", ".join(about.sensitive)
    periods = ", ".join(f"{metric.name}: {metric.period}" for metric in about.metrics)
    large = (
        f"about {counted(op.users, 'person', 'people')} use the app" if op.users else "the number of users is not given"
    )
    return [
        say("Evaluation or scoring of people: no; only sums over all users are kept.", ONLY_SUMS),
        say("Automated decisions about people: no; nothing that is kept is about one person.", ONLY_SUMS),
        say(f"Systematic monitoring: the app reports repeatedly ({periods}).", "metrics.period"),
        say(
            f"Sensitive data: {f'yes ({named})' if named else 'none is declared (tier in metrics.toml)'}.",
            "metrics.tier",
        ),
        say(f"Large scale: {large}.", "operator.users"),
        say(
            "Matching of data sets: no identifier is sent by which reports could be matched with other data"
            + (
                ", but reports that repeat a permanent answer may be matched with each other."
                if about.repeated
                else "."
            ),
            "metrics.permanent_epsilon",
            "metrics.mechanism",
            ALIKE,
        ),
        say(f"Vulnerable people: {'yes, children' if op.children else 'none are declared'}.", "operator.children"),
        say(
            "New technology: local differential privacy is uncommon; its protection is proved by enumeration.",
            EXACT,
        ),
        say(
            "Keeping people from a service: no; without consent the client does nothing, and raises no error.",
            OFF,
        ),
    ]


def _risks(about: AppTelemetry) -> list[Fact]:
    """List what may go wrong, with what bounds it."""
    large = [f"{one.name} (epsilon {one.mechanism.epsilon:.3g})" for one in about.metrics if one.mechanism.epsilon > 1]
    weak = (
        f"One report costs more than epsilon 1 for {', '.join(large)}."
        if large
        else "No report costs more than epsilon 1."
    )
    return [
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
            "tests/server/analysis/test_poisoning.py::test_stated_gain_of_one_forged_report_is_reached_and_never_exceeded",
        ),
        _thief(about),
        *([_RELAY_ALONE] if about.sealed else []),
    ]


def _thief(about: AppTelemetry) -> Fact:
    kept = (
        f"and what is kept unchanged for {', '.join(about.unchanged)}" if about.unchanged else "but no answer is stored"
    )
    return say(
        f"Somebody who holds the device's files learns which questions were answered and when, {kept}."
        + (" With the device's secret they can test guesses of permanent answers." if about.repeated else ""),
        "metrics.of",
        "metrics.permanent_epsilon",
        "metrics.mechanism",
        NO_VALUE,
    )


_RELAY_ALONE = say(
    "A dishonest relay that can read the estimates as they grow can forward one report alone and single it out. That"
    " report is still changed at random.",
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
        "tests/client/reporting/test_permanent.py::test_the_secret_is_drawn_from_the_entropy_that_is_given_and_stored_once",
        "tests/server/access/test_local_token.py::test_reading_from_this_machine_needs_a_token",
    )


def _measures(about: AppTelemetry) -> list[Fact]:
    return [
        about.changed(),
        say(
            "No answer of a server can make a device report more, or with less noise.",
            "tests/client/upload/test_hostile_server.py::test_no_answer_of_the_collector_changes_what_is_sent",
        ),
        say(
            "The length of a report does not depend on the answer, and each leaves at a random time.",
            "tests/client/upload/test_transport.py::test_the_length_of_a_body_does_not_depend_on_the_value",
            "tests/client/upload/test_schedule.py::test_each_report_waits_separately_with_full_jitter",
        ),
        _files(about),
        about.sent()[-1],
    ]


def _heard(about: AppTelemetry) -> list[Part]:
    if not about.operator.officer:
        return [question("Is a data protection officer designated? If so, their advice is needed (Article 35(2)).")]
    return [
        about.say("The data protection officer is {officer}."),
        question("What is their advice (Article 35(2))?"),
    ]
