"""Plan a question for strings: how frequent a string must be to be found, and how many users that takes, at each ε."""

from collections.abc import Sequence
from dataclasses import dataclass

from dither_server.estimation.strings.reach import reach, reports_for
from dither_shared import DiscoveryQuestion, Mechanism, ParameterError
from dither_shared.counted import counted
from dither_shared.privacy.wording import MEMOISATION, odds_sentence

from ...output.tables import render
from ...trials.mechanism_by_name import DISCOVERING, LOOKED_UP, named, named_discovery
from .advice import ADDING_UP
from .least_epsilon import least_reached

_LIST = 1_000_000
"""Candidates of a list that might be brought instead of a discovery."""

_HOPELESS = 0.03
"""Where only strings that more people hold are found, there is seldom one."""


@dataclass(frozen=True)
class StringPlan:
    """What is wanted: strings that a ``share`` of people hold, among ``listed`` candidates or without a list.

    Raises ParameterError if neither a list nor a ``question`` says where to look.
    """

    listed: int | None = None
    question: DiscoveryQuestion | None = None
    share: float = 0.01
    permanent_epsilon: float | None = None
    users: int | None = None
    days: int = 30

    def __post_init__(self) -> None:
        if (self.listed is None) == (self.question is None):
            raise ParameterError(
                "--size",
                "or --discover is needed, and not both: how many candidates there are, or that none are listed",
            )
        if not 0 < self.share < 1:
            raise ParameterError("--share", f"{self.share!r} must lie strictly between 0 and 1")

    def mechanism(self, epsilon: float) -> Mechanism:
        """Return the mechanism; raise ParameterError if there is none for that ε."""
        if self.question is not None:
            return named_discovery(DISCOVERING[0], self.question, epsilon, self.permanent_epsilon)
        return named(LOOKED_UP[0], 0, epsilon, self.permanent_epsilon)

    @property
    def where(self) -> str:
        """Where strings are looked for, in words."""
        if self.question is None:
            return f"a list of {counted(self.listed or 0, 'candidate')}"
        few = f"up to {self.question.length} of the {len(self.question.characters)} characters"
        return f"no list: {few} of {self.question.alphabet}"


@dataclass(frozen=True)
class StringChoice:
    """What an ε costs and finds.

    - ``reach``: the share of people whose string is found about half the time, among the users there are; above 1 there
      is none; None if their number was not given;
    - ``users_needed``: for the share that is wanted; ``users_listed``: if a million candidates could be listed, None
      where they are; ``epsilon_days``: the loss of a report on each of ``days`` days.
    """

    mechanism: str
    epsilon: float
    report_bytes: int
    counters: int
    reach: float | None
    users_needed: int
    users_listed: int | None
    reached: bool | None
    share: float
    days: int
    epsilon_days: float
    epsilon_forever: float | None


def advise_strings(plan: StringPlan, epsilons: Sequence[float]) -> list[StringChoice]:
    """Return what each ε costs and finds; raise ParameterError for an ε that no mechanism can have."""
    return [_choice(plan, epsilon) for epsilon in epsilons]


def _choice(plan: StringPlan, epsilon: float) -> StringChoice:
    mechanism, users = plan.mechanism(epsilon), plan.users
    needed = _users(plan, epsilon)
    by_list = None
    if plan.question is not None:
        by_list = reports_for(named(LOOKED_UP[0], 0, epsilon, plan.permanent_epsilon), plan.share, _LIST)
    return StringChoice(
        mechanism=mechanism.name,
        epsilon=epsilon,
        report_bytes=mechanism.row_bytes,
        counters=mechanism.cohorts * mechanism.cells,
        reach=None if users is None else reach(mechanism, users, plan.listed or _LIST),
        users_needed=needed,
        users_listed=by_list,
        reached=None if users is None else users >= needed,
        share=plan.share,
        days=plan.days,
        epsilon_days=mechanism.epsilon_after(plan.days),
        epsilon_forever=mechanism.permanent_epsilon,
    )


def _users(plan: StringPlan, epsilon: float) -> int:
    return reports_for(plan.mechanism(epsilon), plan.share, plan.listed or _LIST)


def explain_strings(plan: StringPlan, choices: Sequence[StringChoice]) -> str:
    """Return a table for a terminal, and whether there is hope."""
    header = ["ε", "mechanism", "bytes", "counters", f"users for {_percent(plan.share)}"]
    header += ["by a list"] * (plan.question is not None)
    header += ["found from", "enough"] * (plan.users is not None)
    header += [f"ε of {counted(plan.days, 'day')}"] + ["for ever"] * (plan.permanent_epsilon is not None)
    users = "" if plan.users is None else f"{counted(plan.users, 'user')}; "
    lines = [
        f"{users}wanted: strings that {_percent(plan.share)} of people hold; {plan.where}",
        "Found: about half the time. Twice as frequent: nearly always. At most 5 % of those found are false.",
        "",
        render(header, [_cells(plan, choice) for choice in choices], words=2),
        "",
        *_answer(plan, choices),
    ]
    lines += [f"  ε = {one.epsilon:g}, to a person: {odds_sentence(plan.mechanism(one.epsilon))}." for one in choices]
    return "\n".join([*lines, ADDING_UP if plan.permanent_epsilon is None else MEMOISATION])


def _cells(plan: StringPlan, choice: StringChoice) -> list[str]:
    cells = [f"{choice.epsilon:g}", choice.mechanism, f"{choice.report_bytes}", f"{choice.counters:,}"]
    cells.append(f"{choice.users_needed:,}")
    cells += [] if choice.users_listed is None else [f"{choice.users_listed:,}"]
    if choice.reach is not None:
        cells += [_percent(choice.reach) if choice.reach < 1 else "nothing", "yes" if choice.reached else "no"]
    cells.append(f"{choice.epsilon_days:.4g}")
    return cells + ([] if choice.epsilon_forever is None else [f"{choice.epsilon_forever:.4g}"])


def _answer(plan: StringPlan, choices: Sequence[StringChoice]) -> list[str]:
    """Return whether the users suffice, if their number is known, and what else would help."""
    users = plan.users
    if users is None:
        return ["Give the number of users (-n) to find from which share on strings are found."]
    least = least_reached(lambda epsilon: users >= _users(plan, epsilon), plan.permanent_epsilon)
    lines = [
        f"No: {counted(users, 'user')} cannot do it at any ε of a report."
        if least is None
        else f"Yes: with {counted(users, 'user')} ε = {least:g} is the least that will do."
    ]
    worst = [one for one in choices if one.reach is not None and one.reach > _HOPELESS]
    if worst:
        one = worst[-1]
        share = "no string at all is" if (one.reach or 0) >= 1 else f"only strings of {_percent(one.reach or 0)} are"
        other = "" if plan.question is None else "; shorter strings, fewer characters or a list want far fewer users"
        lines.append(
            f"Do not hope at ε = {one.epsilon:g}: of {counted(users, 'user')} {share} found, and few questions have "
            "any. "
            f"{_percent(plan.share)} takes {counted(one.users_needed, 'user')}{other}."
        )
    return lines


def _percent(value: float) -> str:
    return f"{100 * value:.2g} %"
