"""Running programs and looking at the machine while they run."""
import contextlib
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CLI = ROOT / "build/release/tessera-cli"


def say(text):
    print(text, file=sys.stderr, flush=True)


def fail(text):
    say(f"bench: {text}")
    sys.exit(1)


def busy_share(seconds=1.0):
    """Share of all cores in use, from /proc/stat."""
    def read():
        fields = [int(x) for x in open("/proc/stat").readline().split()[1:]]
        return sum(fields), fields[3] + fields[4]
    total0, idle0 = read()
    time.sleep(seconds)
    total1, idle1 = read()
    return 1.0 - (idle1 - idle0) / max(1, total1 - total0)


def is_quiet(limit=0.10, patience=10):
    """Waits up to `patience` seconds for others to use less than `limit` of the cores."""
    return any(busy_share() < limit for _ in range(patience))


# Ends with the bench, however that ends: one killed would leave it to spoil the next.
BUSY_LOOP = """
import os
parent = os.getppid()
while os.getppid() == parent:
    for _ in range(1_000_000): pass
"""


@contextlib.contextmanager
def busy_loops(count):
    """So many processes that keep a core each busy meanwhile."""
    processes = [subprocess.Popen([sys.executable, "-c", BUSY_LOOP]) for _ in range(count)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


class Finished:
    """What a program printed and cost: seconds on the clock and of processor, resident MB while it worked and at its peak."""

    def __init__(self, output, seconds, cpu_seconds, resident_mb, peak_mb):
        self.output = output
        self.seconds = seconds
        self.cpu_seconds = cpu_seconds
        self.resident_mb = resident_mb
        self.peak_mb = peak_mb


def resident_mb(pid):
    """Resident memory now, or None once the process is gone."""
    try:
        for line in open(f"/proc/{pid}/status"):
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) / 1024
    except OSError:
        pass
    return None


# A load packs its weights here as on the first time: what an earlier round kept must not count.
ENVIRONMENT = os.environ | {"TESSERA_PACKED_CACHE": "off"}


# Seldom: whoever looks takes a processor from the program that is measured.
LOOK_S = 0.05


def watch(process, limit_s, ended, looks):
    """Looks at a process until it has ended, which it must when its time is up."""
    begin = time.monotonic()
    while not ended.wait(LOOK_S):
        looks.append(resident_mb(process.pid) or 0.0)
        if time.monotonic() - begin > limit_s:
            process.kill()
            return


def run(command, limit_s=900, stdin=os.devnull):
    """None when the program fails or takes too long: a setting of the peer that this machine cannot run."""
    with tempfile.TemporaryFile("w+") as output, open(stdin, "rb") as given:
        started, ended, looks = time.monotonic(), threading.Event(), []
        process = subprocess.Popen([str(part) for part in command], stdin=given, stdout=output,
                                   stderr=subprocess.DEVNULL, env=ENVIRONMENT)
        watcher = threading.Thread(target=watch, args=(process, limit_s, ended, looks))
        watcher.start()
        try:
            _, status, usage = os.wait4(process.pid, 0)
            seconds = time.monotonic() - started
        finally:
            ended.set()
            watcher.join()
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        if process.returncode != 0:
            return None
        # past the load, and not the last look: by then a process may have given most of it back
        resident = statistics.median(looks[len(looks) // 2:]) if looks else 0.0
        return Finished(output.read(), seconds, usage.ru_utime + usage.ru_stime, resident, usage.ru_maxrss / 1024)
