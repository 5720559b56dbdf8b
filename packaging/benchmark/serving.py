"""What the serving core's features cost or save here, each against the same run without it, in turn; and how little of
the threads' time a step leaves unused."""
import csv
import dataclasses
import json
import pathlib
import statistics
import tempfile

import cases
import ours
import texts
from machine import CLI, fail, run, say
from ours import must_run

ROUNDS = 7
USERS = 8
LONG_BYTES, LONG_TOKENS = 450_000, 100_000
LONG_PROMPTS = 3  # among 256 tokens of each user: enough of them for a p99 to see what one does


@dataclasses.dataclass(frozen=True)
class Figure:
    key: str
    bound: float
    is_least: bool  # else at most


TRACE = Figure("processor time, recording a trace over not", 1.01, False)
NGRAM = Figure("decode speed, adaptive n-gram guesses that do not pay over off", 0.97, True)
DRAFT = Figure("decode speed, an adaptive draft model that does not pay over off", 0.97, True)
IDLE = Figure(f"share of the compute threads' time idle, {USERS} users decoding", 0.03, False)
BUSY = Figure(f"decode speed of {USERS} users, a busy loop on each core over none", 0.45, True)
BESIDE = Figure(f"p99 between tokens of {USERS} users, prompts of {LONG_TOKENS:,} beside them over none", 1.10, False)
SHARED = Figure("time to first token, second over first of a shared prompt of 2,000", 0.10, False)


def in_turn(one, other):
    """Median ratio of pairs, so that a machine that changes its speed changes both sides."""
    ratios = []
    for number in range(ROUNDS):
        # each side goes first as often
        first, second = (one, other) if number % 2 == 0 else (other, one)
        a, b = first(), second()
        ratios.append(a / b if number % 2 == 0 else b / a)
    return statistics.median(ratios)


def trace_ratio(model, threads):
    users = ["--requests", 8, "--as-fast-as-possible", "--prompt-lengths", "fixed:32", "--output-lengths", "fixed:256"]
    with tempfile.TemporaryDirectory() as folder:
        # not the clock: a hundredth of it is less than other programs move it by
        def seconds(*flags):
            return must_run(model, "run", "--threads", threads, *users, *flags)[0].cpu_seconds
        return in_turn(lambda: seconds("--trace", pathlib.Path(folder) / "run.trace"), seconds)


def speculation_ratio(model, threads, *flags):
    # drawn hot: what comes next is seldom what came before
    text = ["--prompt", "Once upon a time", "--temperature", 1.5, "--seed", 1, "--ignore-eos", "--max-tokens", 384]
    def rate(*more):
        return must_run(model, "generate", "--threads", threads, *text, *more)[1]["timings"]["decode_tps"]
    return in_turn(lambda: rate(*flags), rate)


def shared_prompt_ratio(model, threads):
    requests = ["--requests", 2, "--arrival", "poisson", "--rate", 0.05, "--prompt-lengths", "fixed:2008",
                "--shared-prefix", 2000, "--output-lengths", "fixed:4", "--seed", 1]
    ratios = []
    for _ in range(3):
        rows = must_run(model, "run", "--threads", threads, *requests)[1]["requests"]
        first, second = sorted(rows, key=lambda row: row["cached_tokens"])
        ratios.append(second["ttft_ms"] / first["ttft_ms"])
    return statistics.median(ratios)


def iterations(trace):
    """Rows of the recorded steps."""
    done = run([CLI, "export", "--format", "csv", trace])
    if done is None:
        fail(f"tessera-cli export failed on {trace}")
    return list(csv.DictReader(done.output.split("\n\n")[0].splitlines()))


def idle_of(before, step, threads):
    """Share of the threads' time from the end of one step to the end of the next."""
    begin, end, last_end = float(step["t0_ms"]), float(step["t1_ms"]), float(before["t1_ms"])
    # between two steps the engine's thread publishes, the others have nothing to do
    busy = (end - begin) * float(step["busy_share"]) + (begin - last_end) / threads
    return 1 - busy / (end - last_end)


def idle_share(model, threads):
    users = ["--requests", USERS, "--arrival", "closed", "--prompt-lengths", "fixed:16", "--output-lengths", "fixed:128"]
    shares = []
    with tempfile.TemporaryDirectory() as folder:
        trace = pathlib.Path(folder) / "run.trace"
        for _ in range(ROUNDS):
            must_run(model, "run", "--threads", threads, *users, "--trace", trace)
            rows = iterations(trace)
            shares.append(statistics.median(
                idle_of(before, step, threads) for before, step in zip(rows, rows[1:])
                if step["prefill_tokens"] == "0" and step["decode_tokens"] == str(USERS)))
    return statistics.median(shares)


def busy_ratio(model, threads):
    quiet = cases.Case("quiet", 16, 200, users=USERS)
    def rate(case):
        return ours.measure(model, threads, case)["rate"]
    return in_turn(lambda: rate(dataclasses.replace(quiet, busy_loops=threads)), lambda: rate(quiet))


def write_workload(path, long_text, times_ms):
    """Users who read 16 tokens and write 256, and long prompts at these times."""
    lines = [{"id": f"user {number}", "prompt_tokens": 16, "seed": number, "max_tokens": 256, "ignore_eos": True}
             for number in range(USERS)]
    lines += [{"id": f"long {at}", "at_ms": at, "prompt": long_text, "max_tokens": 4} for at in times_ms]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def beside_ratio(model, threads):
    with tempfile.TemporaryDirectory() as folder:
        source = texts.varied_text(LONG_BYTES, folder)
        text = source.read_text()
        if len(must_run(model, "tokenize", "-", stdin=source)[1]["ids"]) < LONG_TOKENS:
            fail(f"{LONG_BYTES:,} bytes are not {LONG_TOKENS:,} tokens of {model.name}")
        plain, beside = pathlib.Path(folder) / "plain", pathlib.Path(folder) / "beside"
        def measured(workload):
            return must_run(model, "run", "--threads", threads, "--workload", workload)[1]
        write_workload(plain, text, [])
        lasts_ms = sum(measured(plain)["requests"][0]["itl_ms"])
        write_workload(beside, text, [lasts_ms * (number + 0.5) / LONG_PROMPTS for number in range(LONG_PROMPTS)])
        # a long prompt that does not fit the context has no times: it is turned down once its tokens are known
        def p99(workload):
            return measured(workload)["metrics"]["p99_itl_ms"]
        return in_turn(lambda: p99(beside), lambda: p99(plain))


def check(model, threads):
    """{key: {value, bound, misses}}"""
    measured = {
        TRACE: lambda: trace_ratio(model, threads),
        NGRAM: lambda: speculation_ratio(model, threads, "--speculate", "ngram"),
        # as large as what it guesses for: it cannot pay
        DRAFT: lambda: speculation_ratio(model, threads, "--speculate", "draft", "--draft-model", model),
        IDLE: lambda: idle_share(model, threads),
        BUSY: lambda: busy_ratio(model, threads),
        BESIDE: lambda: beside_ratio(model, threads),
        SHARED: lambda: shared_prompt_ratio(model, threads),
    }
    rows = {}
    for figure, measure in measured.items():
        say(f"  {figure.key}")
        value = measure()
        misses = value < figure.bound if figure.is_least else value > figure.bound
        rows[figure.key] = {"value": value, "bound": figure.bound, "is_least": figure.is_least, "misses": misses}
    return rows


def print_rows(rows):
    for key, row in rows.items():
        print(f"{key:70}{row['value']:8.3f}  at {'least' if row['is_least'] else 'most'} {row['bound']}"
              f"{'  misses' if row['misses'] else ''}")
