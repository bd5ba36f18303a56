"""What is wrong today, and how much is refused.

A name of `WRONG` is not held to be right in these ways, and goes when it is. The numbers of
`REFUSED` may not rise.
"""

from __future__ import annotations

from collections.abc import Iterable


def _by_way(rows: Iterable[tuple[str, str]]) -> dict[str, frozenset[str]]:
    """From ways and names to the names of each way."""
    table: dict[str, set[str]] = {}
    for ways, names in rows:
        for way in ways.split():
            table.setdefault(way, set()).update(names.split())
    return {way: frozenset(names) for way, names in table.items()}


WRONG = _by_way(
    (
        (
            "grad jvp jit jit_grad vmap nested",
            """
            hashing.sum_of_a_set hashing.number_of_different_entries hashing.set_of_floats
            hashing.set_of_items hashing.set_of_a_list hashing.frozenset_of_an_array
            hashing.counter_of_entries hashing.most_common_entry hashing.looked_up_by_an_entry
            hashing.setdefault_by_an_entry hashing.grouped_by_entry hashing.unique_by_a_seen_set
            hashing.unique_in_order_by_fromkeys hashing.tuples_as_keys hashing.pairs_in_a_set
            hashing.frozen_pairs hashing.looked_up_by_argmin hashing.looked_up_by_argsort
            hashing.looked_up_by_searchsorted hashing.looked_up_by_digitize
            hashing.looked_up_by_a_comparison hashing.looked_up_by_floor hashing.looked_up_by_sign
            hashing.counter_of_truths hashing.hash_equals_the_number
            hashing.a_number_is_found_by_its_value hashing.a_float_finds_a_whole_number
            hashing.symmetric_difference_of_sets hashing.intersection_of_sets
            hashing.subset_of_a_set hashing.a_table_made_outside
            hashing.a_set_made_outside_keeps_numbers hashing.ordered_dictionary_moved_to_the_end
            hashing.minus_zero_and_zero_are_one_key hashing.a_tuple_of_the_list_as_a_key
            scalars.alias_of_a_zero_dimensional_array scalars.asarray_of_a_number_is_an_array
            scalars.isscalar_of_an_array_of_no_axes scalars.ellipsis_of_an_array_of_no_axes
            scalars.writing_into_a_scalar_raises scalars.where_of_scalars_is_an_array
            """,
        ),
        (
            "grad jvp jit jit_grad",
            """
            memoisation.last_key_and_value_left_behind memoisation.dictionary_of_floats
            memoisation.dictionary_of_tuples memoisation.cached_property_of_an_object_outside
            memoisation.lazily_made_matrix memoisation.a_flag_says_what_is_stale
            memoisation.decorator_that_memoises memoisation.memo_by_the_identity_of_an_object
            memoisation.memo_in_an_attribute_of_the_function
            memoisation.warm_start_of_an_iteration memoisation.a_weak_dictionary
            memoisation.previous_point_is_compared_by_allclose
            memoisation.factors_kept_for_the_gradient memoisation.the_first_value_is_kept
            memoisation.the_largest_value_so_far
            """,
        ),
        (
            "grad jvp jit jit_grad nested",
            """
            hashing.dispatch_table_of_functions memoisation.a_table_by_the_number_itself
            scalars.in_place_on_an_array_of_no_axes scalars.array_protocol_is_looked_for
            """,
        ),
        (
            "jit jit_grad",
            """
            hashing.a_counter_made_outside memoisation.scaling_of_the_first_call
            """,
        ),
        (
            "grad jvp",
            """
            memoisation.last_key_and_value
            """,
        ),
        (
            "vmap",
            """
            hashing.formatted_key
            """,
        ),
    )
)

REFUSED: dict[str, int] = {
    "grad": 3,
    "jvp": 3,
    "jit": 3,
    "jit_grad": 3,
    "vmap": 30,
    "nested": 3,
    "kept": 0,
    "anew": 0,
    "forward": 0,
    "jitted": 0,
}
