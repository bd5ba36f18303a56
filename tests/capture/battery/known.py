"""What is wrong today, and how much is refused.

A name of `WRONG` is not held to be right in these ways, and goes when it is, as does a seed of
`WRONG_SEEDS` of the random programs over state. What is refused is named in `REFUSED`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable


def _by_way(rows: Iterable[tuple[str, str]]) -> dict[str, frozenset[str]]:
    """From ways and names to the names of each way."""
    table: dict[str, set[str]] = {}
    for ways, names in rows:
        for way in ways.split():
            table.setdefault(way, set()).update(names.split())
    return {way: frozenset(names) for way, names in table.items()}


# From Python 3.15 on, "%f" of what is no number says so itself, in place of our sentence.
WRONG = _by_way((("vmap", "outliving.a_log_record"),) if sys.version_info >= (3, 15) else ())

# What is refused in ways other than vmap, where each question is.
REFUSED = _by_way(
    (
        (
            "grad",
            """
            more_checks.cosine_transform_of_no_type more_checks.distances_of_other_lengths
            more_checks.filtering_with_an_empty_kernel
            more_checks.gaussian_filter_of_an_unknown_mode
            """,
        ),
        (
            "grad jit",
            """
            checks.in_place_into_whole_numbers more_checks.lu_of_a_vector
            """,
        ),
        (
            "grad jvp jit jit_grad nested",
            """
            entries.fortran_order_is_kept
            identities.a_class_with_the_function_protocol_beside_the_point
            identities.a_subclass_that_counts identities.a_subclass_with_a_tag
            identities.a_view_as_a_subclass identities.may_share_memory identities.shared_memory
            numbers.decimal_of_a_float numbers.fraction_of_a_float numbers.fraction_times_a_scalar
            numbers.negative_to_a_fraction_is_complex numbers.numbers_of_three_kinds
            refusals.a_pointer_to_the_data refusals.a_view_as_whole_numbers
            refusals.an_array_as_text refusals.an_object_array refusals.saved_to_a_stream
            refusals.the_next_of_flat
            views.ravel_of_columns views.windows_are_views writing.constant_byteswapped_twice
            writing.constant_float_flags_long writing.traced_byteswapped_twice
            writing.traced_nditer
            """,
        ),
        (
            "grad jvp jit nested",
            """
            more_checks.caught_lu_of_a_vector
            """,
        ),
        (
            "grad jvp jit_grad",
            """
            memoisation.decorator_that_memoises memoisation.dictionary_of_bytes
            memoisation.dictionary_of_floats memoisation.dictionary_of_tuples
            memoisation.last_key_and_value memoisation.last_key_and_value_in_buffers
            memoisation.last_key_and_value_left_behind
            memoisation.rows_of_a_table_found_by_the_point
            """,
        ),
        (
            "grad jvp jit_grad nested",
            """
            numbers.as_integer_ratio numbers.frexp_and_ldexp refusals.a_buffer_of_bytes
            refusals.a_list_of_implementations
            refusals.a_structured_array refusals.an_array_pickled refusals.density_suppressed
            refusals.density_with_a_bare_except refusals.density_with_a_fallback
            refusals.packing_bytes refusals.refused_in_a_generator refusals.refused_in_a_loop
            refusals.refused_in_finally science.bisection_to_the_last_bit
            """,
        ),
        (
            "grad jvp nested",
            """
            more_checks.caught_cosine_transform_of_no_type
            more_checks.caught_distances_of_other_lengths
            more_checks.caught_filtering_with_an_empty_kernel
            more_checks.caught_gaussian_filter_of_an_unknown_mode
            """,
        ),
        (
            "jitted",
            """
            arguments.in_place_on_read_only_arguments arrays.memory_shared_or_not
            checks.integers_beyond_a_program checks.powers_and_shifts_of_integers
            classes.isinstance_and_a_registered_class kinds.an_object_of_a_class
            kinds.an_object_that_changes kinds.an_object_that_equals_another
            """,
        ),
        (
            "kept anew forward jitted",
            """
            arguments.layouts arrays.writeable_or_not
            caches.a_cached_helper_of_traced_numbers_whose_object_changes
            caches.a_cached_method_of_what_is_differentiated hidden.an_index
            settings.errstate_that_is_caught surroundings.print_options
            """,
        ),
        (
            "kept jitted",
            """
            repeated.errstate_comes_late
            """,
        ),
    )
)

WRONG_SEEDS: frozenset[int] = frozenset()
