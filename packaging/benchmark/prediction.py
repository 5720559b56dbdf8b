"""How well the simulator's cost model predicts a step on this machine."""
import json
import pathlib
import tempfile

from claims import document_of
from machine import is_quiet, say
from ours import must_run

CARD = ["--device", "cpu", "--model-card", "smollm2-135m", "--weight-dtype", "q4_1", "--kv-dtype", "bf16"]
PROMPT, GENERATED = 16, 32
# The trained context is 8,192: the last depth leaves room for prompt and answer.
USERS, DEPTHS = (1, 2, 4, 8, 16, 32), (0, 512, 2048, 8128)
FITTED = ((1, 128), (3, 4096), (6, 1024), (24, 64), (12, 3072), (24, 1536))  # users, depth; none is checked
MOST_ERROR, MOST_MEDIAN = 0.25, 0.10


def measured(model, threads, points):
    """A bench document of decode steps alone: (users, depth) each."""
    rows = []
    for depth in sorted({depth for _, depth in points}):
        users = [str(count) for count, at in points if at == depth]
        _, document = must_run(model, "bench", "--threads", threads, "--batch", ",".join(users), "--depth", depth,
                               "--prompt-tokens", PROMPT, "--gen-tokens", GENERATED, "--repeats", 3, limit_s=3600)
        for row in document["rows"]:
            row.pop("prefill_tps", None)
            rows.append(row)
    return {"prompt_tokens": PROMPT, "gen_tokens": GENERATED, "rows": rows}


def check(model, threads):
    """The predictions of all points that were not fitted: simulate's document, and what it misses."""
    if not is_quiet():
        say("others use this machine: measured steps may be long")
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for name, points in (("fitted", FITTED), ("checked", [(users, depth) for depth in DEPTHS for users in USERS])):
            path = pathlib.Path(folder) / f"{name}.json"
            path.write_text(json.dumps(measured(model, threads, points)))
            paths.append(path)
        document = document_of("simulate", *CARD, "--calibration", paths[0], "--predict", paths[1])
    document["misses"] = document["largest_error"] > MOST_ERROR or document["median_error"] > MOST_MEDIAN
    return document


def print_document(document):
    print(f"{'users':>6}{'context':>9}{'measured ms':>13}{'predicted ms':>14}{'error':>9}")
    for step in document["steps"]:
        print(f"{step['rows']:>6}{step['context']:>9}{step['measured_ms']:>13.2f}{step['predicted_ms']:>14.2f}"
              f"{step['error']:>+9.1%}")
    print(f"largest error {document['largest_error']:.1%} of at most {MOST_ERROR:.0%}, median "
          f"{document['median_error']:.1%} of at most {MOST_MEDIAN:.0%}{'  misses' if document['misses'] else ''}")
