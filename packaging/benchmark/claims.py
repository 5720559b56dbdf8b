"""The field's headline claims, with source and setting, beside what Tessera measures or simulates."""
import dataclasses
import json
import pathlib
import tempfile
import typing

from machine import CLI, ROOT, fail, run

AZURE = ROOT.parent / "shared/traces/azure_conv.csv"
AZURE_REQUESTS = 3000  # of its beginning: the shares do not move any more
# Lengths like those of a chat service where the recorded ones are not here.
DRAWN_CHAT = ["--requests", 2000, "--arrival", "poisson", "--rate", 8,
              "--prompt-lengths", "lognormal:6.2:1.1", "--output-lengths", "lognormal:4.9:0.9"]


@dataclasses.dataclass(frozen=True)
class Claim:
    text: str
    source: str
    setting: str      # of the source
    low: float        # what the claim comes to, as a range of the figure below
    high: float
    unit: str         # "%" or "x"
    here: str         # what is done here
    measure: typing.Callable[[pathlib.Path], float]


def document_of(command, *arguments):
    done = run([CLI, command, "--json", *arguments])
    if not done:
        fail(f"tessera-cli {command} {' '.join(str(a) for a in arguments)} failed")
    return json.loads(done.output)


def simulate(device, model, *arguments):
    return document_of("simulate", "--device", device, "--model-card", model, *arguments)


def chat_lengths():
    """Flags of a chat workload: the recorded one where it is here."""
    if not AZURE.exists():
        return DRAWN_CHAT
    lines = AZURE.read_text().splitlines()[: AZURE_REQUESTS + 1]
    path = pathlib.Path(tempfile.gettempdir()) / "tessera-azure-beginning.csv"
    path.write_text("\n".join(lines) + "\n")
    return ["--workload", path]


def waste(allocator):
    flags = ["--allocator", allocator, "--max-context", 4096, *chat_lengths()]
    return 100 * simulate("h100", "llama-3-8b", *flags)["engine"]["fragmentation"]["internal"]


def contiguous_waste(_):
    return waste("contiguous")


def paged_waste(_):
    return waste("paged")


def continuous_over_static(_):
    drawn = ["--requests", 400, "--prompt-lengths", "uniform:32:512", "--output-lengths", "lognormal:4.6:1.1",
             "--max-seqs", 32, "--max-batch", 32, "--kv-dtype", "bf16"]
    rates = [simulate("a100-80", "llama-2-7b", "--batching", kind, *drawn)["output_throughput"]
             for kind in ("continuous", "static")]
    return rates[0] / rates[1]


def unchunked_stall(_):
    """The 99th percentile of the gaps between tokens, whole prompts over chunks of 512."""
    drawn = ["--requests", 200, "--arrival", "poisson", "--rate", 3, "--prompt-lengths", "uniform:2000:8000",
             "--output-lengths", "fixed:150"]
    gaps = [simulate("a100-80", "mistral-7b", "--max-batched-tokens", budget, *drawn)["p99_itl_ms"]
            for budget in (16384, 512)]
    return gaps[0] / gaps[1]


def speculation(_):
    one = ["--tensor-parallel", 4, "--requests", 1, "--prompt-lengths", "fixed:512", "--output-lengths", "fixed:400"]
    plain = simulate("h100", "llama-3-70b", *one)["mean_tpot_ms"]
    drafted = simulate("h100", "llama-3-70b", *one, "--speculate", "draft", "--draft-card", "llama-3-8b",
                       "--acceptance", 0.8, "--speculative-tokens", 4)["mean_tpot_ms"]
    return plain / drafted


def users_by_int4(_):
    users = [document_of("plan", "--device", "h100", "--model-card", "llama-3-8b", "--length", 8192, "--users", 1,
                         "--kv-dtype", kind)["users"] for kind in ("int4", "bf16")]
    return users[0] / users[1]


def weight_quantisation(_):
    one = ["--requests", 1, "--prompt-lengths", "fixed:128", "--output-lengths", "fixed:200"]
    wide, narrow = (simulate("rtx-4090", "llama-2-7b", "--weight-dtype", kind, *one)["mean_tpot_ms"]
                    for kind in ("bf16", "int4"))
    return wide / narrow


def disaggregation(_):
    """Requests a second that meet both targets, separate pools over two mixed engines."""
    drawn = ["--requests", 300, "--arrival", "poisson", "--rate", 6, "--prompt-lengths", "uniform:1000:6000",
             "--output-lengths", "fixed:150", "--max-batched-tokens", 8192, "--slo-ttft-ms", 1000, "--slo-tpot-ms", 12]
    mixed = simulate("h100", "llama-3-8b", "--replicas", 2, *drawn)["request_goodput"]
    split = simulate("h100", "llama-3-8b", "--prefill-pool", 1, "--decode-pool", 1, *drawn)["request_goodput"]
    return split / max(mixed, 1e-9)


def prefix_sharing(model):
    """TTFT of a request whose 2,000 tokens before the question are in the cache, over the first one's; real engine."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "shared.jsonl"
        lines = [{"id": str(i), "at_ms": at, "prompt_ids": [40 + (7 * k) % 900 for k in range(2000)] + [300 + i] * 16,
                  "max_tokens": 1, "ignore_eos": True} for i, at in enumerate((0, 8000))]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        first, second = document_of("run", "--model", model, "--workload", path)["requests"]
    return 100 * second["ttft_ms"] / first["ttft_ms"]


CLAIMS = (
    Claim("reserving the longest length wastes 60-80 % of KV memory", "PagedAttention, SOSP 2023",
          "OPT-13B, Orca with several reservations", 60, 80, "%",
          "contiguous allocator, stated maximum 4,096, chat lengths; simulated", contiguous_waste),
    Claim("paging wastes under 4 %", "PagedAttention, SOSP 2023", "OPT-13B, ShareGPT, blocks of 16", 0, 4, "%",
          "paged allocator, same lengths; simulated", paged_waste),
    Claim("continuous batching serves many times what static does", "Orca, OSDI 2022; Anyscale 2023 (8 x)",
          "OPT-13B on an A100, exponential lengths", 2, 23, "x",
          "Llama-2-7B on an A100, log-normal lengths, 32 slots; simulated", continuous_over_static),
    Claim("whole prompts stall decoding; chunks do not", "Sarathi-Serve, OSDI 2024",
          "Mistral-7B on an A100, P99 time between tokens", 2, 30, "x",
          "P99 ITL, whole prompts over chunks of 512; simulated", unchunked_stall),
    Claim("speculation is 2-3 times faster", "Leviathan et al., ICML 2023", "T5-XXL with a small draft, TPU v4", 2, 3.4,
          "x", "Llama-3-70B on four H100 with an 8B draft, acceptance 0.8, 4 guesses; simulated", speculation),
    Claim("4-bit KV holds 4 times the users", "KIVI, ICML 2024 (2-bit: 4 x batch)", "Llama-2-7B on an A100", 3.5, 4, "x",
          "users of 8,192 tokens, Llama-3-8B on an H100, int4 over bf16; reckoned", users_by_int4),
    Claim("4-bit weights decode 3 times faster", "AWQ, MLSys 2024", "Llama-2-7B on a desktop RTX 4090", 2.7, 3.9, "x",
          "time per token, Llama-2-7B on an RTX 4090; simulated", weight_quantisation),
    Claim("separate prefill and decode serve up to 7.4 times the requests", "DistServe, OSDI 2024",
          "OPT-13B to 175B, tight targets", 1.2, 7.4, "x",
          "goodput, Llama-3-8B, one and one H100 over two, 6 requests/s; simulated", disaggregation),
    Claim("a cached prefix makes the first token come at once", "SGLang (RadixAttention), 2024",
          "shared system prompts", 0, 10, "%",
          "TTFT with 2,000 shared tokens over the first's; measured here", prefix_sharing),
)


def check(model):
    """[{claim, source, setting, here, claimed, found, agrees}], the real engine's rows on `model`."""
    rows = []
    for claim in CLAIMS:
        found = claim.measure(model)
        rows.append({"claim": claim.text, "source": claim.source, "setting": claim.setting, "here": claim.here,
                     "claimed": [claim.low, claim.high], "unit": claim.unit, "found": found,
                     "agrees": claim.low <= found <= claim.high})
    return rows


def print_rows(rows):
    for row in rows:
        low, high = row["claimed"]
        verdict = "agrees" if row["agrees"] else "does not agree"
        print(f"{row['claim']}\n  claimed {low:g}-{high:g} {row['unit']} ({row['source']}: {row['setting']})\n"
              f"  here {row['found']:.3g} {row['unit']}, {verdict} ({row['here']})")
