"""Measures Tessera against llama.cpp: same file, same threads, same run, alternating, medians and ratios.

  packaging/bench [--quick | --claims | --serving | --cost-model] [--json FILE] [--models DIR] [--peer DIR] [--threads N] [--rounds N]

--quick    one round of the default model's main rows, within three minutes
--claims   the field's headline claims beside what Tessera measures or simulates
--serving  what tracing, guessing and prefix sharing cost or save, how idle the compute threads are, and what busy
           programs or long prompts beside them do to users, on the default model
--cost-model  measured steps beside the simulator's prediction of them; some 15 minutes
--models   folder of GGUF files (default: $TESSERA_MODELS, else the fetched default model)
--peer     folder with llama-bench and its like (default: $TESSERA_PEER, else what
           ../shared/peers/llama-cpp installs, where that is there); without a peer there are no ratios
Exit 1 when a figure misses its target, 2 on wrong use.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True

import cases
import claims
import ours
import peer as peers
import prediction
import report
import serving
import texts
from machine import ROOT, busy_share, fail, is_quiet, run, say

SCORE_BYTES, DIVERGENCE_BYTES = 14_000, 18_000


def parse(arguments):
    parser = argparse.ArgumentParser(prog="packaging/bench", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--claims", action="store_true")
    parser.add_argument("--serving", action="store_true")
    parser.add_argument("--cost-model", action="store_true")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--models", type=pathlib.Path)
    parser.add_argument("--peer", type=pathlib.Path)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args(arguments)
    if options.threads < 1 or options.rounds < 1:
        parser.error(f"--threads is {options.threads} and --rounds {options.rounds}; both are at least 1")
    if options.models and not options.models.is_dir():
        parser.error(f"--models: {options.models} is not a folder")
    if options.peer and not (options.peer / "llama-bench").exists():
        parser.error(f"--peer: {options.peer} does not hold llama-bench")
    return options


def default_model():
    done = run(["bash", ROOT / "packaging/fetch-model"])
    if done is None:
        fail("no model: the default one could not be fetched")
    return pathlib.Path(done.output.strip().splitlines()[-1])


def find_models(options):
    """Those of a folder, or the default one."""
    folder = options.models or os.environ.get("TESSERA_MODELS")
    if not folder or options.quick:
        return [default_model()]
    return sorted(pathlib.Path(folder).glob("*.gguf")) or fail(f"no model: {folder} holds no .gguf file")


def is_default_model(model):
    return "SmolLM2" in model.name


def measure_rounds(model, options, peer, document):
    """{case: (ours, theirs)}, one entry a round, the two sides in turn."""
    chosen = cases.QUICK if options.quick else cases.FULL
    results = {case: ([], []) for case in chosen}
    for case in chosen if peer else ():
        peer.choose(model, case)
    for number in range(1 if options.quick else options.rounds):
        if not is_quiet(patience=3 if options.quick else 10):
            document["quiet"] = False
            say(f"others use {busy_share():.0%} of this machine: ratios hold better than absolute figures")
        say(f"{model.name}: round {number + 1}")
        for case, (mine, theirs) in results.items():
            mine.append(ours.measure(model, options.threads, case))
            theirs.append(peer.measure(model, case) if peer else None)
    return results


def share_rows(rows, is_default):
    if not is_default:
        return {}
    shares = {"decode 1 user, of bandwidth": report.share_row(rows["decode 1 user"]["bandwidth_fraction"],
                                                              cases.LEAST_BANDWIDTH_SHARE)}
    for key in ("prefill 512", "prefill 2048"):
        if key in rows:
            shares[f"{key}, linear layers, of int8 peak"] = report.share_row(rows[key]["peak_fraction"],
                                                                            cases.LEAST_PEAK_SHARE)
    return shares


def limit_rows(model, options, peer):
    """Time to start, memory, and on full runs the rest: {name: row}."""
    threads, rows = options.threads, {}
    def add(limit, mine, other=None, bound=None):
        rows[limit.key] = report.limit_row(limit, mine, other, bound)
    load_ms, first_ms = ours.load_and_first_token(model, threads)
    add(cases.LOAD, load_ms, bound=cases.LOAD_MS if is_default_model(model) else None)
    add(cases.FIRST_TOKEN, first_ms, peer and peer.first_token_ms(model, 1 if options.quick else 5))
    bound, cost = ours.memory_bound_mb(model), ours.generate_cost(model, threads)
    other = (peer and peer.generate_cost(model, 64 if options.quick else 256)) or {}
    add(cases.MEMORY, cost["resident_mb"], bound=bound)
    add(cases.MEMORY_OF_PEER, cost["peak_mb"], other.get("peak_mb"))
    add(cases.PROCESSOR, cost["cpu_seconds_per_1000"], None if options.quick else other.get("cpu_seconds_per_1000"))
    with tempfile.TemporaryDirectory() as folder:
        text = texts.text_of(SCORE_BYTES, folder)
        if text:
            add(cases.SCORE_MEMORY, ours.score_peak_mb(model, threads, text), bound=bound)
        if options.quick:
            return rows
        add(cases.STEP, ours.step_ratio(model, threads))
        tokenise, other, back = texts.costs(model, peer)
        add(cases.TOKENISE, tokenise, other)
        add(cases.DETOKENISE, back)
        text = texts.text_of(DIVERGENCE_BYTES, folder)
        if text:
            base = pathlib.Path(folder) / "base"
            ours.write_base(model, threads, text, base)
            add(cases.DIVERGENCE, ours.divergence(model, threads, text, base), peer and peer.divergence(model, base))
    return rows


def scheduler_rows():
    steps, lookup = ours.scheduler_costs(list(cases.SCHEDULER))
    rows = {limit.key: report.limit_row(limit, steps[users]) for users, limit in cases.SCHEDULER.items()}
    return rows | {cases.PREFIX_LOOKUP.key: report.limit_row(cases.PREFIX_LOOKUP, lookup)}


def write_json(options, document):
    if options.json:
        options.json.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n")


def check_claims(options):
    """What the field says beside what is found here; nothing is missed when a claim does not hold."""
    rows = claims.check(default_model())
    claims.print_rows(rows)
    write_json(options, {"claims": rows})
    return 0


def check_serving(options):
    rows = serving.check(default_model(), options.threads)
    serving.print_rows(rows)
    write_json(options, {"serving": rows})
    return 1 if any(row["misses"] for row in rows.values()) else 0


def check_cost_model(options):
    document = prediction.check(default_model(), options.threads)
    prediction.print_document(document)
    write_json(options, document)
    return 1 if document["misses"] else 0


def main():
    options = parse(sys.argv[1:])
    if subprocess.run(["bash", ROOT / "packaging/build"]).returncode != 0:
        return 1
    for is_asked, check in ((options.claims, check_claims), (options.serving, check_serving),
                            (options.cost_model, check_cost_model)):
        if is_asked:
            return check(options)
    folder = peers.find(options.peer)
    if folder is None:
        say("no peer here: our own figures only")
    peer = peers.Peer(folder, options.threads) if folder else None
    rounds = 1 if options.quick else options.rounds
    document = {"threads": options.threads, "rounds": rounds, "quiet": True, "models": {}}
    document["scheduler"] = scheduler_rows()
    report.print_limits({}, document["scheduler"])
    misses = sum(row["misses"] for row in document["scheduler"].values())
    for model in find_models(options):
        is_default = is_default_model(model)
        results = measure_rounds(model, options, peer, document)
        rows = {case.key: report.throughput_row(case, mine, theirs, is_default) for case, (mine, theirs) in results.items()}
        shares, limits = share_rows(rows, is_default), limit_rows(model, options, peer)
        isa = next(iter(results.values()))[0][0]["isa"]
        report.print_throughput(f"{model.name} · {isa} · {options.threads} threads · median of {rounds}", rows)
        report.print_limits(shares, limits)
        document["models"][model.name] = {"isa": isa, "throughput": rows, "shares": shares, "limits": limits}
        misses += sum(row["misses"] for part in (rows, shares, limits) for row in part.values())
    write_json(options, document)
    return 1 if misses else 0


if __name__ == "__main__":
    sys.exit(main())
