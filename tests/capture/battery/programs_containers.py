"""Lists, heaps, queues, sorting and algorithms that carry traced numbers about."""

from __future__ import annotations

import bisect
import collections
import copy
import heapq
import itertools
import string
import textwrap

import numpy as np

from tests.capture.battery.registry import program

ROW = np.array([0.7, 1.3, 0.4])


@program(ROW)
def sorting_with_a_key(x):
    order = sorted(range(3), key=lambda k: x[k])
    return sum(10**n * x[k] for n, k in enumerate(order))


@program(ROW)
def sorting_backwards(x):
    values = list(x)
    values.sort(reverse=True)
    return values[0] + 10 * values[1] + 100 * values[2]


@program(ROW)
def sorting_pairs(x):
    pairs = sorted(zip(x, "abc", strict=True))
    return sum(v * "abc".index(name) for v, name in pairs) * pairs[0][0]


@program(ROW)
def sorting_by_two_keys(x):
    rows = sorted([(1, x[0]), (0, x[1]), (1, x[2])], key=lambda row: (row[0], -row[1]))
    return rows[0][1] + 10 * rows[1][1] + 100 * rows[2][1]


@program(ROW)
def a_heap(x):
    heap = []
    for v in x:
        heapq.heappush(heap, v)
    return heapq.heappop(heap) * 10 + heapq.heappop(heap)


@program(ROW)
def a_heap_of_pairs(x):
    heap = [(v, k) for k, v in enumerate(x)]
    heapq.heapify(heap)
    smallest, place = heapq.heapreplace(heap, (x[1] * 2, 9))
    return smallest * (place + 1) + heap[0][0]


@program(ROW)
def largest_and_smallest_by_heapq(x):
    return sum(heapq.nlargest(2, x)) + heapq.nsmallest(1, x)[0] * 3


@program(ROW)
def merged_by_heapq(x):
    merged = heapq.merge([x[2], x[1]], [x[0], 2.0])
    return sum(k * v for k, v in enumerate(merged))


@program(ROW)
def bisection_in_a_list(x):
    edges = [0.0, 0.5, 1.0, 1.5]
    return sum(bisect.bisect(edges, v) * v for v in x)


@program(ROW)
def sorted_insertion(x):
    values = []
    for v in x:
        bisect.insort(values, v)
    return sum(k * v for k, v in enumerate(values, 1))


@program(ROW)
def bisection_in_a_traced_list(x):
    return x[0] * bisect.bisect_left(sorted(x), 0.6) + x[1]


@program(ROW)
def a_deque_as_a_queue(x):
    queue, total = collections.deque(x), 0.0
    while queue:
        v = queue.popleft()
        total = total + v
        if v > 0.5:
            queue.append(v / 2)
    return total


@program(ROW)
def a_deque_that_rotates(x):
    queue = collections.deque(x, maxlen=3)
    queue.rotate(1)
    queue.appendleft(x[1] * 2)
    return sum(k * v for k, v in enumerate(queue))


@program(ROW)
def a_stack_machine(x):
    stack = []
    for token in ["a", "b", "*", "c", "+", "a", "-"]:
        if token in "+-*":
            right, left = stack.pop(), stack.pop()
            stack.append({"+": left + right, "-": left - right, "*": left * right}[token])
        else:
            stack.append(x["abc".index(token)])
    return stack.pop() ** 2


@program(ROW)
def a_dictionary_of_lists(x):
    groups = {}
    for k, v in enumerate(x):
        groups.setdefault(k % 2, []).append(v)
    return sum(np.prod(group) * (k + 1) for k, group in groups.items())


@program(ROW)
def a_default_dictionary_of_floats(x):
    totals = collections.defaultdict(float)
    for name, v in zip("aba", x, strict=True):
        totals[name] += v
    return totals["a"] ** 2 * totals["b"] + totals["c"]


@program(ROW)
def a_dictionary_of_parameters(x):
    parameters = {"w": x[:2], "b": x[2]}
    updated = {name: value * 2 for name, value in parameters.items()}
    merged = {**parameters, "b": 1.0} | {"c": x[0]}
    return np.sum(updated["w"]) * updated["b"] + merged["b"] * merged["c"]


@program(ROW)
def a_nested_dictionary(x):
    tree = {"a": {"b": [x[0], {"c": x[1]}]}}
    tree["a"]["b"][1]["c"] = tree["a"]["b"][1]["c"] * x[2]
    return tree["a"]["b"][0] * tree["a"]["b"][1]["c"]


@program(ROW)
def flattened_lists(x):
    def flatten(rows):
        for row in rows:
            if isinstance(row, list):
                yield from flatten(row)
            else:
                yield row

    return sum(k * v for k, v in enumerate(flatten([x[0], [x[1], [x[2], [x[0]]]]])))


@program(ROW)
def lists_cut_and_joined(x):
    values = x.tolist()
    values[1:1] = [values[0] * 2]
    values += [values.pop(0)]
    values.insert(0, values[-1] ** 2)
    del values[1]
    values.reverse()
    return sum(10**k * v for k, v in enumerate(values))


@program(ROW)
def lists_times_numbers(x):
    rows = [[0.0] * 2] * 2
    rows[0][1] = x[0]
    return rows[1][1] * 2 + sum([x[1]] * 3)


@program(ROW)
def a_matrix_of_lists(x):
    matrix = [[a * b for b in x] for a in x]
    transposed = list(map(list, zip(*matrix, strict=True)))
    product = [
        [sum(a * b for a, b in zip(row, column, strict=True)) for column in transposed]
        for row in matrix
    ]
    return sum(map(sum, product))


@program(ROW)
def tuples_and_unpacking(x):
    (a, b), c = (x[0], x[1]), x[2]
    first, *rest = (a, b, c)
    *start, last = rest
    return first * len(rest) + sum(start) * last


@program(ROW)
def copies_of_containers(x):
    one = {"v": [x[0]]}
    shallow, deep = copy.copy(one), copy.deepcopy(one)
    one["v"].append(x[1])
    return len(shallow["v"]) * shallow["v"][-1] + len(deep["v"]) * deep["v"][-1]


@program(ROW)
def a_chain_map(x):
    names = collections.ChainMap({"a": x[0]}, {"a": x[1], "b": x[2]})
    child = names.new_child({"b": x[0] * 2})
    return names["a"] * names["b"] + child["b"] * child["a"]


@program(ROW)
def a_user_dictionary(x):
    class Doubling(collections.UserDict):
        def __setitem__(self, key, value):
            super().__setitem__(key, value * 2)

    table = Doubling(a=x[0])
    table["b"] = x[1]
    return sum(table.values()) * len(table)


@program(ROW)
def a_subclass_of_a_list(x):
    class Stack(list):
        def push(self, value):
            self.append(value * 2)

    stack = Stack(x)
    stack.push(x[0])
    return sum(stack) * stack[-1]


@program(ROW)
def a_subclass_of_a_dictionary(x):
    class Missing(dict):
        def __missing__(self, key):
            self[key] = x[key] ** 2
            return self[key]

    table = Missing()
    return table[0] + table[1] * table[0] + len(table)


@program(ROW)
def knapsack_by_dynamic_programming(x):
    best = [0.0] * 6
    for weight, value in zip([2, 3, 1], x, strict=True):
        for room in range(5, weight - 1, -1):
            best[room] = max(best[room], best[room - weight] + value)
    return best[5] * best[3]


@program(np.array([0.3, 0.9, 0.5, 0.2]))
def longest_common_path(x):
    cost = [[abs(a - b) for b in (0.1, 0.65, 0.42)] for a in x]
    total = [[0.0] * 3 for _ in x]
    for i, j in itertools.product(range(4), range(3)):
        before = [total[i - 1][j]] if i else []
        before += [total[i][j - 1]] if j else []
        before += [total[i - 1][j - 1]] if i and j else []
        total[i][j] = cost[i][j] + (min(before) if before else 0.0)
    return total[-1][-1]


@program(np.array([1.0, 2.5, 0.7, 1.9]))
def shortest_path_by_dijkstra(x):
    graph = {"a": [("b", x[0]), ("c", x[1])], "b": [("c", x[2]), ("d", 4.0)], "c": [("d", x[3])]}
    heap, done = [(0.0, "a")], {}
    while heap:
        length, node = heapq.heappop(heap)
        if node in done:
            continue
        done[node] = length
        for other, weight in graph.get(node, []):
            heapq.heappush(heap, (length + weight, other))
    return done["d"] ** 2


@program(np.array([1.0, 2.5, 0.7, 1.9]))
def all_shortest_paths(x):
    distance = np.full((4, 4), 10.0)
    distance[[0, 1, 2, 0], [1, 2, 3, 3]] = x
    for k in range(4):
        distance = np.minimum(distance, distance[:, k : k + 1] + distance[k : k + 1])
    return np.sum(np.where(distance < 9, distance, 0.0))


@program(np.array([1.0, 2.5, 0.7, 1.9]))
def minimum_spanning_tree(x):
    edges = sorted([(x[0], 0, 1), (x[1], 1, 2), (x[2], 0, 2), (x[3], 2, 3)])
    parent = list(range(4))

    def root(k):
        while parent[k] != k:
            parent[k] = parent[parent[k]]
            k = parent[k]
        return k

    total = 0.0
    for weight, a, b in edges:
        if root(a) != root(b):
            parent[root(a)] = root(b)
            total = total + weight**2
    return total


@program(np.array([0.2, 0.5, 0.3]))
def a_huffman_tree(x):
    heap = [(p, k, 0) for k, p in enumerate(x)]
    heapq.heapify(heap)
    total, count = 0.0, 3
    while len(heap) > 1:
        p, _, _ = heapq.heappop(heap)
        q, _, _ = heapq.heappop(heap)
        total = total + p + q
        heapq.heappush(heap, (p + q, count, 0))
        count += 1
    return total


@program(ROW)
def quicksort(x):
    def sort(values):
        if len(values) < 2:
            return values
        pivot, *rest = values
        return [
            *sort([v for v in rest if v < pivot]), pivot, *sort([v for v in rest if v >= pivot])
        ]  # fmt: skip

    return sum(10**k * v for k, v in enumerate(sort(list(x))))


@program(ROW)
def bubble_sort_in_place(x):
    y = x.copy()
    for i in range(3):
        for j in range(2 - i):
            if y[j] > y[j + 1]:
                y[j], y[j + 1] = y[j + 1], y[j]
    return y[0] + 10 * y[1] + 100 * y[2]


@program(ROW)
def a_trie_of_words(x):
    trie = {}
    for word, v in zip(["ab", "ac", "b"], x, strict=True):
        node = trie
        for letter in word:
            node = node.setdefault(letter, {})
        node["value"] = v
    return trie["a"]["c"]["value"] * trie["b"]["value"] + trie["a"]["b"]["value"]


@program(ROW)
def a_table_of_text(x):
    rows = textwrap.dedent("""
        first 0 2.0
        second 1 3.0
        third 2 5.0
    """).split("\n")
    total = 0.0
    for row in filter(None, map(str.strip, rows)):
        name, place, weight = row.split()
        total = total + x[int(place)] * float(weight) * len(name)
    return total


@program(ROW)
def a_formula_in_text(x):
    space = dict(zip("abc", x, strict=True))
    total = 0.0
    for term in "2*a*b - c + 3*a".replace("- ", "+ -").split("+"):
        term = term.strip()
        sign = -1.0 if term.startswith("-") else 1.0
        product = sign
        for factor in term.lstrip("-").split("*"):
            product = product * (space[factor] if factor in space else float(factor))
        total = total + product
    return total


@program(ROW, smooth=0)
def numbers_in_text(x):
    text = f"{x[0]:.3f},{x[1]:8.2e},{x[2]!r}"
    return np.sum(x) * len(text) + text.count(",") * x[0]


@program(ROW)
def other_ways_to_format(x):
    text = "%.2f %d %s" % (x[0], x[1], "a") + "{:.1f}|{:>6.2f}".format(x[1], x[2])
    return np.sum(x) * len(text) * (2 if text.startswith("0.70 1 a1.3") else 3)


@program(ROW)
def a_template_of_text(x):
    text = string.Template("$a and $b").substitute(a=round(float(x[0]), 1), b=int(x[1]))
    return np.sum(x) * (2 if text == "0.7 and 1" else 3)


@program(ROW, smooth=0)
def arrays_as_text(x):
    with np.printoptions(precision=2):
        return np.sum(x) * (2 if str(x) == "[0.7 1.3 0.4]" else 3) * len(np.array2string(x * 10))


@program(0.7, smooth=0)
def numbers_as_text(x):
    return x * (2 if str(x) == "0.7" and repr(x) == "0.7" and f"{x}" == "0.7" else 3)


@program(np.float64(0.7), smooth=0)
def scalars_as_text(x):
    return x * (2 if str(x) == "0.7" and repr(x) == "np.float64(0.7)" else 3)


@program(ROW)
def levenshtein_with_weights(x):
    insert, change, remove = x
    one, other = "kitten", "sitting"
    row = [insert * j for j in range(len(other) + 1)]
    for i, a in enumerate(one, 1):
        new = [remove * i]
        for j, b in enumerate(other, 1):
            new.append(
                min(row[j] + remove, new[-1] + insert, row[j - 1] + (0.0 if a == b else change))
            )
        row = new
    return row[-1]


@program(np.array([0.6, 0.3, 0.8]))
def a_parser_of_expressions(x):
    tokens = list("(a+b)*c-a*(b+c)")
    space = dict(zip("abc", x, strict=True))

    def expression():
        value = term()
        while tokens and tokens[0] in "+-":
            sign = tokens.pop(0)
            value = value + term() if sign == "+" else value - term()
        return value

    def term():
        value = factor()
        while tokens and tokens[0] == "*":
            tokens.pop(0)
            value = value * factor()
        return value

    def factor():
        token = tokens.pop(0)
        if token == "(":
            value = expression()
            tokens.pop(0)
            return value
        return space[token]

    return expression()
