import hashlib
import subprocess
import sys
from pathlib import Path

from dither_shared.primitives.digests import sha256, shake_256


def test_digests_equal_hashlibs() -> None:
    for size in (0, 1, 55, 56, 64, 135, 136, 137, 272, 1000):
        data = bytes(place % 251 for place in range(size))
        assert sha256(data).hexdigest() == hashlib.sha256(data).hexdigest()
        for width in (16, 32, 136, 137, 512):
            assert shake_256(data).digest(width) == hashlib.shake_256(data).digest(width)


def test_recording_client_loads_neither_openssl_nor_mechanisms_of_other_questions(tmp_path: Path) -> None:
    code = (
        "import sys, dither; from pathlib import Path\n"
        "Path('m.toml').write_text('[metrics.a]\\ntype = \"string\"\\nepsilon = 1.0\\n')\n"
        "client = dither.Client('m.toml', 'http://127.0.0.1:1', 'a', dither.MemoryState('on'), environ={})\n"
        "client.record('a', 'b'); assert client.status().queued == 1, client.status()\n"
        "others = {f'dither_shared.mechanisms.{name}' for name in ('bit_flip', 'numeric', 'randomized_response')}\n"
        "print(*{*others, '_hashlib', '_ssl', 'hashlib', 'ssl', 'http.client', 'logging'} & set(sys.modules))"
    )
    loaded = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert loaded.stdout.strip() == ""
