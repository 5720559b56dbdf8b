"""What the serving core's features cost or save here, each against the same run without it, in turn."""
import dataclasses
import pathlib
import statistics
import tempfile

from machine import say
from ours import must_run

ROUNDS = 7


@dataclasses.dataclass(frozen=True)
class Figure:
    key: str
    bound: float
    is_least: bool  # else at most


TRACE = Figure("processor time, recording a trace over not", 1.01, False)
NGRAM = Figure("decode speed, adaptive n-gram guesses that do not pay over off", 0.97, True)
DRAFT = Figure("decode speed, an adaptive draft model that does not pay over off", 0.97, True)
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


def check(model, threads):
    """{key: {value, bound, misses}}"""
    measured = {
        TRACE: lambda: trace_ratio(model, threads),
        NGRAM: lambda: speculation_ratio(model, threads, "--speculate", "ngram"),
        # as large as what it guesses for: it cannot pay
        DRAFT: lambda: speculation_ratio(model, threads, "--speculate", "draft", "--draft-model", model),
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
