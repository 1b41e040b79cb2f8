"""Speed, as ratios within one run: ``make bench``.

Each line gives a time and how many times as long, or as short, as a baseline measured in the same run.
"""

import random
import subprocess
import sys
import time
from collections.abc import Callable
from fractions import Fraction

from dither_shared import KeyedEntropy, RandomizedResponse, Rappor, SymmetricUnary, SystemEntropy

ENTROPY = SystemEntropy()


def microseconds(call: Callable[[], object], calls: int = 5_000, rounds: int = 7) -> float:
    """Return the least mean time of a call, over rounds, in microseconds."""
    best = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(calls):
            call()
        best = min(best, time.perf_counter() - start)
    return best / calls * 1e6


def startup_milliseconds(code: str, rounds: int = 15) -> float:
    """Return the least wall time of a fresh interpreter that runs ``code``, in milliseconds."""
    best = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        best = min(best, time.perf_counter() - start)
    return best * 1e3


def bit_by_bit(bits: int) -> int:
    """Draw bits the usual way, one comparison of floats each: the baseline, and not exact."""
    system = random.SystemRandom()
    return sum((system.random() < 0.3) << lane for lane in range(bits))


def drawing() -> None:
    """Print what one report costs on a device."""
    choice = RandomizedResponse.calibrate(1024, 1.0)
    unary = SymmetricUnary.calibrate(128, 1.0)
    textbook = Rappor(permanent_f=Fraction(1, 2), instant_p=Fraction(1, 4), instant_q=Fraction(3, 4))
    calibrated = Rappor.calibrate(None, 1.0)
    value = b"Chrome for Android 157"

    def rappor(mechanism: Rappor) -> bytes:
        return mechanism.randomize(value, ENTROPY, 7, KeyedEntropy(b"k" * 32, b"v" * 16, b"\0\0\0\7", value))

    baseline = microseconds(lambda: bit_by_bit(128), 500)
    print(f"128 bits, one float comparison each (baseline) {baseline:8.1f} us")
    for label, call in (
        ("k-ary randomized response, k = 1,024", lambda: choice.randomize(7, ENTROPY)),
        ("symmetric unary, 128 bits", lambda: unary.randomize(7, ENTROPY)),
        ("rappor, 128 bits, f = 1/2, p = 1/4, q = 3/4", lambda: rappor(textbook)),
        ("rappor, 128 bits, any epsilon", lambda: rappor(calibrated)),
    ):
        took = microseconds(call)
        print(f"{label:46} {took:8.1f} us   1/{baseline / took:.0f} of the baseline")


def importing() -> None:
    """Print what embedding the client adds to the start of a program."""
    bare, embedded = startup_milliseconds("pass"), startup_milliseconds("import dither")
    print(f"python -c pass                                 {bare:8.1f} ms")
    print(f"import dither                                  {embedded:8.1f} ms   {embedded - bare:.1f} ms more")


if __name__ == "__main__":
    drawing()
    importing()
