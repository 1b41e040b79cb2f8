"""Papers for users and packagers: a privacy notice, TELEMETRY.md, what is kept, and notes for distributions.

What distributions and stores ask was read in November 2026, at the addresses that the notes name.
"""

from .sentences import AppTelemetry, Draft, Fact, Open, Part, say

_RIGHTS = (
    "The GDPR gives you the right to ask what is stored about you (Article 15), to have it corrected (16), erased"
    " (17) or restricted (18), to receive it (20), to object (21), and to withdraw a consent (7); and to complain"
    " to a supervisory authority (77)."
)


def privacy_notice(about: AppTelemetry) -> Draft:
    """Return the privacy notice for users (Article 13 of the GDPR)."""
    op = about.operator
    return Draft(
        "privacy-notice.md",
        f"Privacy notice: telemetry of {op.app}",
        [
            "## Who is responsible",
            say(
                f"{op.name}, {op.address}. Contact: {op.contact}.",
                "operator.name",
                "operator.address",
                "operator.contact",
            ),
            *_officer(about),
            "## What happens",
            say(f"{op.app} can report how it is used, if you agree.", "operator.app"),
            about.changed(),
            about.off(),
            "## What we ask, and what for",
            *about.questions(),
            about.total(),
            "## What is sent",
            about.sent(),
            "## What allows it",
            say(f"The legal basis is {op.legal_basis}.", "operator.legal_basis"),
            "## Who receives it",
            *recipients(about),
            "## How long it is kept",
            about.kept(),
            "## Your choice and your rights",
            _choice(),
            _RIGHTS,
            _no_identity(),
            *_authority(about),
        ],
    )


def telemetry_md(about: AppTelemetry) -> Draft:
    """Return the page for the app's repository."""
    op = about.operator
    return Draft(
        "TELEMETRY.md",
        f"AppTelemetry in {op.app}",
        [
            about.changed(),
            about.off(),
            "## Questions",
            *about.questions(),
            about.total(),
            "## What leaves the device",
            about.sent(),
            "## What is kept",
            about.kept(),
            "## Look at it, and turn it off",
            _choice(),
            *([] if op.web else [_commands()]),
            "## Who reads the answers",
            say(f"{op.name}, {op.contact}.", "operator.name", "operator.contact"),
            *_published(about),
        ],
    )


def _commands() -> Fact:
    return say(
        "`python -m dither status`, `preview`, `sent` and `ledger` show what is collected, the exact bytes that"
        " leave, and the privacy that was spent; `DITHER=off` or `DO_NOT_TRACK=1` in the environment turns it off.",
        "tests/client/cli/test_users.py::test_looking_writes_nothing",
        "tests/client/consent/test_rules.py::test_the_environment_overrules_the_user_and_writes_nothing",
        "operator.web",
    )


def retention_text(about: AppTelemetry) -> Draft:
    """Return what is kept where and for how long, and how it is deleted."""
    return Draft(
        "retention.md",
        f"Retention: telemetry of {about.operator.app}",
        [
            "## What is kept, where and for how long",
            about.kept(),
            *([_of_relay()] if about.sealed else []),
            "## How it is deleted",
            say(
                "The collector deletes sums that are older than its setting retention by itself, once a day."
                if about.operator.retention_days
                else "The collector deletes no sums by itself, because its setting retention is not set.",
                "operator.retention_days",
                "tests/server/store/test_removal.py::test_retention_is_applied_once_a_day",
            ),
            say(
                "In the browser, forget() deletes the ledger and the reports that wait, and turns telemetry off."
                if about.operator.web
                else "On the device, forget deletes secret, ledger and reports that wait, and turns telemetry off.",
                "operator.web",
                "tests/client/transparency/test_controls.py::test_forgetting_leaves_nothing_but_the_choice",
            ),
            _no_identity(),
        ],
    )


def distributions(about: AppTelemetry) -> Draft:
    """Return notes for packagers, and answers to the data forms of app stores."""
    return Draft(
        "distributions.md",
        f"For packagers and app stores: telemetry of {about.operator.app}",
        [
            "## In short",
            about.off(),
            about.sent(),
            *_source(about),
            *([] if about.operator.web else _packages(about)),
            "## Apple's App Store: app privacy",
            "Apple asks which data leave the device and are kept for longer than it takes to answer the request,"
            " whether they are linked to a person, and whether they are used for tracking:"
            " <https://developer.apple.com/app-store/app-privacy-details/>. An answer that follows from the settings:",
            [*_types(about), _not_linked(about), _tracking()],
            "## Google Play: data safety",
            "Google asks what is collected, whether that is optional, whether it is encrypted on the way, and how"
            " people ask for deletion: <https://support.google.com/googleplay/android-developer/answer/10787469>."
            " An answer that follows from the settings:",
            [*_types(about), _optional(), about.sent()[-1], _no_identity()],
            Open("Do these answers hold for everything else that the app sends? The forms ask about the whole app."),
        ],
    )


def _packages(about: AppTelemetry) -> list[Part]:
    """Return notes for those who package a program."""
    return [
        "## Debian",
        "Debian's wiki lists packages that connect to somebody by themselves: <https://wiki.debian.org/PrivacyIssues>.",
        _default(),
        say(
            "A package, or an administrator, can turn it off for all users of a machine: `/etc/dither/policy.toml`"
            ' with the line `mode = "off"`.',
            "tests/client/consent/test_permission.py::test_the_administrators_policy_overrides_the_user",
            "operator.web",
        ),
        _no_packages(about),
        "## Flathub",
        "A sandboxed app needs a permission for the network, which its manifest states:"
        " <https://docs.flatpak.org/en/latest/sandbox-permissions.html>. The host's `/etc` is not visible in"
        " it, so a policy file there has no effect; `flatpak override --user --env=DITHER=off APP` has.",
        _default(),
        "## F-Droid",
        "F-Droid marks an app with the anti-feature Tracking if it reports activity without permission or by"
        " default: <https://f-droid.org/docs/Anti-Features/>. Its reviewers decide.",
        _default(),
    ]


def _officer(about: AppTelemetry) -> list[Part]:
    officer = about.operator.officer
    return [say(f"Data protection officer: {officer}.", "operator.officer")] if officer else []


def _authority(about: AppTelemetry) -> list[Part]:
    authority = about.operator.authority
    return [say(f"The authority in charge of us is {authority}.", "operator.authority")] if authority else []


def _published(about: AppTelemetry) -> list[Part]:
    published = about.operator.published
    return (
        [say(f"The answers of all users together are published at {published}.", "operator.published")]
        if published
        else []
    )


def _source(about: AppTelemetry) -> list[Part]:
    source = about.operator.source
    return [say(f"The app's source code, with its metrics.toml, is at {source}.", "operator.source")] if source else []


def recipients(about: AppTelemetry) -> list[Part]:
    """Say who gets what, and where."""
    op = about.operator
    relay = f" {op.relay} carries the reports." if about.sealed and op.relay != op.name else ""
    host = f" {op.hosting} runs the machine of the collector." if op.hosting else " We run the collector ourselves."
    where = (
        f"Outside the EU: {op.third_country}."
        if op.third_country
        else "No transfer to a country outside the EU is declared."
    )
    return [
        say(
            f"{op.name} reads the answers.{relay}{host}",
            "operator.name",
            "operator.relay",
            "operator.hosting",
            "seal.key",
        ),
        say(where, "operator.third_country"),
        *_published(about),
    ]


def _choice() -> Fact:
    return say(
        "You need not agree. Without your agreement nothing is reported; a no is kept, and the same questions are"
        " not put again.",
        "tests/client/consent/test_permission.py::test_all_metrics_are_pending_until_somebody_decides",
        "tests/client/consent/test_rules.py::test_off_draws_nothing_and_writes_nothing",
    )


def _no_identity() -> Fact:
    return say(
        "Reports that were sent carry no identity, so nobody can find, correct or recall those of one person. What"
        " is kept on the device can be seen and deleted there.",
        "tests/server/test_process.py::test_who_sent_a_report_is_written_nowhere",
        "tests/client/transparency/test_controls.py::test_forgetting_leaves_nothing_but_the_choice",
    )


def _of_relay() -> Fact:
    return say(
        "At the relay: a sealed report is kept until enough have come to be shuffled, for at most 30 days; no network"
        " address is stored.",
        "seal.key",
        "tests/relay/test_relay.py::test_no_address_is_kept_anywhere",
    )


def _default() -> Fact:
    return say(
        "Here: off by default, and nothing is sent before a person agrees, or an administrator decides for them.",
        "tests/client/consent/test_rules.py::test_off_draws_nothing_and_writes_nothing",
        "operator.web",
    )


def _no_packages(about: AppTelemetry) -> Fact:
    text = (
        "The client needs the package cryptography, to seal reports."
        if about.sealed
        else "The client needs Python alone."
    )
    alone = "tests/end_to_end/test_packaging.py::test_the_client_runs_on_the_standard_library_alone"
    return say(text, "seal.key", "operator.web", alone)


_DATA = {
    "technical": "diagnostics (how the software itself does)",
    "interaction": "usage, interaction with the app",
    "content": "usage (what the app is used on)",
    "sensitive": "sensitive information about the person",
    None: "not declared (set tier in metrics.toml)",
}
"""What a tier is called in the forms of stores, roughly; the forms differ in their words."""


def _types(about: AppTelemetry) -> list[Fact]:
    return [say(f"{one.name}: {_DATA[one.tier]}; purpose: analytics.", "metrics.tier") for one in about.metrics]


def _not_linked(about: AppTelemetry) -> Fact:
    if about.operator.address_log_days:
        text = "Logs keep network addresses for a while, so consider declaring the data as linked to an identity."
    elif any(metric.mechanism.memoised for metric in about.metrics):
        text = (
            "Not linked to an identity; but permanent answers may show that two reports come from one device, so"
            " consider declaring them as linked."
        )
    else:
        text = "Not linked to an identity: a report holds none, and nothing else is stored."
    return say(
        text,
        "operator.address_log_days",
        "metrics.permanent_epsilon",
        "metrics.mechanism",
        "tests/server/test_process.py::test_who_sent_a_report_is_written_nowhere",
    )


def _tracking() -> Fact:
    return say(
        "Not used for tracking: the client adds nothing that could be joined with the data of another app.",
        "tests/client/upload/test_transport.py::test_all_requests_look_alike",
    )


def _optional() -> Fact:
    return say(
        "Collection is optional: it is off until a person agrees, and they can turn it off.",
        "tests/client/consent/test_rules.py::test_off_draws_nothing_and_writes_nothing",
    )
