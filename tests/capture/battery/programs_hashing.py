"""Traced numbers as members of sets and keys of dictionaries: they hash as numbers do."""

from __future__ import annotations

import collections
import math

import numpy as np

from tests.capture.battery.registry import fresh, program

TIES = np.array([0.7, 1.3, 0.7])
KEPT = (np.array([1.0, 0.5, 1.0]),)  # ties stay ties
APART = np.array([0.7, 1.3, 2.1])


@program(TIES, along=KEPT)
def sum_of_a_set(x):
    return sum({x[0], x[1], x[2]})


@program(TIES, along=KEPT)
def number_of_different_entries(x):
    return len({x[0], x[1], x[2]}) * np.sum(x)


@program(TIES, along=KEPT)
def set_of_floats(x):
    return len({float(v) for v in x}) * x[1]


@program(TIES, along=KEPT)
def set_of_items(x):
    return len({v.item() for v in x}) * x[1]


@program(TIES, along=KEPT)
def set_of_a_list(x):
    return len(set(x.tolist())) * x[0]


@program(TIES, along=KEPT)
def frozenset_of_an_array(x):
    return len(frozenset(x)) * np.prod(x)


@program(TIES, along=KEPT)
def counter_of_entries(x):
    counts = collections.Counter(x.tolist())
    return counts[x[0]] * x[1] + counts[x[1]] * x[0]


@program(TIES, along=KEPT)
def most_common_entry(x):
    value, count = collections.Counter(x.tolist()).most_common(1)[0]
    return value * count


@program(TIES, along=KEPT)
def dictionary_from_entries(x):
    table = {}
    for k, v in enumerate(x):
        table[v] = table.get(v, 0.0) + k * v
    return sum(table.values())


@program(TIES, along=KEPT)
def looked_up_by_an_entry(x):
    table = {x[0]: 2.0, x[1]: 3.0}
    return table[x[2]] * x[0]


@program(TIES, along=KEPT)
def setdefault_by_an_entry(x):
    table = {}
    return sum(table.setdefault(v, k) * v for k, v in enumerate(x))


@program(TIES, along=KEPT)
def grouped_by_entry(x):
    groups = collections.defaultdict(list)
    for k, v in enumerate(x):
        groups[v].append(k)
    return sum(v * len(members) ** 2 for v, members in groups.items())


@program(TIES, along=KEPT)
def unique_by_a_seen_set(x):
    seen, total = set(), 0.0
    for v in x:
        if v in seen:
            continue
        seen.add(v)
        total = total + v**2
    return total


@program(TIES, along=KEPT)
def unique_in_order_by_fromkeys(x):
    return np.sum(np.array(list(dict.fromkeys(x.tolist()))) ** 2)


@program(TIES, along=KEPT)
def tuples_as_keys(x):
    pairs = {(x[0], 1): 2.0, (x[1], 1): 5.0}
    return pairs[(x[2], 1)] * x[1]


@program(TIES, along=KEPT)
def pairs_in_a_set(x):
    return len({(u, v) for u in x for v in x}) * x[1]


@program(TIES, along=KEPT)
def frozen_pairs(x):
    return len({frozenset((u, v)) for u in x for v in x}) * x[0]


@program(APART)
def looked_up_by_argmax(x):
    return {0: 2.0, 1: 3.0}.get(np.argmax(x), 9.0) * x[0]


@program(APART)
def looked_up_by_argmin(x):
    return {0: 2.0, 1: 3.0}[np.argmin(x)] * x[0]


@program(APART)
def looked_up_by_argsort(x):
    weights = {0: 1.0, 1: 10.0, 2: 100.0}
    return sum(weights[k] * v for k, v in zip(np.argsort(-x), x, strict=True))


@program(APART)
def looked_up_by_searchsorted(x):
    names = {0: 1.5, 1: 2.5, 2: 3.5}
    return sum(names[np.searchsorted([1.0, 2.0], v)] * v for v in x)


@program(APART)
def looked_up_by_digitize(x):
    prices = {0: 0.1, 1: 0.2, 2: 0.4}
    return sum(prices[k] * v for k, v in zip(np.digitize(x, [1.0, 2.0]), x, strict=True))


@program(APART)
def looked_up_by_a_comparison(x):
    return {True: 2.0, False: 5.0}[x[0] > 1] * x[0] + {True: 2.0, False: 5.0}[x[1] > 1] * x[1]


@program(APART)
def looked_up_by_floor(x):
    bins = {0.0: 1.0, 1.0: 4.0, 2.0: 9.0}
    return sum(bins[np.floor(v)] * v for v in x)


@program(APART)
def looked_up_by_math_floor(x):
    bins = {0: 1.0, 1: 4.0, 2: 9.0}
    return sum(bins[math.floor(v)] * v for v in x)


@program(np.array([-0.7, 1.3, 2.1]))
def looked_up_by_sign(x):
    return sum({-1.0: 3.0, 1.0: 7.0}[np.sign(v)] * v for v in x)


@program(APART)
def looked_up_by_round(x):
    return sum({1: 2.0, 2: 3.0}[round(float(v))] * v for v in x)


@program(APART)
def looked_up_by_int(x):
    return sum({0: 1.0, 1: 2.0, 2: 4.0}[int(v)] * v for v in x)


@program(APART)
def histogram_in_a_counter(x):
    counts = collections.Counter(int(v // 1) for v in x)
    return sum(counts[k] * v for k, v in enumerate(x))


@program(APART)
def counter_of_truths(x):
    counts = collections.Counter(x > 1)
    return counts[True] * x[0] + counts[False] * x[1]


@program(TIES, along=KEPT)
def membership_in_a_list(x):
    return x[1] * 2 if x[2] in [x[0]] else x[1] * 3


@program(TIES, along=KEPT)
def membership_in_an_array(x):
    return x[1] * 2 if x[2] in x[:2] else x[1] * 3


@program(TIES, along=KEPT)
def index_in_a_list(x):
    return (x.tolist().index(x[2]) + 2) * x[1]


@program(TIES, along=KEPT)
def count_in_a_list(x):
    return x.tolist().count(x[0]) * x[1]


@program(TIES, along=(np.array([0.0, 1.0, 0.0]),))
def hash_equals_the_number(x):
    return x[1] if hash(x[0]) == hash(0.7) == hash(x[2]) else -x[1]


@program(1.5, smooth=0)
def a_number_is_found_by_its_value(x):
    return {1.5: 4.0}.get(x, 1.0) * x


@program(2.0, smooth=0)
def a_float_finds_a_whole_number(x):
    return {2: 5.0, 3: 7.0}.get(x, 0.0) * x


@program(np.float64(1.5), along=(0.0,))
def visited_set_of_a_fixed_point(x):
    visited, steps = set(), 0
    while x not in visited and steps < 50:
        visited.add(x)
        x = x if x < 0.01 else x * 0.5
        steps += 1
    return x * len(visited)


@program(0.7)
def cycle_found_by_a_dictionary(x):
    seen, k, n = {}, 0, 7
    while n not in seen:
        seen[n] = k
        n, k = (n * n + 1) % 11, k + 1
    return x ** (k - seen[n])


@program(APART)
def symmetric_difference_of_sets(x):
    return sum({x[0], x[1]} ^ {x[1], x[2]})


@program(APART)
def intersection_of_sets(x):
    return len({x[0], x[1]} & {x[1], x[2]}) * np.sum(x)


@program(TIES, along=KEPT)
def subset_of_a_set(x):
    return x[1] * (2.0 if {x[0]} <= {x[1], x[2]} else 3.0)


@program(APART)
def maximum_of_a_set(x):
    return max({x[0], x[1], x[2]}) ** 2


@program(APART)
def sorted_set(x):
    low, middle, high = sorted({*x})
    return low + 2 * middle + 4 * high


@program(APART)
def key_of_the_largest_value(x):
    values = dict(zip("abc", x, strict=True))
    best = max(values, key=values.get)
    return values[best] ** 2 * {"a": 1.0, "b": 2.0, "c": 3.0}[best]


@program(APART)
def inverted_dictionary(x):
    places = {v: k for k, v in enumerate(x)}
    return sum(places[v] * v for v in sorted(places))


@program(np.array([1.0, 2.0, 3.0]), along=(np.zeros(3),))
def key_of_a_rounded_entry(x):
    table = {round(v, 1): v**2 for v in x}
    return table[1.0] + table[3.0]


@program(APART)
def formatted_key(x):
    table = {f"{v:.1f}": k + 1.0 for k, v in enumerate(x)}
    return table["0.7"] * x[0] + table["2.1"] * x[2]


@program(APART)
def quantised_key(x):
    table = collections.defaultdict(float)
    for v in x:
        table[int(np.floor(v * 2))] += v
    return sum((k + 1) * v for k, v in table.items())


@program(APART)
def spatial_hashing(x):
    cells = collections.defaultdict(list)
    for k in range(3):
        cells[int(x[k]), int(2 * x[k]) % 2].append(k)
    return sum(x[a] * x[b] for members in cells.values() for a in members for b in members)


@program(np.array([0.7, 0.7, 1.3, 1.3, 2.0]), along=(np.array([1.0, 1.0, 0.5, 0.5, 0.1]),))
def run_lengths_by_equality(x):
    lengths, previous = [], None
    for v in x:
        if previous is not None and v == previous:
            lengths[-1] += 1
        else:
            lengths.append(1)
        previous = v
    return sum(n * v for n, v in zip(lengths, x[::2], strict=True))


@fresh(np.array([0.2, 0.8, 0.4]))
def a_table_made_outside():
    table = {0: 1.0, 1: 3.0, 2: 9.0}

    def lookup(x):
        return sum(table[np.argmax(np.roll(x, k))] * v for k, v in enumerate(x))

    return lookup, lambda: table


@fresh(TIES, along=KEPT, smooth=0)
def a_set_made_outside_keeps_numbers():
    seen = set()

    def collect(x):
        for v in x:
            seen.add(float(v))
        return len(seen) * x[1]

    return collect, lambda: seen


@fresh(APART)
def a_counter_made_outside():
    counts = collections.Counter()

    def count(x):
        counts.update(["large" if v > 1 else "small" for v in x])
        return counts["large"] * x[0] + counts["small"] * x[1]

    return count, lambda: dict(counts)


@program(np.array([3.0, 1.0, 2.0]), along=(np.zeros(3),))
def dispatch_table_of_functions(x):
    handlers = {1.0: np.sin, 2.0: np.cos, 3.0: np.exp}
    return sum(handlers[v](v) for v in x)


@program(np.array([0.4, 0.9]))
def enumerated_states(x):
    state, total = "low", 0.0
    rules = {("low", True): "high", ("high", True): "low", ("low", False): "low"}
    for v in x:
        state = rules.get((state, bool(v > 0.5)), "low")
        total = total + (v**2 if state == "high" else v)
    return total


@program(APART)
def ordered_dictionary_moved_to_the_end(x):
    table = collections.OrderedDict((v, k) for k, v in enumerate(x))
    table.move_to_end(x[0])
    return sum(k * v for k, v in enumerate(table))


@program(np.float64(0.7))
def nan_is_a_key_by_identity(x):
    nan = x * np.nan
    return {nan: 2.0}.get(nan, 5.0) * x


@program(np.array([0.0, 1.0]), along=(np.array([0.0, 1.0]),))
def minus_zero_and_zero_are_one_key(x):
    return len({x[0], -x[0]}) * x[1]


@program(APART, smooth=0)
def bytes_as_a_key(x):
    table = {x.tobytes(): 2.0}
    return table.get(np.array([0.7, 1.3, 2.1]).tobytes(), 1.0) * x[0]


@program(APART, smooth=0)
def a_tuple_of_the_list_as_a_key(x):
    table = {tuple(x.tolist()): 3.0}
    return table.get((0.7, 1.3, 2.1), 1.0) * x[1]
