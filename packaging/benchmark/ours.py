"""Our side, always through the whole program: scheduler, sampler and all."""
import json
import os
import statistics

from machine import CLI, busy_loops, fail, run

KV_BLOCKS, BLOCK_SIZE = 256, 16  # the pool of the memory rows: 4,096 tokens


def must_run(model, command, *arguments, limit_s=900, stdin=os.devnull):
    done = run([CLI, command, "--json", "--model", model, *arguments], limit_s, stdin)
    if done is None:
        fail(f"tessera-cli {command} {' '.join(str(a) for a in arguments)} failed on {model.name}")
    return done, json.loads(done.output)


def measure(model, threads, case):
    """{rate, isa, bandwidth_fraction, peak_fraction} of one case."""
    with busy_loops(case.busy_loops):
        _, document = must_run(model, "bench", "--threads", threads, "--prompt-tokens", case.prompt, "--gen-tokens",
                               case.generated, "--batch", case.users, "--depth", case.depth, "--repeats", 1)
    row = document["rows"][0]
    return {"rate": row["prefill_tps" if case.is_prefill else "decode_tps"], "isa": document["isa"],
            "bandwidth_fraction": row["bandwidth_fraction"], "peak_fraction": row["peak_fraction"]}


def scheduler_costs(counts):
    """({users: us a step}, us of a prefix lookup): medians, of this process's own time."""
    users = ",".join(str(count) for count in counts)
    done = run([CLI, "bench", "--scheduler", "--json", "--batch", users, "--max-batched-tokens", 2 * max(counts),
                "--prompt-tokens", 200, "--gen-tokens", 400, "--repeats", 9])
    document = json.loads(done.output) if done else fail("tessera-cli bench --scheduler failed")
    return {row["batch"]: row["schedule_us_p50"] for row in document["rows"]}, document["lookup_us"]


def step_ratio(model, threads):
    """Time of a step of five tokens over that of a step of one."""
    _, document = must_run(model, "bench", "--threads", threads, "--prompt-tokens", 16, "--gen-tokens", 64,
                           "--batch", "1,5", "--repeats", 3)
    one, five = (row["step_ms_p50"] for row in document["rows"])
    return five / one


def load_and_first_token(model, threads, repeats=5):
    """Medians in ms: what loading took, and the whole program from start to one token and its end."""
    loads, firsts = [], []
    for _ in range(repeats):
        done, document = must_run(model, "generate", "--threads", threads, "--prompt", "Hello there", "--max-tokens", 1)
        loads.append(document["timings"]["load_ms"])
        firsts.append(done.seconds * 1000)
    return statistics.median(loads), statistics.median(firsts)


def generate_cost(model, threads, tokens=256):
    """{resident_mb, peak_mb, cpu_seconds_per_1000} of one long answer."""
    done, _ = must_run(model, "generate", "--threads", threads, "--prompt", "Hello there", "--max-tokens", tokens,
                       "--ignore-eos", "--kv-blocks", KV_BLOCKS)
    return {"resident_mb": done.resident_mb, "peak_mb": done.peak_mb,
            "cpu_seconds_per_1000": done.cpu_seconds * 1000 / tokens}


def score_peak_mb(model, threads, text):
    done, _ = must_run(model, "score", "--threads", threads, "--kv-blocks", KV_BLOCKS, text)
    return done.peak_mb


def memory_bound_mb(model):
    """Weights, the pool of KV_BLOCKS, and 150 MB."""
    _, document = must_inspect(model)
    memory = document["memory"]
    return (memory["weights"] + KV_BLOCKS * BLOCK_SIZE * memory["kv_per_token"]) / 2**20 + 150


def must_inspect(model):
    done = run([CLI, "inspect", "--json", model])
    if done is None:
        fail(f"tessera-cli inspect failed on {model.name}")
    return done, json.loads(done.output)


def write_base(model, threads, text, base):
    """Log-probabilities of float32 arithmetic over the text, in the peer's format."""
    must_run(model, "divergence", "--threads", threads, "--isa", "reference", "--write-base", base, text)


def divergence(model, threads, text, base):
    return must_run(model, "divergence", "--threads", threads, "--base", base, text)[1]["mean_kld"]
