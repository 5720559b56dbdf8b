"""The peer, llama.cpp, at whichever of its settings is best here for each figure."""
import itertools
import json
import os
import pathlib
import re
import statistics

from machine import ROOT, busy_loops, run, say

# A setting that crashes here (its AMX layouts on some machines) is left out by measuring it.
SINGLE = [("-fa", fa, "--repack", repack) for fa, repack in itertools.product(("on", "off"), ("1", "0"))]
MANY = [("-fa", fa, repack, unified) for fa, repack, unified in
        itertools.product(("on", "off"), ("--repack", "--no-repack"), ("-kvu", "-no-kvu"))]


def find(folder):
    if folder or os.environ.get("TESSERA_PEER"):
        return pathlib.Path(folder or os.environ["TESSERA_PEER"])
    installer = ROOT.parent / "shared/peers/llama-cpp"
    done = run(["bash", installer], limit_s=3600) if installer.exists() else None
    return pathlib.Path(done.output.strip().splitlines()[-1]) if done else None


class Peer:
    """Remembers the best setting of each figure, so that the rounds measure that one alone."""

    def __init__(self, folder, threads):
        self.folder = folder
        self.threads = threads
        self._best = {}

    def choose(self, model, case):
        """Tries every setting once on a smaller shape of the case."""
        kind = (model, case.users > 1, case.is_prefill, case.depth)
        if kind not in self._best:
            settings = MANY if case.users > 1 else SINGLE
            rates = [(self._rate(model, case, setting, is_trial=True) or 0.0, setting) for setting in settings]
            rate, setting = max(rates)
            self._best[kind] = setting if rate > 0 else None
            say(f"  peer's best for {case.key}: {' '.join(setting) if rate > 0 else 'none of its settings runs here'}")
        return self._best[kind]

    def measure(self, model, case):
        """Tokens a second at the best setting; None when none runs."""
        setting = self.choose(model, case)
        if setting is None:
            return None
        with busy_loops(case.busy_loops):
            return self._rate(model, case, setting, is_trial=False)

    def _rate(self, model, case, setting, is_trial):
        if case.users > 1:
            return self._rate_of_many(model, case, setting, is_trial)
        prompt, generated = (min(case.prompt, 256), min(case.generated, 16)) if is_trial else (case.prompt, case.generated)
        shape = ("-p", prompt, "-n", 0) if case.is_prefill else ("-p", 0, "-n", generated, "-d", case.depth)
        done = run([self.folder / "llama-bench", "-m", model, "-t", self.threads, "-r", 1, "-o", "json", *setting, *shape])
        return json.loads(done.output)[0]["avg_ts"] if done else None

    def _rate_of_many(self, model, case, setting, is_trial):
        users, prompt, generated = (8, 16, 16) if is_trial else (case.users, case.prompt, case.generated)
        context = max(2048, users * (prompt + generated + 16))
        done = run([self.folder / "llama-batched-bench", "-m", model, "-t", self.threads, "-tb", self.threads, "-c", context,
                    "-npp", prompt, "-ntg", generated, "-npl", users, *setting, "--output-format", "jsonl"])
        for line in done.output.splitlines() if done else ():
            if line.startswith("{") and '"speed_tg"' in line:
                return json.loads(line)["speed_tg"]
        return None

    def _complete(self, model, tokens):
        """One answer by its command line; the layout that loads and runs here, the quicker of two."""
        runs = [run([self.folder / "llama-completion", "-m", model, "-t", self.threads, "-p", "Hello there", "-n", tokens,
                     "-no-cnv", "--no-warmup", "--ignore-eos", "--temp", 0, "-c", 4096, repack])
                for repack in ("--repack", "--no-repack")]
        return min((done for done in runs if done), key=lambda done: done.seconds, default=None)

    def first_token_ms(self, model, repeats=5):
        runs = [self._complete(model, 1) for _ in range(repeats)]
        return statistics.median(done.seconds * 1000 for done in runs) if all(runs) else None

    def generate_cost(self, model, tokens=256):
        done = self._complete(model, tokens)
        return done and {"peak_mb": done.peak_mb, "cpu_seconds_per_1000": done.cpu_seconds * 1000 / tokens}

    def tokenise_seconds(self, model, path):
        done = run([self.folder / "llama-tokenize", "-m", model, "-f", path, "--ids", "--log-disable"])
        return done and done.seconds

    def divergence(self, model, base):
        """Mean KL divergence to the base; the best of both layouts."""
        found = []
        for repack in ("--repack", "--no-repack"):
            done = run([self.folder / "llama-perplexity", "-m", model, "-t", self.threads, "-c", 512, "--kl-divergence",
                        "--kl-divergence-base", base, repack])
            match = done and re.search(r"Mean\s+KLD:\s*(-?[0-9.]+)", done.output)
            if match:
                found.append(float(match.group(1)))
        return min(found, default=None)
