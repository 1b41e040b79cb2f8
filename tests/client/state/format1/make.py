"""Make the folders of this directory; it was run once, with the client of commit 7e49025, whose journals are format 1.

python make.py FOLDER
"""

import dataclasses
import sys
from datetime import date, timedelta
from pathlib import Path

import dither

_HERE = Path(__file__).parent
_DAY = date(2026, 11, 18)


class _Scripted:
    """A transport: accepts all, or says that the metric is gone."""

    def __init__(self, status: int = 202) -> None:
        self.status = status

    def send(self, body: bytes) -> dither.Answer:
        return dither.Answer(self.status)


class Device:
    """A device on its first day."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.day = _DAY

    def client(self, metrics: str = "metrics.toml", values: int = 0, status: int = 202) -> dither.Client:
        """Return a client of the program that runs today; its metrics pay for so many ``values`` (0: as usual)."""
        defined = dither.load_metrics(_HERE / metrics)
        if values:
            defined = {name: dataclasses.replace(one, cap=(values + 0.5) * one.charge) for name, one in defined.items()}
        client = dither.Client(
            defined,
            "http://127.0.0.1:9",
            "tests",
            self.folder,
            transport=_Scripted(status),
            today=lambda: self.day,
            environ={},
            background=False,
        )
        client.consent("on")
        return client

    def answer(self, value: str, metrics: str = "metrics.toml", values: int = 0) -> dither.Client:
        """Answer every question, and let a day pass."""
        client = self.client(metrics, values)
        for name in dither.load_metrics(_HERE / metrics):
            client.record(name, value == "a" if name in {"mobile", "survey"} else value)
        self.day += timedelta(days=1)
        return client


def waiting(device: Device) -> None:
    """Two days, of which the first was sent."""
    device.answer("a").flush()
    device.answer("b")


def spent(device: Device) -> None:
    """More values than are paid for: the last one is replayed."""
    for value in ("a", "b", "a", "c", "d"):
        device.answer(value, values=2)


def damaged(device: Device) -> None:
    """One debit cannot be read, and nobody has noticed yet."""
    waiting(device)
    journal = device.folder / "journal"
    broken = bytearray(journal.read_bytes())
    broken[broken.rindex(b"debit mobile") + 3] ^= 1
    journal.write_bytes(bytes(broken))


def held(device: Device) -> None:
    """The same, after the client has noticed it."""
    damaged(device)
    device.client().status()


def disabled(device: Device) -> None:
    """The collector has said that it takes no more reports."""
    waiting(device)
    device.client(status=410).flush()


def torn(device: Device) -> None:
    """The last write was cut short."""
    waiting(device)
    journal = device.folder / "journal"
    journal.write_bytes(journal.read_bytes()[:-60])


def versions(device: Device) -> None:
    """Every question has changed since."""
    device.answer("a", "earlier.toml")
    device.answer("b", "earlier.toml")
    device.answer("a")
    device.answer("b")


def asked(device: Device) -> None:
    """The user has said yes, and the program died before anything else was written."""
    device.client()
    for path in device.folder.iterdir():
        if path.name != "consent":
            path.unlink()


if __name__ == "__main__":
    for make in (waiting, spent, damaged, held, disabled, torn, versions, asked):
        made = Path(sys.argv[1]) / make.__name__
        make(Device(made))
        for lock in ("lock", "sending"):
            (made / lock).unlink(missing_ok=True)
