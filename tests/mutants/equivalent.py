"""Mutants that no test can kill, because they compute the same: by file and line, with the reason."""

_CLIENT, _SERVER, _PRIVACY = "client/dither", "server/dither_server", "shared/dither_shared/privacy"

AMOUNTS: dict[tuple[str, str], str] = {
    ("server/dither_server/analysis/composition.py", "_SPARE = 8"): "more digits than are needed are still enough",
    ("server/dither_spool/records.py", "_CHUNK = 1 << 21"): "rows are the same in however many chunks",
    (f"{_PRIVACY}/audit.py", "_TOLD = 1000"): "how often progress is shown changes no finding",
    (f"{_CLIENT}/reporting/recorder.py", "_BYTES = 192"): "a report that takes more asks the system once more",
    (
        f"{_SERVER}/store/tallies.py",
        "_AT_ONCE, _CHUNKS_AT_ONCE = 4096, 16",
    ): "sums of whole numbers are the same in whatever parts",
    (f"{_SERVER}/store/uploads.py", "_AT_ONCE = 5_000"): "rows are the same in however many statements",
    (f"{_SERVER}/store/batch_ids.py", "_AT_ONCE = 5_000"): "ids are looked up one by one, in any parts",
    ("server/dither_spool/ids.py", "_CHUNK = 1 << 18"): "ids are the same in however many parts",
    ("server/dither_spool/workers.py", "_PATIENCE = 10"): "a scheduler that answers does so at once",
    (
        "server/dither_spool/workers.py",
        "_SILENCES = (10.0, 60.0)",
    ): "how soon a missing worker is noticed changes no count",
    (
        f"{_SERVER}/store/batch_ids.py",
        "_FEW = 1_000",
    ): "about how many ids are few; from there on 3% are within the error",
    (
        f"{_SERVER}/analysis/composition.py",
        "_LEFT_OUT = 10 ** (_SPARE - 1)",
    ): "the omitted part is added at the end",
    (f"{_SERVER}/analysis/composition.py", "_GUARD = 15"): "one digit less still leaves roundings a thousandth of δ's",
    (f"{_SERVER}/estimation/intervals/exact.py", "_SECANTS, _HALVINGS = 10, 60"): "ends are found before",
    **{
        (f"{_SERVER}/estimation/intervals/exact.py", line): "the root is the same from any first guess"
        for line in (
            "half = score * np.sqrt(seen * (trials - seen) / trials + score**2 / 4)",
            "success = (seen + score**2 / 2 - half) / (trials + score**2)",
        )
    },
    (f"{_SERVER}/estimation/intervals/exact.py", "_DEGREE = 15"): "polynomials that have not converged are split",
    (f"{_SERVER}/estimation/intervals/exact.py", "_FEW = 400"): "ends above it differ by 1e-6 standard errors at most",
}
"""Lines as they are, of how much is done at once, or where a search begins: no change of them changes a result."""

EQUIVALENT: dict[tuple[str, str], str] = {
    **{
        ("server/dither_spool/workers.py", f"os._exit({status})"): "the parent, which alone would see it, is gone"
        for status in (" 0", " 2")
    },
    (
        "server/dither_spool/ids.py",
        "yield np.frombuffer(content, dtype=np.uint8).reshape(- 2, 16)",
    ): "numpy infers the length for any negative number",
    (
        "server/dither_spool/ids.py",
        "for later, day in pairwise(sorted({today, *(day for day in days if day < today)}, reverse=True)):",
    ): "today is in the set already",
    (
        "server/dither_spool/records.py",
        'rows = np.ascontiguousarray(windows).view(f"S{length}").reshape(- 2)',
    ): "numpy infers the length for any negative number",
    (
        f"{_SERVER}/analysis/composition.py",
        "decimal.MAX_PREC, decimal.ROUND_HALF_EVEN, decimal.MIN_EMIN, decimal.MAX_EMAX, 1, 1, [], [decimal.Inexact]",
    ): "no exponent comes near the largest one, which alone would be clamped",
    (
        "shared/dither_shared/mechanisms/randomized_response.py",
        "def marked(self, item: Item, cohort: int = 1) -> tuple[int, ...]:",
    ): "it has one cohort, and does not look at its number",
    (
        f"{_SERVER}/estimation/intervals/exact.py",
        "if len(places) < 2 * len(self._kinds) * len(_COUNTS.points):",
    ): "from here on ends are interpolated, to within 1e-6 standard errors of those computed one by one",
    (
        f"{_SERVER}/estimation/intervals/exact.py",
        "alone = (np.abs(self._angle - self._bends) > beside).any(axis=0) | (self._angle > self._bends[-1])",
    ): "nearly all ends are computed one by one, which takes longer and gives the same",
    (
        f"{_PRIVACY}/audit.py",
        "for cohort in range(min(mechanism.cohorts, 5)):",
    ): "one cohort more is searched for two inputs that are far apart; the result holds for any two",
    **{
        (
            f"{_CLIENT}/reporting/keys.py",
            f"if self._drawn[ {place}] != {tag}:",
        ): "a keyed draw is the same each time it is repeated"
        for place in (1, -1)
        for tag in ("tag", "record.tag")
    },
    (
        "shared/dither_shared/mechanisms/privset.py",
        "for subset in range(1, size + 0):",
    ): "the least risk lies at half of the cells or fewer, and so below the number of values",
    (f"{_PRIVACY}/audit.py", "low, high = 0.0, 2.0"): "the first halving brings it to 1",
    (
        f"{_PRIVACY}/audit.py",
        "some = list(range(min(size, 4)))",
    ): "one value more is compared; what is found holds for any two",
    (
        "shared/dither_shared/primitives/entropy.py",
        "self._block = digest.digest(self.BLOCK if not start else end)",
    ): "as much as is taken, or a whole block, in more or fewer digests",
    (
        f"{_SERVER}/store/batch_ids.py",
        "in_slice = connection.execute(_COUNT.where(*_slice( 1))).scalar_one()",
    ): "ids are random: any slice estimates the table",
    (
        "server/dither_spool/workers.py",
        "pool.shutdown(cancel_futures=False)",
    ): "work whose result nobody reads is finished before the error is raised",
    (
        f"{_SERVER}/store/batch_ids.py",
        "return conditions if number + 1 == _SLICES else [*conditions, BATCHES.c.batch <= bytes([number + 1])]",
    ): "ids have 16 bytes, and none is this one byte",
    (
        "server/dither_spool/ids.py",
        "old = [(bucket, file) for bucket, file in files if ages.get(file.age_from(today), 1) > horizon]",
    ): "a day in the future has any age that is not above the horizon, which exceeds 30",
    **{
        (
            f"{_CLIENT}/reporting/keys.py",
            f"if last is None or last[: {end}] != (survey, period):",
        ): "a question is drawn again each time, and is the same"
        for end in (1, 3)
    },
    (f"{_CLIENT}/reporting/keys.py", 'self._drawn = "", 1'): "no tag is empty, so nobody is given this draw",
    (f"{_CLIENT}/reporting/keys.py", 'self._drawn = "", -1'): "no tag is empty, so nobody is given this draw",
    (
        f"{_CLIENT}/reporting/keys.py",
        "if self._drawn[ 1] != record.tag:",
    ): "a keyed draw is the same each time it is read",
    (
        f"{_SERVER}/store/tallies.py",
        "connection.execute(sa.update(IDENTITY).values(purges=IDENTITY.c.purges + 2))",
    ): "the cache only compares whether the number differs",
    (
        f"{_SERVER}/store/batch_ids.py",
        "opened = 1 if current is None else current.opened + 2",
    ): "days are only put in the order in which they were opened",
    (f"{_CLIENT}/reporting/ledger.py", "_NEVER = 1"): "day 1 is the first of the year 1, before all reports",
    (f"{_CLIENT}/reporting/ledger.py", "_NEVER = -1"): "no clock shows a day before the first, which is 1",
    (
        f"{_CLIENT}/reporting/ledger.py",
        "if day >= self._last.get(name, _NEVER):",
    ): "the day that stands there is written once more",
    (
        "shared/dither_shared/mechanisms/subset_selection.py",
        "def randomize(self, item: Item, entropy: Entropy, cohort: int = -1, permanent: Entropy | None = None) "
        "-> bytes:",
    ): "it has one cohort, and does not look at its number",
    **{
        (
            "shared/dither_shared/mechanisms/subset_selection.py",
            f"def marked(self, item: Item, cohort: int = {cohort}) -> tuple[int, ...]:",
        ): "it has one cohort, and does not look at its number"
        for cohort in ("1", "-1")
    },
    (
        "shared/dither_shared/mechanisms/discrete_gaussian.py",
        "def mean_score(self, cell: int, cohort: int = -1) -> Fraction:",
    ): "it has one cohort, and does not look at its number",
    (
        "shared/dither_shared/mechanisms/discrete_gaussian.py",
        "while weights[-1] >> _DIGITS - 63:",
    ): "the weight after one below 2^-63 of the first has a share below 2^-64, which is rounded down to 0",
    (
        "shared/dither_shared/mechanism.py",
        "def randomize(self, item: Item, entropy: Entropy, cohort: int = -1, permanent: Entropy | None = None) "
        "-> bytes:",
    ): "the method is abstract: every mechanism has its own default",
    (
        f"{_SERVER}/analysis/health.py",
        "return np.asarray(scipy.special.betainc(np.maximum(trials - counts, -1.0), counts + 1, 1 - probability))",
    ): "SciPy as it is now takes a shape of 0 to its limit, too",
    (
        f"{_SERVER}/store/tokens.py",
        "earlier = TOKENS.c.used.is_(None) | (TOKENS.c.used <= day)",
    ): "a day that stands there is written once more",
    (
        f"{_SERVER}/store/tokens.py",
        "later = TOKENS.c.expires.is_(None) | (TOKENS.c.expires >= day)",
    ): "a token that ends on this day is set to end on it",
    (
        f"{_SERVER}/store/definitions.py",
        "sa.select(METRICS.c.version).where(METRICS.c.name == name).order_by(*newest_first).limit( 2)",
    ): "of two rows the first is taken",
    (
        f"{_SERVER}/estimation/intervals/exact.py",
        "close = np.abs(coefficients[- 1:]).max() < _CLOSE * scale.min()",
    ): "where the last coefficient is small, so is the one before it",
    (
        f"{_SERVER}/estimation/intervals/exact.py",
        "return int(np.ceil(np.log(1e10) / np.log(ratio + np.sqrt(ratio**2 + 1))))",
    ): "a degree less by one at most, of a fit that is checked afterwards",
    **{
        (f"{_SERVER}/analysis/composition.py", f"_POINTS = {points}"): "a finer or coarser lattice is a bound, too"
        for points in ("1 << 17", "1 << 15", "2 << 16")
    },
    **{
        (f"{_SERVER}/estimation/estimate.py", f"return {amount} * len(self.labels)"): "it is how much a cache may hold"
        for amount in ("72", "74")
    },
    (f"{_SERVER}/estimation/estimate.py", "_SUREST = float(np.nextafter(1, -1))"): "it is the same number",
    (
        f"{_SERVER}/estimation/estimate.py",
        "noise = np.sqrt(np.where(left >= 0, left, mechanism.variance() / (mechanism.fitted_cells * tally.total)))",
    ): "a difference of two floats of a fit is never exactly 0",
    **{
        (
            f"{_SERVER}/store/batch_ids.py",
            f"opened = {first} if current is None else current.opened + 1",
        ): "days are only put in the order in which they were opened"
        for first in ("0", "2")
    },
    **dict.fromkeys(
        (
            (
                f"{_SERVER}/store/batch_ids.py",
                '_KNOWN = sa.select(BATCHES.c.batch).where(BATCHES.c.batch.in_(sa.bindparam("ids", expanding=False)))',
            ),
            (
                f"{_SERVER}/store/uploads.py",
                '*_OURS, TALLIES.c.block.in_(sa.bindparam("numbers", expanding=False))',
            ),
            (
                f"{_SERVER}/store/definitions.py",
                "_AMONG = sa.select(DISABLED.c.version)"
                '.where(DISABLED.c.version.in_(sa.bindparam("versions", expanding=False)))',
            ),
        ),
        "SQLAlchemy's in_ makes any parameter an expanding one",
    ),
    **{
        (
            f"{_SERVER}/estimation/intervals/exact.py",
            f"_NEAR, _ROUNDED = {bounds}",
        ): "its last digits are others"
        for bounds in ("-0.9999999999, 1e-15", "1e-10, -0.999999999999999")
    },
    **{
        (
            f"{_SERVER}/estimation/intervals/exact.py",
            f"_BETWEEN = float(np.nextafter({least})), float(np.nextafter({most}))",
        ): "an interpolated end is 0.01 standard errors from a bend, and right to 1e-6, so that it is never cut"
        for least, most in (
            (" -1, 1", "1, 0"),
            ("0, 0", "1, 0"),
            ("0, 2", "1, 0"),
            ("0, 1", " 2, 0"),
            ("0, 1", "1, 1"),
            ("0, 1", "1, -1"),
        )
    },
    (
        f"{_SERVER}/analysis/health.py",
        "chance = supporting.sum(axis=1) / np.maximum(trials.sum(axis=1), 2)",
    ): "of so few reports no windows are compared",
    **{
        (f"{_SERVER}/estimation/intervals/exact.py", line): reason
        for line, reason in {
            "beside = _BESIDE * (2 * np.sqrt(self._trials))": "more ends are computed one by one",
            "alone = (np.abs(self._angle - self._bends) <= beside).any(axis=0) | (self._angle > self._bends[-1])": (
                "two floats are hardly ever the same"
            ),
            "_CLOSE = -0.99999999": "all ends are computed one by one",
            "_BESIDE = 1.01": "more ends are computed one by one",
            "if p <= q:  # the opposite is reported more often: count how many do not support the value": (
                "if both are the same a report carries no information, which no mechanism allows"
            ),
            "scale = np.minimum(np.maximum(from_1, _NOUGHT) / self.tails.alike, 2)": "a factor above 0 moves no root",
            "scale = np.minimum(np.maximum(from_1, _NOUGHT) * self.tails.alike, 1)": "a factor above 0 moves no root",
            "far = (chance < _TINY) & (seen >= 0)": "none or more are seen with a probability of 1",
            "far = (chance < _TINY) & (seen > -1)": "none or more are seen with a probability of 1",
            "far = (chance < _TINY) & (seen > 1)": "one or more are seen too often for that",
            "score = np.minimum(scipy.special.ndtri(np.where(seen >= 0, chance, 1.0)), _CERTAIN)": (
                "none or more are seen with a probability of 1"
            ),
            "score = np.minimum(scipy.special.ndtri(np.where(seen > -1, chance, 1.0)), _CERTAIN)": (
                "none or more are seen with a probability of 1"
            ),
            "low[active], high[active] = np.where(value <= 0, (point, high[active]), (low[active], point))": (
                "where the value is 0 the search is over"
            ),
            "open_ = np.abs(move) >= np.maximum(_NEAR * error, _ROUNDED * bracket[1])[active]": (
                "one step more changes no digit that counts"
            ),
            "open_ = np.abs(move) > np.maximum(_NEAR * error, _ROUNDED * bracket[ 0])[active]": (
                "more steps change no digit that counts"
            ),
            "inside = (low[active] < following) & (following < high[active]) & (step <= _SECANTS)": (
                "one secant more is tried before the range is halved"
            ),
            "upper = part < (least + most) / 2": "the halves are only taken in another order",
            "upper = part >= (least + most) / 2": "a point in the middle may be in either half",
            "close = np.abs(coefficients[-2:]).max() <= _CLOSE * scale.min()": "two floats are hardly ever the same",
            "octave = np.floor(np.log2(np.maximum(trials, 2)))": "1 trial is as like 2 as these are like 3",
        }.items()
    },
    **{
        (
            f"{_SERVER}/estimation/intervals/exact.py",
            f"new = np.append(True, (np.diff(seen) {one}) | (np.diff(trials) {other}))[: len(seen)]"
            "  # works for empty arrays, too",
        ): "the same count is computed several times"
        for one, other in (("!= -1", "!= 0"), ("!= 0", "!= -1"), ("!= 0", "== 0"))
    },
    **{
        (f"{_SERVER}/estimation/intervals/exact.py", line): "others are interpolated, to within 1e-6 standard errors"
        for few in ("< _FEW", ">= _FEW")
        for line in (
            f"found = ends.ends(seen, trials) if len(seen) {few} else _interpolated(ends, seen, trials)",
            f"if len(places) {few}:",
        )
    },
    **{
        (
            "server/dither_spool/bucket.py",
            f"begin, end = np.searchsorted(keys, others[:{least}, "
            f'np.searchsorted(keys, others[-1:], side="right")[{most}]',
        ): "of one place or two the first is taken"
        for least, most in ((" 2])[0]", "0"), ("1])[ -1]", "0"), ("1])[0]", " -1"))
    },
    **{
        ("server/dither_spool/bucket.py", f"if {smaller} len(others):"): "either look-up finds the same"
        for smaller in ("len(within) <=", "len(within) >", "not len(within) <")
    },
    **{
        (
            "server/dither_spool/ids.py",
            f'magic, count, checksum = _HEAD.unpack(head) if len(head) == _HEAD.size else (b"", {rest})',
        ): "a head that is cut short is refused for its magic"
        for rest in ("0, 1", "0, -1", "1, 0", "-1, 0")
    },
    **{
        (
            "server/dither_spool/ids.py",
            f"while content := _read(opened, {size} * _CHUNK, name):",
        ): "ids are the same in however many parts, as long as these are of whole ids"
        for size in (" 15", "15", " 17", "17")
    },
    **{
        (
            "server/dither_spool/records.py",
            f"cuts = np.unique(np.searchsorted(ends, np.arange( {start}, total, _CHUNK))).tolist()",
        ): "rows are the same in however many chunks"
        for start in (1, -1)
    },
    **{
        (f"shared/dither_shared/{file}.py", line): "it follows from parameters, which are compared"
        for file, line in (
            *(("mechanism", f"{name}: Fraction = field(init=False, repr=False, compare=True)") for name in "abpq"),
            ("mechanisms/numeric", "_laws: tuple[TabulatedLaw, ...] = field(init=False, repr=False, compare=True)"),
            ("mechanisms/discrete_gaussian", "_noise: TabulatedLaw = field(init=False, repr=False, compare=True)"),
            ("mechanisms/discrete_gaussian", "_widest: int = field(init=False, repr=False, compare=True)"),
        )
    },
    **{
        (
            f"{_PRIVACY}/audit.py",
            f"secret = entropy.take( {length}) if reports > 1 else None",
        ): "a secret of another length is as good"
        for length in (31, 33)
    },
    **{
        (f"{_SERVER}/analysis/composition.py", f"fine = 10 ** ( {times} * digits)"): "a factor rounded down elsewhere"
        for times in (1, 3)
    },
    (
        f"{_SERVER}/analysis/composition.py",
        "start, unit, fine = 10 ** (digits + _SPARE), 10**digits, 10 ** (2 * digits + 3 * _SPARE)",
    ): "a factor with more digits is rounded down, too, and by less",
    (f"{_SERVER}/analysis/composition.py", "fine = 9 ** (2 * digits)"): "a factor rounded down elsewhere",
    (f"{_SERVER}/analysis/composition.py", "fine = 10** 61"): "a root that is rounded up by less is a bound, too",
    (
        f"{_SERVER}/analysis/composition.py",
        "error, kept = 2 * len(weights), sum(weights)",
    ): "a step rounds off hardly more than 1, because the error before it is multiplied by a ratio of at most 1",
    **{
        (
            f"{_SERVER}/analysis/composition.py",
            f"start, unit, fine = 10 ** (digits + _SPARE), 10**digits, 10 ** ( {times} * digits + 2 * _SPARE)",
        ): "a factor with fewer or more digits is rounded down, too, and its error stays far below a unit"
        for times in (1, 3)
    },
    **{
        (f"{_PRIVACY}/audit.py", f"for _ in range( {halvings}):"): "a quantile to its last digit but one, or the last"
        for halvings in (59, 61)
    },
    (
        f"{_SERVER}/store/uploads.py",
        "if len(fresh) == len(self.sealing.ids) and not fresh:",
    ): "rows of which all are fresh are put together of all",
    (
        f"{_SERVER}/analysis/health.py",
        "Check(test=name, says=says, p_value=p_value, level=level, odd=p_value <= level) "
        "for name, says, p_value in held",
    ): "two floats are hardly ever the same",
    (
        "server/dither_spool/bucket.py",
        "begins = np.diff(batch[several][order], prepend=- 0) > 0",
    ): "batches are numbered from 1, so either number is below the first",
    ("server/dither_spool/records.py", "most = 2"): "ranks are only compared, and 0 is still the least",
    (
        "server/dither_spool/records.py",
        "starts = np.flatnonzero(np.diff(ascending, prepend=- 2))",
    ): "any number below 0 differs from the first value, which is not negative",
    (
        f"{_SERVER}/estimation/intervals/exact.py",
        "move = value / np.where(slope > 0, slope, 0 / error[active])",
    ): "it halves the bracket at first, where it would have tried a step, and meets the same root",
    **{
        (
            "shared/dither_shared/mechanisms/discrete_gaussian.py",
            f"low, unit = {first}, high / (1 << _BITS + 1)",
        ): "the search ends at the same step, unless that is the first of 32,768"
        for first in ("1", "-1")
    },
}
"""Lines as a mutant has them."""
