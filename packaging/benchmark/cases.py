"""What is measured, and what each ratio must reach."""
import dataclasses


@dataclasses.dataclass(frozen=True)
class Case:
    """One throughput figure: tokens a second reading a prompt, or making tokens for some users."""
    key: str
    prompt: int
    generated: int
    users: int = 1
    depth: int = 0
    is_prefill: bool = False
    busy_loops: int = 0  # other programs that each keep a core busy
    # ours over the peer's: on the Q4_1 default model, on the other files
    target: tuple = (0.0, 0.0)


FULL = [
    Case("prefill 512", 512, 1, is_prefill=True, target=(5.0, 3.0)),
    Case("prefill 2048", 2048, 1, is_prefill=True, target=(5.0, 3.0)),
    Case("decode 1 user", 16, 128, target=(2.5, 2.0)),
    Case("decode 1 user, depth 4096", 16, 64, depth=4096, target=(4.0, 3.0)),
    Case("decode 8 users", 128, 64, users=8, target=(5.0, 3.0)),
    Case("decode 32 users", 128, 64, users=32, target=(6.0, 4.0)),
    Case("8 users, busy loop beside", 128, 64, users=8, busy_loops=1, target=(8.0, 4.0)),
    Case("32 users, busy loop beside", 128, 64, users=32, busy_loops=1, target=(8.0, 4.0)),
]
TILE_PREFILL_TARGET = 8.0  # instead, on every file, where there are tile registers
QUICK = [
    Case("prefill 512", 512, 1, is_prefill=True, target=(5.0, 3.0)),
    Case("decode 1 user", 16, 64, target=(2.5, 2.0)),
    Case("decode 8 users", 64, 32, users=8, target=(5.0, 3.0)),
    Case("decode 32 users", 64, 32, users=32, target=(6.0, 4.0)),
]
# shares of what the machine can do, on the Q4_1 default model
LEAST_BANDWIDTH_SHARE = 0.70  # decode, one user, depth 0
LEAST_PEAK_SHARE = 0.55  # linear layers in prefill


@dataclasses.dataclass(frozen=True)
class Limit:
    """A figure that must not be above something: `bound` itself, or the peer's times `of_peer`."""
    key: str
    unit: str
    bound: float | None = None
    of_peer: float | None = None


LOAD = Limit("load", "ms")  # bound: on the default model
LOAD_MS = 500.0
FIRST_TOKEN = Limit("start to first token", "ms", of_peer=1.0)
MEMORY = Limit("resident, generate", "MB")  # bound: weights + KV pool + 150 MB
SCORE_MEMORY = Limit("peak, score", "MB")  # the same bound: no room for all logits
MEMORY_OF_PEER = Limit("peak, generate", "MB", of_peer=1.1)
STEP = Limit("step of 5 / step of 1", "x", bound=2.0)
DIVERGENCE = Limit("KL divergence to f32", "nats", of_peer=1.0)
TOKENISE = Limit("tokenise", "ms a MB", of_peer=1.0)
DETOKENISE = Limit("detokenise", "ms a MB")
# scheduler and cache alone, without a model
SCHEDULER = {users: Limit(f"scheduler and cache, {users} users", "us a step", bound=bound)
             for users, bound in ((256, 50.0), (2048, 200.0))}
PREFIX_LOOKUP = Limit("prefix lookup, 32,768 tokens", "us", bound=1000.0)
PROCESSOR = Limit("processor s per 1,000 tokens", "s")
