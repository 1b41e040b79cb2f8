"""Papers for users and packagers: a privacy notice, TELEMETRY.md, what is kept, and notes for distributions.

What distributions and stores ask was read in November 2026, at the addresses that the notes name.
"""

from .sentences import ALIKE, FORGOTTEN, NO_SENDER, OFF, AppTelemetry, Draft, Fact, Part, question, say

_RIGHTS = (
    "The GDPR gives you the right to ask what is stored about you (Article 15), to have it corrected (16), erased"
    " (17) or restricted (18), to receive it (20), to object (21), and to withdraw a consent (7); and to complain"
    " to a supervisory authority (77)."
)


def privacy_notice(about: AppTelemetry) -> Draft:
    """Return the privacy notice for users (Article 13 of the GDPR)."""
    return Draft(
        "privacy-notice.md",
        f"Privacy notice: telemetry of {about.operator.app}",
        [
            "## Who is responsible",
            about.say("{name}, {address}. Contact: {contact}."),
            *about.if_set("officer", "Data protection officer: {officer}."),
            "## What happens",
            about.say("{app} can report how it is used, if you agree."),
            about.changed(),
            about.off(),
            "## What we ask, and why",
            *about.questions(),
            about.total(),
            "## What is sent",
            about.sent(),
            "## What allows it",
            about.legal_basis(),
            "## Who receives it",
            *recipients(about),
            "## How long it is kept",
            about.kept(),
            "## Your choice and your rights",
            _CHOICE,
            _RIGHTS,
            _NO_IDENTITY,
            *about.if_set("authority", "Our supervisory authority is {authority}."),
        ],
    )


def telemetry_md(about: AppTelemetry) -> Draft:
    """Return the page for the app's repository."""
    return Draft(
        "TELEMETRY.md",
        f"Telemetry in {about.operator.app}",
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
            _CHOICE,
            *([] if about.operator.web else [_COMMANDS]),
            "## Who reads the answers",
            about.say("{name}, {contact}."),
            *_published(about),
        ],
    )


def retention_text(about: AppTelemetry) -> Draft:
    """Return what is kept where and for how long, and how it is deleted."""
    return Draft(
        "retention.md",
        f"Retention: telemetry of {about.operator.app}",
        [
            "## What is kept, where and for how long",
            about.kept(),
            *([_AT_THE_RELAY] if about.sealed else []),
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
                else "On the device, forget deletes the secret, the ledger and waiting reports, and turns it off.",
                "operator.web",
                FORGOTTEN,
            ),
            _NO_IDENTITY,
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
            *about.if_set("source", "The app's source code, with its metrics.toml, is at {source}."),
            *([] if about.operator.web else _packages(about)),
            "## Apple's App Store: app privacy",
            "Apple asks which data leave the device and are kept for longer than it takes to answer the request,"
            " whether they are linked to a person, and whether they are used for tracking:"
            " <https://developer.apple.com/app-store/app-privacy-details/>. An answer that follows from the settings:",
            [*_types(about), _not_linked(about), _NO_TRACKING],
            "## Google Play: data safety",
            "Google asks what is collected, whether that is optional, whether it is encrypted on the way, and how"
            " people ask for deletion: <https://support.google.com/googleplay/android-developer/answer/10787469>."
            " An answer that follows from the settings:",
            [*_types(about), _OPTIONAL, about.sent()[-1], _NO_IDENTITY],
            question(
                "Do these answers hold for everything else that the app sends? The forms ask about the whole app."
            ),
        ],
    )


def _packages(about: AppTelemetry) -> list[Part]:
    """Return notes for those who package a program."""
    return [
        "## Debian",
        "Debian's wiki lists packages that connect to somebody by themselves: <https://wiki.debian.org/PrivacyIssues>.",
        _DEFAULT,
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
        _DEFAULT,
        "## F-Droid",
        "F-Droid marks an app with the anti-feature Tracking if it reports activity without permission or by"
        " default: <https://f-droid.org/docs/Anti-Features/>. Its reviewers decide.",
        _DEFAULT,
    ]


def _published(about: AppTelemetry) -> list[Part]:
    return about.if_set("published", "The answers of all users together are published at {published}.")


def recipients(about: AppTelemetry) -> list[Part]:
    """Return who gets what, and where."""
    op = about.operator
    relay = " {relay} carries the reports." if about.sealed and op.relay != op.name else ""
    host = " {hosting} runs the machine of the collector." if op.hosting else " We run the collector ourselves."
    outside = "Outside the EU: {third_country}." if op.third_country else "No transfer outside the EU is declared."
    return [
        about.say("{name} reads the answers." + relay + host, "operator.relay", "operator.hosting", "seal.key"),
        about.say(outside, "operator.third_country"),
        *_published(about),
    ]


_COMMANDS = say(
    "`python -m dither status`, `preview`, `sent` and `ledger` show what is collected, the exact bytes that leave, and"
    " the privacy that was spent; `DITHER=off` or `DO_NOT_TRACK=1` in the environment turns it off.",
    "tests/client/cli/test_users.py::test_status_preview_and_sent_commands_write_nothing",
    "tests/client/consent/test_rules.py::test_the_environment_overrules_the_user_and_writes_nothing",
    "operator.web",
)

_CHOICE = say(
    "You need not agree. Without your agreement nothing is reported; a no is kept, and the same questions are not asked"
    " again.",
    "tests/client/consent/test_permission.py::test_all_metrics_are_pending_until_the_user_decides",
    OFF,
)

_NO_IDENTITY = say(
    "Reports that were sent carry no identity, so nobody can find, correct or recall those of one person. What is kept"
    " on the device can be seen and deleted there.",
    NO_SENDER,
    FORGOTTEN,
)

_AT_THE_RELAY = say(
    "At the relay: a sealed report is kept until enough have come to be shuffled, for at most 30 days; no network"
    " address is stored.",
    "seal.key",
    "tests/relay/test_relay.py::test_no_address_is_kept_anywhere",
)

_DEFAULT = say(
    "Here: off by default, and nothing is sent before a person agrees, or an administrator decides for them.",
    OFF,
    "operator.web",
)

_NO_TRACKING = say(
    "Not used for tracking: the client adds nothing that could be joined with the data of another app.", ALIKE
)

_OPTIONAL = say("Collection is optional: it is off until a person agrees, and they can turn it off.", OFF)


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
"""What the forms of app stores call a tier, roughly; each form has words of its own."""


def _types(about: AppTelemetry) -> list[Fact]:
    return [say(f"{one.name}: {_DATA[one.tier]}; purpose: analytics.", "metrics.tier") for one in about.metrics]


def _not_linked(about: AppTelemetry) -> Fact:
    if about.operator.address_log_days:
        text = "Logs keep network addresses for a while, so consider declaring the data as linked to an identity."
    elif about.repeated:
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
        NO_SENDER,
    )
