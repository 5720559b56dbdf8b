"""Rows, the table, and which of them miss."""
import statistics

from cases import TILE_PREFILL_TARGET


def median(values):
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


def throughput_row(case, ours, theirs, is_default):
    """One case over its rounds; ours: what ours.measure gave, theirs: tokens a second."""
    mine, other = median(o["rate"] for o in ours), median(theirs)
    target = case.target[0 if is_default else 1]
    if case.is_prefill and ours[0]["isa"].startswith("amx"):
        target = TILE_PREFILL_TARGET
    ratio = mine / other if mine and other else None
    return {"tessera": mine, "peer": other, "ratio": ratio, "target": target,
            "bandwidth_fraction": median(o["bandwidth_fraction"] for o in ours),
            "peak_fraction": median(o["peak_fraction"] for o in ours),
            "misses": ratio is not None and ratio < target}


def share_row(value, least):
    return {"tessera": value, "least": least, "misses": value is not None and value < least}


def limit_row(limit, mine, other=None, bound=None):
    """A figure that must not be above a bound, which may depend on the peer's."""
    if bound is None:
        bound = limit.bound
    if limit.of_peer is not None and other is not None:
        bound = other * limit.of_peer
    return {"tessera": mine, "peer": other, "unit": limit.unit, "most": bound,
            "misses": mine is not None and bound is not None and mine > bound}


def text(value, form):
    return "–" if value is None else format(value, form)


def print_throughput(title, rows):
    print(f"\n{title}")
    print(f"{'tokens a second':28}{'tessera':>10}{'peer':>10}{'ratio':>8}{'target':>8}{'of bandwidth':>14}{'of int8 peak':>14}")
    for key, row in rows.items():
        print(f"{key:28}{text(row['tessera'], '.1f'):>10}{text(row['peer'], '.1f'):>10}{text(row['ratio'], '.2f'):>8}"
              f"{row['target']:8.1f}{text(row['bandwidth_fraction'], '.0%'):>14}{text(row['peak_fraction'], '.0%'):>14}"
              f"{'  misses' if row['misses'] else ''}")


def print_limits(shares, limits):
    for key, row in shares.items():
        print(f"{key:40}{text(row['tessera'], '.0%'):>12}{'':12}  at least {row['least']:.0%}"
              f"{'  misses' if row['misses'] else ''}")
    if not limits:
        return
    print(f"{'':40}{'tessera':>12}{'peer':>12}  at most")
    for key, row in limits.items():
        print(f"{key + ', ' + row['unit']:40}{text(row['tessera'], '.4g'):>12}{text(row['peer'], '.4g'):>12}"
              f"  {text(row['most'], '.4g')}{'  misses' if row['misses'] else ''}")
