"""Who answers in the demo: devices with clients in Python, or visitors of a web page."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from ...collection.collector_process import CollectorError
from ...collection.fleet import send_all
from ...collection.visitors import Page, Tools, served
from .surveys import Survey

__all__ = ["Crowd", "Devices", "Visitors"]


class Crowd(ABC):
    """Everyone who is asked, so many of them at a time."""

    unit: ClassVar[str]
    """What one of them is."""

    origins: str = ""
    """The origins of the pages that report."""

    @abstractmethod
    def report(self, survey: Survey, definition: Path, url: str, step: Callable[[], object]) -> None:
        """Let each person of a survey report to the collector at ``url``, and call ``step`` after each.

        ``definition`` is the survey's ``metrics.toml``. Raises DitherError if one of them cannot report.
        """


@dataclass(frozen=True)
class Devices(Crowd):
    """Devices with clients in Python."""

    unit: ClassVar[str] = "device"
    jobs: int

    def report(self, survey: Survey, definition: Path, url: str, step: Callable[[], object]) -> None:
        """Send what each device draws."""
        if not send_all(survey.metrics, url, survey.people, self.jobs, step):
            raise CollectorError("it took no reports from a device for as long as a device waits")


class Visitors(Crowd):
    """Visitors of the demo's page, each in a browser's context of their own, which has its own storage."""

    unit: ClassVar[str] = "visitor"

    def __init__(self, page: Page, jobs: int) -> None:
        self._page, self._jobs = page, jobs
        self.origins = page.origin

    @classmethod
    @contextmanager
    def ready(cls, jobs: int) -> Iterator["Visitors"]:
        """Serve the page while the context lasts. Raises ParameterError if a program that it takes is missing."""
        with served(Tools.found()) as page:
            yield cls(page, jobs)

    def report(self, survey: Survey, definition: Path, url: str, step: Callable[[], object]) -> None:
        """Let each visitor agree, answer by the page's form, and stay until their reports have left."""
        self._page.visit(definition, url, survey.people, self._jobs, step)
