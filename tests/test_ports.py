"""Ports that tests keep for servers: nobody else is given one, and a server may listen there at any address."""

import socket
import sys
from contextlib import closing

import pytest

from ports import kept_port, kept_ports


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a kept port is free for anybody")
@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])  # noqa: S104 - where servers of pages listen
def test_kept_port_is_refused_to_others_and_taken_again_and_again_by_servers(host: str) -> None:
    with kept_port() as port:
        with closing(socket.socket()) as other, pytest.raises(OSError, match="in use"):
            other.bind((host, port))  # without SO_REUSEADDR
        for _ in range(3):
            with (
                closing(socket.create_server((host, port))) as server,
                closing(socket.create_connection(("127.0.0.1", port))),
            ):
                server.accept()[0].close()


def test_kept_ports_differ_and_the_system_gives_none_of_them_away() -> None:
    with kept_ports(20) as ports:
        assert len(set(ports)) == 20
        if sys.platform == "linux":
            given = [socket.create_server(("127.0.0.1", 0)) for _ in range(200)]
            assert not {port.getsockname()[1] for port in given} & set(ports)
            for port in given:
                port.close()
