"""Servers that a page starts run beside what follows, on free ports."""

import pytest

from docs.ports import free_ports, ports_of, with_ports
from docs.servers import with_servers


@pytest.mark.parametrize(
    ("line", "port", "command"),
    [
        ("dither-server run", "8000", "DITHER_PORT=9999 exec dither-server run"),
        ("dither-server run --port 8000  # forever", "8000", "exec dither-server run --port 8000  # forever"),
        ("DITHER_OPEN=report dither-server run", "8000", "DITHER_PORT=9999 DITHER_OPEN=report exec dither-server run"),
        ("dither-relay run --db x", "8080", "DITHER_RELAY_PORT=9999 exec dither-relay run --db x"),
        ("flask --app app run &", "5000", "FLASK_RUN_PORT=9999 exec flask --app app run "),
        ("python -m http.server 8123", "8123", "exec python -m http.server 8123"),
        ("gunicorn -b 127.0.0.1:8123 app", "8123", "exec gunicorn -b 127.0.0.1:8123 app"),
    ],
)
def test_server_block_runs_beside_the_blocks_that_follow(line: str, port: str, command: str) -> None:
    assert with_servers(f"{line}\necho\n", {port: "9999"}) == f"_stop 9999\n( {command}\n) &\n_await $! 9999\necho\n"


def test_a_server_without_a_port_is_awaited_by_what_it_prints() -> None:
    assert with_servers("dither-server fold --every 1h\n", {}) == (
        "_stop 0\n( exec dither-server fold --every 1h\n) &\n_await $! 0\n"
    )


@pytest.mark.parametrize(
    "line", ["dither-server doctor", "dither-server run --help", "echo dither-server run", "flask routes"]
)
def test_command_that_ends_is_not_taken_for_a_server(line: str) -> None:
    assert with_servers(f"{line} \\\n  --more\n", {}) == f"{line} \\\n  --more\n"


def test_line_continued_by_backslash_is_one_command() -> None:
    assert "exec dither-server run    --port 8000\n" in with_servers("dither-server run \\\n  --port 8000\n", {})


def test_ports_of_a_page_are_replaced_by_free_ones() -> None:
    text = "curl http://127.0.0.1:8000/x; http://localhost:5000 -n 8000 --port=8001; port = 8002; 127.0.0.1:9"
    assert ports_of([text]) == {"8000", "5000", "8001", "8002"}
    with free_ports(ports_of([text])) as free:
        assert len(set(free.values())) == 4
    assert with_ports(text, {"8000": "1", "5000": "2", "8001": "3", "8002": "4"}) == (
        "curl http://127.0.0.1:1/x; http://localhost:2 -n 8000 --port=3; port = 4; 127.0.0.1:9"
    )
