"""Vectors of questions: definitions with their versions, and the items of answers."""

import json
from collections.abc import Iterator

from dither_shared import (
    BooleanQuestion,
    ChoiceQuestion,
    DiscoveryQuestion,
    DitheredResponse,
    Mechanism,
    Metric,
    NumberQuestion,
    ParameterError,
    Question,
    RandomizedResponse,
    SelectionQuestion,
    SetResponse,
    StringQuestion,
    parse_metrics,
)

from .catalogue import exact, written
from .rendering import Case

TABLES: tuple[tuple[str, str], ...] = (
    ("a", 'type = "boolean"\ntruth = 0.75'),
    ("mobile", 'type = "boolean"\ntruth = 0.75'),
    ("mobile", 'type = "boolean"\nepsilon = 1.0'),
    ("mobile", 'type = "boolean"\nepsilon = 1'),
    ("mobile", 'type = "boolean"\nepsilon = 1.0\npermanent_epsilon = 2.0'),
    ("mobile", 'type = "boolean"\nepsilon = 1.0\nperiod = "once"\nwhy = "words"\ncap = 1.5\ntier = "technical"'),
    ("theme", 'type = "choice"\nvalues = ["light", "dark", "system"]\nepsilon = 1.0\npermanent_epsilon = 2.0'),
    ("theme", 'type = "choice"\nvalues = ["light", "dark", "other"]\nepsilon = 1.0'),
    ("theme", 'type = "choice"\nvalues = ["other", "light", "dark"]\nepsilon = 1.0'),
    ("theme", 'type = "choice"\nvalues = ["light", "dark"]\nother = "dark"\nepsilon = 1.0'),
    ("theme", 'type = "choice"\nvalues = ["light"]\nother = "none of these"\nepsilon = 0.5\nreport_budget = 1'),
    (
        "words",
        'type = "choice"\nvalues = ["Zo\u00eb", "Zoe\u0308", "\u65e5\u672c\u8a9e", "\U0001f469\u200d\U0001f680",'
        ' "\\" \\\\ / <&>", "tab\\tline\\nnul\\u0000\\u007f\\u0085\\u2028"]\nother = "\ufffd"\nepsilon = 2.0',
    ),
    ("n" * 64, 'type = "boolean"\ntruth = 0.6'),
    ("a.b-c_0", 'type = "boolean"\ntruth = 0.6'),
    ("browser", 'type = "string"\nepsilon = 2.0'),
    ("browser", 'type = "string"\nepsilon = 2.0\ncandidates = ["Chrome", "Firefox"]'),
    ("browser", 'type = "string"\nf = 0.5\np = 0.5\nq = 0.75\nbits = 32\nhashes = 1\ncohorts = 64'),
    ("browser", 'type = "string"\nmechanism = "count-mean-sketch"\nepsilon = 2.0'),
    ("browser", 'type = "string"\nmechanism = "hadamard-count-mean-sketch"\nepsilon = 2.0\nbits = 512'),
    ("browser", 'type = "string"\nmechanism = "projective-count-mean-sketch"\nepsilon = 1.0'),
    ("browser", 'type = "string"\nmechanism = "projective-count-mean-sketch"\nepsilon = 1.0\nbuckets = 16384'),
    *(
        ("crash", f'type = "string"\ndiscover = {{{discover}}}\nepsilon = 1.0')
        for discover in (
            'alphabet = "a-z0-9._-", length = 12',
            'alphabet = "-._0-9a-z", length = 12, fold = false',
            'alphabet = "a-z0-9._-", length = 12, fold = true',
            'alphabet = "\u65e5\u672c\u8a9e", length = 4',
        )
    ),
    *(
        ("many", f'type = "choice"\nmechanism = "{name}"\nvalues = {json.dumps(list("abcdefghi"))}\nepsilon = 1.0')
        for name in (
            "randomized-response",
            "subset-selection",
            "projective-geometry",
            "hadamard-response",
            "local-hashing",
            "optimized-unary",
            "symmetric-unary",
            "bit-flip",
        )
    ),
    *(
        ("many", f'type = "choice"\nvalues = {json.dumps([f"v{place}" for place in range(count)])}\nepsilon = 1.0')
        for count in (99, 999)
    ),
    *(
        ("used", f'type = "selection"\nvalues = {json.dumps(list("abcdefgh"))}\nepsilon = 1.0{more}')
        for more in (
            "",
            "\nat_most = 8",
            "\nat_most = 4",
            "\nat_most = 2\npermanent_epsilon = 2.0",
            "\nat_most = 2\nwindow = 2\npermanent_epsilon = 2.0",
            '\nat_most = 4\nmechanism = "privset"',
        )
    ),
    ("startup", 'type = "number"\nlow = 0.05\nhigh = 60.0\nlog = true\nunit = "s"\nepsilon = 1.0'),
    ("startup", 'type = "number"\nlow = 0.050\nhigh = 60\nlog = true\nepsilon = 1.0'),
    ("startup", 'type = "number"\nlow = 0.05\nhigh = 60\nepsilon = 1.0\nfor = "mean"'),
    ("startup", 'type = "number"\nlow = 0.05\nhigh = 60\nepsilon = 4.0\nfor = "mean"'),
    ("startup", 'type = "number"\nlow = 0.05\nhigh = 60\nepsilon = 1.0\nsteps = 3\nresolution = 10'),
    ("startup", 'type = "number"\nlow = 0.05\nhigh = 60\nepsilon = 1.0\npermanent_epsilon = 2.0'),
    ("bytes", 'type = "number"\nlow = 0\nhigh = 1e15\nunit = "B"\nepsilon = 2.0'),
    ("height", 'type = "number"\nlow = -430.5\nhigh = 1e-3\nunit = "m"\nepsilon = 0.1'),
    ("widest", 'type = "number"\nlow = 1e-300\nhigh = 1e300\nlog = true\nepsilon = 2.0'),
    *(
        ("load", f'type = "number"\nmechanism = "{name}"\nlow = 0\nhigh = 100\n{parameters}')
        for name, parameters in (
            ("discrete-laplace", "epsilon = 1.0"),
            ("exponential", "epsilon = 1.0\nresolution = 10"),
            ("discrete-gaussian", "epsilon = 1.0\ndelta = 1e-6\nresolution = 4"),
        )
    ),
    *(
        ("both", f'type = "cross"\ncross = {cross}\nepsilon = 1.0')
        for cross in (
            '{theme = ["light", "dark"], failed = {type = "boolean"}}',
            '[{name = "theme", values = ["light", "dark"]}, {name = "failed", type = "boolean"}]',
            '{failed = {type = "boolean"}, theme = ["light", "dark"]}',
            '{theme = {values = ["light", "none"], other = "none"}, device = ["Zo\u00eb / 1", "phone"]}',
        )
    ),
    *(
        ("mobile", f'type = "boolean"\ntruth = 0.75\nstrata = {{{strata}}}')
        for strata in (
            'platform = ["linux", "windows", "macos"]',
            'platform = ["linux", "windows", "macos", "other"]',
            'platform = ["other", "linux", "windows", "macos"]',
            'platform = ["Zo\u00eb", "a b", "1.0"]',
            'platform = ["linux"], channel = ["stable", "beta"]',
            'channel = ["stable", "beta"], platform = ["linux"]',
        )
    ),
)


def defined(name: str, table: str) -> Metric:
    """Return the metric of a table."""
    return parse_metrics(f'[metrics."{name}"]\n{table}\n')[name]


def metrics() -> Iterator[Case]:
    for name, table in TABLES:
        metric = defined(name, table)
        strata = {} if metric.strata is None else {"strata": list(metric.strata.labels)}
        yield {
            "name": name,
            "definition": table,
            "type": metric.question.kind,
            "domain": None if metric.question.size is None else list(metric.question.labels),
            "other": metric.question.stored().get("other"),
            "mechanism": metric.mechanism.name,
            "parameters": metric.mechanism.parameters(),
            "canonical": _canonical(metric),
            "version": metric.version,
            "charge": exact(metric.charge),
            **strata,
        }


def _canonical(metric: Metric) -> str:
    """Return the text of which the version is a digest, written independently from the description in metric.py."""
    parameters = ",".join(f'"{key}":"{value}"' for key, value in sorted(metric.mechanism.parameters().items()))
    listed = json.dumps(metric.question.domain_digest, separators=(",", ":"), sort_keys=True)
    pairs = [] if metric.strata is None else [[name, list(values)] for name, values in metric.strata.attributes]
    strata = f',"strata":{json.dumps(pairs, separators=(",", ":"))}' if pairs else ""
    return (
        f'{{"domain":{listed},"format":"dither-metric-1",'
        f'"mechanism":"{metric.mechanism.name}","name":"{metric.name}","parameters":{{{parameters}}}{strata}}}'
    )


_WRONG: tuple[tuple[str, str], ...] = (
    ("Upper", 'type = "boolean"\ntruth = 0.75'),
    ("n" * 65, 'type = "boolean"\ntruth = 0.75'),
    ("m", "truth = 0.75"),
    ("m", 'type = "date"\nepsilon = 1.0'),
    ("m", 'type = "number"\nepsilon = 1.0'),
    *(
        ("m", f'type = "number"\n{keys}\nepsilon = 1.0')
        for keys in (
            "low = 0",
            'low = "0"\nhigh = 1',
            "low = true\nhigh = 2",
            "low = 1\nhigh = 1",
            "low = 2\nhigh = 1",
            "low = nan\nhigh = 1",
            "low = 0\nhigh = inf",
            "low = 0\nhigh = 1e301",
            "low = 1e-301\nhigh = 1",
            "low = 0\nhigh = 9007199254740993",
            "low = 1\nhigh = 1.0000000001",
            "low = 0\nhigh = 1\nlog = true",
            "low = -1\nhigh = 1\nlog = true",
            "low = 1\nhigh = 2\nlog = 1",
            "low = 0\nhigh = 1\nunit = 1",
            "low = 0\nhigh = 1\nsteps = 0",
            "low = 0\nhigh = 1\nsteps = 1024",
            "low = 0\nhigh = 1\nsteps = 1.5",
            "low = 0\nhigh = 1\nresolution = 257",
            'low = 0\nhigh = 1\nfor = "median"',
            'low = 0\nhigh = 1\nfor = "mean"\nsteps = 2',
            "low = 0\nhigh = 1\npermanent_epsilon = 1.0",
            "low = 0\nhigh = 1\ndelta = 1e-6",
            "low = 0\nhigh = 1\nreport_budget = 64",
            'low = 0\nhigh = 1\nvalues = ["a"]',
            'low = 0\nhigh = 1\nmechanism = "subset-selection"',
            'low = 0\nhigh = 1\nmechanism = "discrete-gaussian"',
            'low = 0\nhigh = 1\nmechanism = "discrete-laplace"\nresolution = 129',
        )
    ),
    ("m", 'type = "boolean"'),
    ("m", 'type = "boolean"\nepsilon = 0.0'),
    ("m", 'type = "boolean"\nepsilon = 0.00009'),
    ("m", 'type = "boolean"\nepsilon = 25.5'),
    ("m", 'type = "boolean"\nepsilon = nan'),
    ("m", 'type = "boolean"\nepsilon = "1"'),
    ("m", 'type = "boolean"\nepsilon = true'),
    ("m", 'type = "boolean"\ntruth = 0.5'),
    ("m", 'type = "boolean"\ntruth = 1.0'),
    ("m", 'type = "boolean"\ntruth = 0.75\nepsilon = 1.0'),
    ("m", 'type = "boolean"\nepsilon = 1.0\npermanent_epsilon = 1.0'),
    ("m", 'type = "boolean"\nepsilon = 1.0\nvalues = ["a"]'),
    ("m", 'type = "boolean"\nepsilon = 1.0\nepsilom = 1.0'),
    ("m", 'type = "boolean"\nepsilon = 1.0\nperiod = "year"'),
    ("m", 'type = "boolean"\nepsilon = 1.0\ncap = 0.5'),
    ("m", 'type = "boolean"\nepsilon = 1.0\nexpires = "2027-06-30"'),
    ("m", 'type = "boolean"\nmechanism = "rappor"\nepsilon = 1.0'),
    *(
        ("m", f'type = "selection"\n{keys}\nepsilon = 1.0')
        for keys in (
            "at_most = 2",
            'values = ["a"]',
            'values = ["a", "a"]',
            'values = ["a", "b"]\nat_most = 0',
            'values = ["a", "b"]\nat_most = 3',
            'values = ["a", "b"]\nat_most = 1.0',
            'values = ["a", "b"]\nwindow = 3',
            'values = ["a", "b"]\nother = "b"',
            'values = ["a", "b"]\nmechanism = "privset"',
            'values = ["a", "b"]\nmechanism = "privset"\nat_most = 1\nwindow = 1',
            'values = ["a", "b"]\nmechanism = "bit-flip"',
        )
    ),
    ("m", 'type = "choice"\nepsilon = 1.0'),
    ("m", 'type = "choice"\nvalues = []\nepsilon = 1.0'),
    ("m", 'type = "choice"\nvalues = ["a", "a"]\nepsilon = 1.0'),
    ("m", 'type = "choice"\nvalues = [""]\nepsilon = 1.0'),
    ("m", 'type = "choice"\nvalues = ["other"]\nepsilon = 1.0'),
    ("m", f'type = "choice"\nvalues = {json.dumps([str(n) for n in range(600)])}\nepsilon = 1.0\nreport_budget = 1'),
    ("m", 'type = "string"\nmechanism = "randomized-response"\nepsilon = 1.0'),
    ("m", 'type = "string"\nepsilon = 1.0\nbits = 1'),
    ("m", 'type = "string"\nepsilon = 1.0\nbits = 12.0'),
    ("m", 'type = "string"\nepsilon = 1.0\nf = 0.5\np = 0.5\nq = 0.75'),
    ("m", 'type = "string"\nf = 0.5\np = 0.5'),
    ("m", 'type = "string"\nf = 0.5\np = 0.5\nq = 0.5'),
    ("m", 'type = "string"\nmechanism = "hadamard-count-mean-sketch"\nepsilon = 1.0\nbits = 12'),
    ("m", 'type = "string"\nepsilon = 1.0\nmechanism = "prefix-sketch"'),
    ("m", 'type = "string"\nepsilon = 1.0\nmechanism = "projective-count-mean-sketch"\nbuckets = 1000'),
    ("m", 'type = "string"\nepsilon = 1.0\nmechanism = "projective-count-mean-sketch"\nbuckets = 131072'),
    *(
        ("m", f'type = "string"\nepsilon = 1.0\ndiscover = {discover}')
        for discover in (
            "12",
            "{}",
            '{alphabet = "a-z"}',
            '{alphabet = "", length = 3}',
            '{alphabet = "z-a", length = 3}',
            '{alphabet = "a\\u2026", length = 3}',
            '{alphabet = "\\n", length = 3}',
            '{alphabet = "a-z", length = 0}',
            '{alphabet = "a-z", length = 65}',
            '{alphabet = "\\u00c0-\\u0200", length = 3}',
            '{alphabet = "\\u4e00-\\u4ef0", length = 64}',
            '{alphabet = "a-zA-Z", length = 3, fold = true}',
            '{alphabet = "a-z", length = 3, folded = true}',
            '{alphabet = "a-z", length = 3}\nlength = 3',
            '{alphabet = "a-z", length = 3}\ncandidates = ["a"]',
            '{alphabet = "a-z", length = 3}\nmechanism = "rappor"',
        )
    ),
    ("m", 'type = "boolean"\ntruth = 0.75\none_of = "A survey"'),
    *(
        ("m", f'type = "cross"\ncross = {cross}\nepsilon = 1.0')
        for cross in (
            '["theme", "device"]',
            '{theme = ["light"]}',
            '{theme = ["light"], device = ["phone"], third = ["x"]}',
            '{theme = [], device = ["phone"]}',
            '{theme = {type = "string"}, device = ["phone"]}',
            '[{name = "theme", values = ["a"]}, {name = "theme", values = ["b"]}]',
            '{theme = ["a / b", "a"], device = ["c", "b / c"]}',
        )
    ),
    *(
        ("m", f'type = "boolean"\ntruth = 0.75\nstrata = {strata}')
        for strata in (
            "{}",
            '["linux"]',
            "{platform = []}",
            '{platform = "linux"}',
            '{platform = ["linux", "linux"]}',
            '{platform = ["other"]}',
            '{platform = [""]}',
            '{platform = ["a/b"]}',
            '{platform = [" a"]}',
            f'{{platform = ["{"x" * 33}"]}}',
            '{Platform = ["linux"]}',
            '{value = ["linux"]}',
            f"{{platform = {[str(n) for n in range(16)]}}}",
            '{a = ["1", "2", "3"], b = ["1", "2", "3", "4"]}',
            f'{{a = ["{"x" * 32}"], b = ["{"y" * 32}"], c = ["{"z" * 32}"], d = ["w"]}}',
        )
    ),
)


def refused_metrics() -> Iterator[Case]:
    for name, table in _WRONG:
        try:
            defined(name, table)
        except ParameterError as error:
            key = error.place.partition(f"metrics.{name}")[2].removeprefix(".")
            yield {"name": name, "definition": table, "key": key}
        else:
            raise AssertionError(f"taken: {table}")


_LABELS = ("light", "dark", "1", "1.5", "true", "Zo\u00eb", "\U0001f600", " dark", "other")
_GIVEN: tuple[object, ...] = (
    *("light", "dark", " dark", "Dark", "", "other", "1", "true", "True", "TRUE ", " false\n", "yes", "0"),
    *("\u00a0true\u3000", "\u001ctrue\u001f", "\u0085true", "\ufefftrue", "tru\u0435"),
    *("Zo\u00eb", "Zoe\u0308", "\U0001f600", "\ud83d", "a\udc00b", "\u202eabc\u0000", "\ufeff"),
    *(0, 1, 2, -1, 15, 2**53 - 1, True, False, None),
)


_CROSSED = defined(
    "both", 'type = "cross"\ncross = {theme = ["light", "dark"], failed = {type = "boolean"}}\ntruth = 0.25'
).question
_PAIRS: tuple[object, ...] = (
    *({"theme": "dark", "failed": failed} for failed in (True, "FALSE ", "maybe", None)),
    *({"theme": theme, "failed": True} for theme in ("light", "plaid", 1, None)),
    *(
        {"failed": True},
        {"theme": "dark"},
        {},
        {"theme": "dark", "faild": True},
        {"theme": "dark", "failed": 1, "x": 2},
    ),
    *(["dark", True], ["plaid", 0], ["dark"], ["dark", True, True], "dark", True, None),
)

_SELECTED: tuple[object, ...] = (
    *([], ["light"], ["dark", "light"], ["dark", "dark"], [1, True], ["true", "Zo\u00eb", "1", "light"]),
    *(["other"], ["light", "LIGHT"], ["", "Zoe\u0308", "dark"], ["x", "1", "y", "light", "z", "dark"]),
    *(["light", None], [["light"]], ["light", []], "light", "x", "", 1, True, None),
)

_LONG = ("x" * 1024, "x" * 1025, "\u00eb" * 513, "x" + "\U0001f600" * 300, "\ud800" * 1025)


def answers() -> Iterator[Case]:
    mechanism = RandomizedResponse.calibrate(2, 1.0)  # no answer is read by it, but for numbers
    grid = DitheredResponse.calibrate(None, 1.0, steps=2, resolution=6)
    questions: list[tuple[Question, tuple[object, ...], Mechanism]] = [
        (SelectionQuestion(_LABELS[:6], 3), _SELECTED, SetResponse.calibrate(6, 1.0)),
        (BooleanQuestion(), _GIVEN, mechanism),
        (ChoiceQuestion(_LABELS), _GIVEN, mechanism),
        (StringQuestion(), _GIVEN + _LONG, mechanism),
        (
            DiscoveryQuestion("a-z\u00eb", 6, fold=True),
            (*_GIVEN, *_LONG, "syst\u00ebm", "systems", "ab.cdefg"),
            mechanism,
        ),
        (_CROSSED, _PAIRS, mechanism),
        (NumberQuestion(-1, 11), (*_GIVEN, -2, 3, 10, 11, 12, -(2**53) + 1), grid),
    ]
    for question, values, used in questions:
        for given in values:
            encoded = question.answers(used).encode(given)
            yield {
                "type": question.kind,
                "given": given,
                "item": written(encoded.item, question.items),
                "outside": encoded.outside,
                "mistake": encoded.mistake,
            }
