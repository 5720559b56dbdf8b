#!/usr/bin/env python3
"""Log-probabilities of tiny models in float64, from the files alone.

    tiny_families.py FOLDER OUT.json

FOLDER holds cases.json and NAME.gguf (see tst_tiny_families.cpp). Written from the models' published
definitions, sharing nothing with the engine. Needs numpy.
"""
import hashlib
import json
import math
import struct
import sys

import numpy as np

SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}


class Gguf:
    """Metadata and float tensors of one file; alignment 32."""

    def __init__(self, data):
        self.data, self.at = data, 8
        num_tensors, num_entries = self.take("Q"), self.take("Q")
        self.meta = {}
        for _ in range(num_entries):
            key = self.text()
            self.meta[key] = self.value(self.take("I"))
        infos = []
        for _ in range(num_tensors):
            name = self.text()
            shape = [self.take("Q") for _ in range(self.take("I"))]
            infos.append((name, shape, self.take("I"), self.take("Q")))
        start = (self.at + 31) // 32 * 32
        self.tensors = {}
        for name, shape, kind, offset in infos:
            dtype = {0: "<f4", 1: "<f2"}[kind]
            flat = np.frombuffer(data, dtype, math.prod(shape), start + offset)
            self.tensors[name] = flat.astype(np.float64).reshape(shape[::-1])

    def take(self, code):
        value, = struct.unpack_from("<" + code, self.data, self.at)
        self.at += struct.calcsize("<" + code)
        return value

    def text(self):
        size = self.take("Q")
        self.at += size
        return self.data[self.at - size:self.at].decode()

    def value(self, kind):
        if kind == 8:
            return self.text()
        if kind == 9:
            element, count = self.take("I"), self.take("Q")
            return [self.value(element) for _ in range(count)]
        return self.take(SCALARS[kind])


class Model:
    def __init__(self, file, max_context):
        self.file = file
        self.arch = file.meta["general.architecture"]
        self.layers = self.key("block_count")
        self.hidden = self.key("embedding_length")
        self.heads = self.key("attention.head_count")
        self.kv_heads = self.key("attention.head_count_kv")
        self.dim = self.key("attention.key_length")
        self.eps = self.key("attention.layer_norm_rms_epsilon")
        self.gemma = self.arch.startswith("gemma")
        self.context = max_context or self.key("context_length")
        self.rotated = self.key("rope.dimension_count", self.dim)
        self.rope, self.magnitude = self.stretched()

    def key(self, name, absent=None):
        return self.file.meta.get(self.arch + "." + name, absent)

    def tensor(self, name):
        return self.file.tensors.get(name + ".weight")

    def plain(self, base):
        return 1.0 / base ** (np.arange(0, self.rotated, 2) / self.rotated)

    def stretched(self):
        """Inverse frequencies of positions that see everything, and what multiplies cos and sin."""
        base = self.key("rope.freq_base")
        kind = self.key("rope.scaling.type", "none")
        factor = self.key("rope.scaling.factor", 1.0)
        original = self.key("rope.scaling.original_context_length", self.key("context_length"))
        inverse, magnitude = self.plain(base), self.key("rope.scaling.attn_factor", 1.0)
        if kind == "linear":
            inverse = inverse / factor
        if kind == "yarn":
            def correction(turns):
                return self.rotated * math.log(original / (turns * 2 * math.pi)) / (2 * math.log(base))

            low = max(math.floor(correction(self.key("rope.scaling.yarn_beta_fast", 32.0))), 0)
            high = min(math.ceil(correction(self.key("rope.scaling.yarn_beta_slow", 1.0))), self.rotated - 1)
            ramp = np.clip((np.arange(self.rotated // 2) - low) / max(high - low, 0.001), 0, 1)
            extrapolated = (1 - ramp) * self.key("rope.scaling.yarn_ext_factor", 1.0)
            inverse = inverse / factor * (1 - extrapolated) + inverse * extrapolated
            magnitude *= 0.1 * math.log(factor) + 1.0
        factors = self.tensor("rope_freqs")
        if self.tensor("rope_factors_long") is not None:
            side = "long" if self.context > original else "short"
            factors = self.tensor("rope_factors_" + side)
        return (inverse if factors is None else inverse / factors), magnitude

    def norm(self, x, weight):
        return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + self.eps) * weight

    def rotate(self, x, inverse, magnitude):
        """x [positions, heads, dim]"""
        angles = np.arange(x.shape[0])[:, None] * inverse[None, :]
        cos, sin = np.cos(angles)[:, None, :] * magnitude, np.sin(angles)[:, None, :] * magnitude
        out, half = x.copy(), self.rotated // 2
        if self.arch == "llama":
            first, second = slice(0, self.rotated, 2), slice(1, self.rotated, 2)
        else:
            first, second = slice(0, half), slice(half, self.rotated)
        out[..., first] = x[..., first] * cos - x[..., second] * sin
        out[..., second] = x[..., first] * sin + x[..., second] * cos
        return out

    def window(self, layer):
        """Positions that a query sees, and whether the layer is a local one."""
        size = self.key("attention.sliding_window", 0)
        period = {"gemma2": 2, "gemma3": 6}.get(self.arch)
        if period and layer % period == period - 1:
            return 0, False
        return size, bool(period)

    def projections(self, prefix, x):
        q, k = self.heads * self.dim, self.kv_heads * self.dim
        if self.arch == "phi3":
            parts = np.split(x @ self.tensor(prefix + "attn_qkv").T, [q, q + k], axis=1)
        else:
            parts = []
            for name in "qkv":
                part = x @ self.tensor(prefix + "attn_" + name).T
                bias = self.file.tensors.get(prefix + "attn_" + name + ".bias")
                parts.append(part if bias is None else part + bias)
        return [part.reshape(len(x), -1, self.dim) for part in parts]

    def attention(self, layer, x):
        prefix = "blk.%d." % layer
        q, k, v = self.projections(prefix, x)
        if self.tensor(prefix + "attn_q_norm") is not None:
            q = self.norm(q, self.tensor(prefix + "attn_q_norm"))
            k = self.norm(k, self.tensor(prefix + "attn_k_norm"))
        window, is_local = self.window(layer)
        if self.arch == "gemma3" and is_local:
            inverse, magnitude = self.plain(10000.0), 1.0
        else:
            inverse, magnitude = self.rope, self.magnitude
        q, k = self.rotate(q, inverse, magnitude), self.rotate(k, inverse, magnitude)
        group = self.heads // self.kv_heads
        k, v = np.repeat(k, group, axis=1), np.repeat(v, group, axis=1)
        scores = np.einsum("ihd,jhd->hij", q, k) / math.sqrt(self.dim)
        cap = self.key("attn_logit_softcapping")
        if cap:
            scores = cap * np.tanh(scores / cap)
        ago = np.arange(len(x))[:, None] - np.arange(len(x))[None, :]
        seen = (ago >= 0) & ((ago < window) if window else True)
        scores = np.where(seen[None], scores, -np.inf)
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights /= weights.sum(axis=-1, keepdims=True)
        mixed = np.einsum("hij,jhd->ihd", weights, v).reshape(len(x), -1)
        return mixed @ self.tensor(prefix + "attn_output").T

    def feed_forward(self, layer, x):
        prefix = "blk.%d." % layer
        up = x @ self.tensor(prefix + "ffn_up").T
        if self.arch == "phi3":
            gate, up = np.split(up, 2, axis=1)
        else:
            gate = x @ self.tensor(prefix + "ffn_gate").T
        if self.gemma:
            gate = 0.5 * gate * (1 + np.tanh(math.sqrt(2 / math.pi) * (gate + 0.044715 * gate ** 3)))
        else:
            gate = gate / (1 + np.exp(-gate))
        return (gate * up) @ self.tensor(prefix + "ffn_down").T

    def log_probabilities(self, ids):
        x = self.tensor("token_embd")[ids]
        if self.gemma:
            x = x * math.sqrt(self.hidden)
        for layer in range(self.layers):
            prefix = "blk.%d." % layer
            update = self.attention(layer, self.norm(x, self.tensor(prefix + "attn_norm")))
            if self.gemma:
                update = self.norm(update, self.tensor(prefix + "post_attention_norm"))
            x = x + update
            update = self.feed_forward(layer, self.norm(x, self.tensor(prefix + "ffn_norm")))
            if self.gemma:
                update = self.norm(update, self.tensor(prefix + "post_ffw_norm"))
            x = x + update
        output = self.tensor("output")
        output = self.tensor("token_embd") if output is None else output
        logits = self.norm(x[-1], self.tensor("output_norm")) @ output.T
        cap = self.key("final_logit_softcapping")
        if cap:
            logits = cap * np.tanh(logits / cap)
        top = logits.max()
        return logits - top - math.log(np.exp(logits - top).sum())


def prompt(name, length, vocab):
    """Ids that look random; a function of the name alone."""
    digest = b""
    while len(digest) < 4 * length:
        digest += hashlib.sha256(("%s %d" % (name, len(digest))).encode()).digest()
    return [struct.unpack_from("<I", digest, 4 * i)[0] % vocab for i in range(length)]


def main(folder, out):
    golden = {}
    for case in json.load(open(folder + "/cases.json")):
        name = case["name"]
        data = open("%s/%s.gguf" % (folder, name), "rb").read()
        model = Model(Gguf(data), case["max_context"])
        ids = prompt(name, case["length"], len(model.tensor("token_embd")))
        values = model.log_probabilities(ids)
        best = np.argsort(-values, kind="stable")[:20]
        span = values[best[0]] - values[best[19]]
        print("%-16s top %.3f, span %.2f nats" % (name, values[best[0]], span))
        golden[name] = {"sha256": hashlib.sha256(data).hexdigest(), "ids": ids,
                        "top20": [[int(i), round(float(values[i]), 9)] for i in best]}
    with open(out, "w") as file:
        rows = ["%s: %s" % (json.dumps(name), json.dumps(value)) for name, value in golden.items()]
        file.write("{\n" + ",\n".join(rows) + "\n}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
