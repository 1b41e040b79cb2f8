"""Which origins can be listed, and which requests come from a listed page."""

import string

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dither_server.access.origins import NO_ORIGINS, Origins
from dither_serving.problems import Kind, Problem
from dither_shared import ParameterError

APP = "https://app.example"

AS_BROWSERS_WRITE = [
    APP, "http://app.example", "https://app.example:8443", "http://app.example:443", "https://app.example:80",
    "http://localhost:3000", "http://127.0.0.1:8000", "http://[::1]:3000", "http://[2001:db8::1]", "https://a-_b.c0",
    "https://xn--bcher-kva.example", "https://0xg", "https://1.example", "app://bundle", "capacitor://localhost",
    "chrome-extension://abcdefghijklmnopabcdefghijklmnop",
]  # fmt: skip
"""``new URL(text).origin`` is the text for those of http and https, in Node.js 20."""

NOT_SO = [
    "", "app.example", "//app.example", "https:app.example", "https://", "https:///", f"{APP}/", f"{APP}/path",
    f"{APP}?", f"{APP}#", f"{APP}:", f"{APP}:443", "http://app.example:80", f"{APP}:0", f"{APP}:08", f"{APP}:65536",
    f"{APP}:100000", f"{APP}:\u0661", "https://App.example", "HTTPS://app.example", f"{APP}.", "https://.example",
    "https://a..example", "https://user@app.example", "https://user:pass@app.example", "https://b\u00fccher.example",
    "https://app.example\u3002com", f" {APP}", f"{APP} ", f"{APP}\n", f"{APP}\x00", "https://*", "https://*.example",
    f"{APP},{APP}", "file://", "file:///", "data:", "about:blank", "blob:https://app.example", "http://127.1",
    "http://1", "http://0x7f.0.0.1", "http://127.0.0.01", "http://127.0.0.256", "http://1.2.3.4.5", "http://a.0x",
    "http://[::0001]", "http://[0:0:0:0:0:0:0:1]", "http://[::FFFF]", "http://[::1", "http://::1", "http://[]",
    "http://[1]", "http://[::1%25lo]", "http://[::1.2.3.4]", "1https://app.example", "https://app example",
]  # fmt: skip


def test_origins_as_browsers_write_them_can_be_listed_and_no_others() -> None:
    for origin in AS_BROWSERS_WRITE:
        assert Origins((origin,)).admit(origin), origin
    wrong = "is not an origin as browsers write it: scheme and host, such as https://"
    anyone = {
        "*": r"'\*' would let every web page report; list the origins",
        "null": "'null' is what browsers send for sandboxed frames, local files and some redirects of any site",
    }
    for text, said in (dict.fromkeys(NOT_SO, wrong) | anyone).items():
        with pytest.raises(ParameterError, match=said):
            Origins((APP, text))


NAMES = st.lists(st.text(string.ascii_lowercase + string.digits + "-", min_size=1, max_size=9), min_size=1, max_size=4)
HOSTS = NAMES.map(lambda labels: ".".join([*labels[:-1], f"x{labels[-1]}"]))
HOSTS = HOSTS.filter(lambda host: not host.rpartition(".")[2].startswith("0x"))
ADDRESSES = st.one_of(st.ip_addresses(v=4).map(str), st.ip_addresses(v=6).map(lambda address: f"[{address}]"))
PORTS = st.integers(1, 65_535).filter(lambda port: port not in {80, 443}).map(lambda port: f":{port}")


@settings(max_examples=40)
@given(
    st.sampled_from(["http", "https"]),
    HOSTS | ADDRESSES.filter(lambda text: "." not in text or ":" not in text),
    PORTS | st.just(""),
    st.sampled_from(["/", ".", " ", "/x", "?", "#", "@", "\t", ",", ":", "\u00e9", ", https://b.example", "\x00"]),
)
def test_listed_origin_admits_itself_and_no_variation_of_it(scheme: str, host: str, port: str, more: str) -> None:
    origin = f"{scheme}://{host}{port}"
    origins = Origins((origin,))
    assert origins.admit(origin)
    for other in (origin + more, origin.upper(), f"{scheme}s://{host}{port}", f"{scheme}://user@{host}{port}"):
        with pytest.raises(Problem) as problem:
            origins.admit(other)
        assert problem.value.kind is Kind.ORIGIN
        assert other not in problem.value.detail
    for wrong in (origin + more, origin.upper(), f" {origin}", f"{scheme}://user@{host}{port}"):
        with pytest.raises(ParameterError):
            Origins((wrong,))


@settings(max_examples=50)
@given(st.text(max_size=40) | st.text("htps:/.[]0123456789abcdefx@-_%", max_size=30))
@example("http://[" + ":" * 40 + "]")
@example("http://" + "9" * 5000)
def test_any_text_is_taken_as_an_origin_or_refused_by_name(text: str) -> None:
    """An accepted origin has one reading: no upper case, nothing to decode, no separator."""
    try:
        Origins((text,))
    except ParameterError as error:
        assert error.place == "origins"  # noqa: PT017 - whichever comes
    else:
        assert text.isascii()
        assert text == text.lower()
        assert not set(text) & set(" ,@/?#%\\\t\n\x00*") - {"/"}
        assert text.count("/") == 2


def test_origins_are_read_from_a_list_or_from_text_with_commas() -> None:
    origins = Origins.read(f" {APP} ,http://localhost:3000, {APP},", "")
    assert origins == Origins.read([APP, "http://localhost:3000"], "") == Origins((APP, "http://localhost:3000"))
    assert str(origins) == f"{APP}, http://localhost:3000"
    assert Origins.read("", "") == Origins.read([], "") == NO_ORIGINS
    for wrong in (1, True, {APP: 1}, [1], [[APP]], None):
        with pytest.raises(ParameterError, match="--origins: not a list of origins, such as"):
            Origins.read(wrong, "--origins")
    with pytest.raises(ParameterError, match="--origins: 'null' is what"):
        Origins.read("null", "--origins")
