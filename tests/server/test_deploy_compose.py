"""The compose files, read as Docker reads them: their commands exist, and they expose no more than they say."""

from collections.abc import Sequence
from importlib.metadata import entry_points
from pathlib import PurePosixPath
from typing import Any

import click
import pytest

from dither_server.cli.main import cli
from dither_server.config.sources import COLLECTOR
from server.test_deploy import DEPLOY

COMPOSE = ("compose.yaml", "compose.scale.yml")


def compose(name: str) -> Any:
    """Return a compose file as Docker reads it, apart from variables."""
    return pytest.importorskip("yaml").safe_load((DEPLOY / name).read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", COMPOSE)
def test_compose_file_refers_to_services_networks_and_settings_that_exist(name: str) -> None:
    file = compose(name)
    for service in file["services"].values():
        assert set(service.get("depends_on", ())) <= file["services"].keys()
        assert set(service.get("networks", ())) <= file.get("networks", {}).keys()
        variables = {word for word in service.get("environment", {}) if word.startswith("DITHER_")}
        assert variables <= {COLLECTOR.variable_of(setting) for setting in COLLECTOR.settings}
        for source in (volume.partition(":")[0] for volume in service.get("volumes", ())):
            assert source in file["volumes"] or source == "./metrics.toml"
        built = {other.get("image") for other in file["services"].values() if "build" in other}
        assert "build" in service or service["image"] in {*built, "postgres:17"}
        if "build" in service:
            context = DEPLOY / service["build"]["context"]
            assert context.resolve() == DEPLOY.parents[1]
            dockerfile = (context / service["build"]["dockerfile"]).read_text(encoding="utf-8")
            assert all(f"ARG {argument}=" in dockerfile for argument in service["build"].get("args", ()))


def test_compose_sample_is_closed_except_for_reports() -> None:
    service = compose("compose.yaml")["services"]["collector"]
    assert (service["read_only"], service["ports"]) == (True, ["127.0.0.1:8000:8000"])
    assert service["environment"]["DITHER_OPEN"] == "report"


def test_compose_for_scale_starts_existing_commands() -> None:
    """Each command exists, with each of its options."""
    services = compose("compose.scale.yml")["services"]
    assert "command" not in services["collector"]  # that of the image
    command, *options = services["fold"]["command"]
    assert_takes(cli.load(command), options)
    starts = {"scheduler": "dask_scheduler", "worker": "dask_worker"}
    for name, module in starts.items():
        program, word = services[name]["entrypoint"]
        assert (program, word) == ("/opt/dither/bin/dask", name)
        assert word in {entry.name for entry in entry_points(group="dask_cli")}
        assert_takes(pytest.importorskip(f"distributed.cli.{module}").main, services[name]["command"])


def assert_takes(command: click.Command, arguments: Sequence[str]) -> None:
    """Assert that a command line can be read; nothing is run."""
    with command.make_context(command.name, list(arguments)):
        pass


def test_compose_for_scale_folds_what_its_collectors_spool() -> None:
    file = compose("compose.scale.yml")
    services = file["services"]
    assert (services["collector"]["deploy"]["replicas"], services["worker"]["deploy"]["replicas"]) == (3, 2)
    (ports,) = services["collector"]["ports"]
    assert ports == "127.0.0.1:8000-8002:8000"  # one for each
    assert services["collector"]["environment"] == services["fold"]["environment"] | {"DITHER_OPEN": "report"}
    spool = PurePosixPath(services["fold"]["environment"]["DITHER_SPOOL"])
    mounts = {name: service.get("volumes", [])[-1:] for name, service in services.items()}
    assert mounts["collector"] == mounts["fold"] == [f"spool:{spool.parent}"]
    assert mounts["worker"] == [f"spool:{spool.parent}:ro"]
    assert "dask" in services["collector"]["build"]["args"]["EXTRAS"].split(",")
    assert services["worker"]["image"] == services["fold"]["image"] == services["collector"]["image"]
    dockerfile = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")
    assert f"-o 10001 -g 10001 -m 0700 {spool.parent} " in f"{dockerfile} ".replace("\n", " ")  # as whom it runs
    (option,) = [one for one in services["fold"]["command"] if one.startswith("--scheduler=")]
    assert option == f"--scheduler={services['worker']['command'][0]}" == "--scheduler=tcp://scheduler:8786"


def test_a_worker_that_is_killed_does_not_hold_a_fold_up_for_long() -> None:
    """Dask knows the variable, and reads it so."""
    pytest.importorskip("distributed")
    config = pytest.importorskip("dask.config")
    ((name, value),) = compose("compose.scale.yml")["services"]["scheduler"]["environment"].items()
    assert config.get("distributed.comm.timeouts.connect", config=config.collect_env({name: value})) == value


def test_compose_for_scale_is_closed_except_for_reports() -> None:
    """Whoever reaches the scheduler runs code on the workers."""
    file = compose("compose.scale.yml")
    services, networks = file["services"], file["networks"]
    assert [name for name, service in services.items() if "ports" in service] == ["collector"]
    assert [name for name, service in services.items() if "outside" in service["networks"]] == ["collector"]
    assert all(networks[name] == {"internal": True} for name in ("counts", "folding"))
    folding = {name for name, service in services.items() if "folding" in service["networks"]}
    assert folding == {"fold", "scheduler", "worker"}
    for name in ("scheduler", "worker"):
        assert services[name]["networks"] == ["folding"]
        assert all(variable.startswith("DASK_") for variable in services[name].get("environment", ()))  # no password
    for name in ("collector", "fold", "scheduler", "worker"):
        assert (services[name]["read_only"], services[name]["cap_drop"]) == (True, ["ALL"])
        assert services[name].get("healthcheck", {}) == ({} if name == "collector" else {"disable": True})
