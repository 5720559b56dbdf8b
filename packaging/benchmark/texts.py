"""Texts to measure with, and what turning them into token ids and back costs."""
import pathlib
import statistics
import sysconfig
import tempfile

from machine import CLI, fail, run
from ours import must_run

LICENCE = pathlib.Path("/usr/share/common-licenses/GPL-3")  # on every Debian machine; some 8,000 tokens
SHORT_BYTES, LONG_BYTES = 1_000, 4_000_000
PEER_BYTES = 300_000  # on some files the peer takes time with the square of it: a longer text would only suit us
REPEATS = 3


def text_of(length, folder):
    """The beginning of the licence as a file; None where the machine has none."""
    if not LICENCE.exists():
        return None
    path = pathlib.Path(folder) / f"text-{length}"
    path.write_bytes(LICENCE.read_bytes()[:length])
    return path


def varied_text(length, folder):
    """The sources of Python's own library, one after the other."""
    parts, left = [], length
    for path in sorted(pathlib.Path(sysconfig.get_path("stdlib")).glob("**/*.py")):
        data = path.read_bytes() if left > 0 and "site-packages" not in path.parts else b""
        try:
            data.decode()
        except UnicodeDecodeError:
            continue
        parts.append(data[:left])
        left -= len(parts[-1])
    path = pathlib.Path(folder) / f"sources-{length}"
    path.write_text(b"".join(parts).decode(errors="ignore"))
    return path


def ms_per_megabyte(seconds_of, short, long):
    """Of the whole program, less what it takes for a short text; None when a run fails."""
    def median(path):
        found = [seconds_of(path) for _ in range(REPEATS)]
        return None if None in found else statistics.median(found)
    few, many = median(short), median(long)
    if few is None or many is None:
        return None
    return (many - few) * 1000 / ((long.stat().st_size - short.stat().st_size) / 1e6)


def seconds_of_ours(command, model):
    """As people read it: JSON would have the bytes beside the text."""
    def seconds(path):
        done = run([CLI, command, "--model", model, "-"], stdin=path)
        return done.seconds if done else fail(f"tessera-cli {command} failed on {model.name}")
    return seconds


def ids_of(model, path):
    """Its token ids as a file."""
    ids = path.with_suffix(".ids")
    ids.write_text(" ".join(map(str, must_run(model, "tokenize", "--no-special", "-", stdin=path)[1]["ids"])))
    return ids


def costs(model, peer):
    """(tokenise, the peer's, detokenise) in ms a MB of text."""
    with tempfile.TemporaryDirectory() as folder:
        short, long = varied_text(SHORT_BYTES, folder), varied_text(LONG_BYTES, folder)
        tokenise = ms_per_megabyte(seconds_of_ours("tokenize", model), short, long)
        shorter = varied_text(PEER_BYTES, folder)
        other = peer and ms_per_megabyte(lambda path: peer.tokenise_seconds(model, path), short, shorter)
        ids = {path: ids_of(model, path) for path in (short, long)}
        # of text, not of the ids' digits
        detokenise = seconds_of_ours("detokenize", model)
        back = ms_per_megabyte(lambda path: detokenise(ids[path]), short, long)
        return tokenise, other, back
