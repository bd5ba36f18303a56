"""What is wrong today, and how much is refused.

A name of `WRONG` is not held to be right in these ways, and goes when it is, as does a seed of
`WRONG_SEEDS` of the random programs over state. What is refused is named in `REFUSED`.
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
            "grad",
            """
            models.hidden_markov_class
            """,
        ),
        (
            "grad jvp jit",
            """
            checks.caught_factor_of_a_complex_kind
            """,
        ),
        (
            "grad jvp jit jit_grad",
            """
            memoisation.a_weak_dictionary memoisation.the_largest_value_so_far
            outliving.a_queue_of_values writing.constant_shuffle writing.traced_shuffle
            """,
        ),
        (
            "grad jvp jit jit_grad nested",
            """
            scalars.alias_of_a_zero_dimensional_array scalars.in_place_on_an_array_of_no_axes
            """,
        ),
        (
            "grad jvp jit jit_grad vmap nested",
            """
            identities.a_class_with_ufunc_none_compares identities.a_unit_adds_from_both_sides
            identities.class_pattern numbers.decimal_of_a_float numbers.fraction_of_a_float
            refusals.an_array_as_text writing.constant_bytes_long writing.constant_fill_by_map
            writing.constant_fill_unbound_long writing.constant_random_fill_long
            writing.traced_fill_by_map writing.traced_random_fill
            """,
        ),
        (
            "grad jvp jit_grad",
            """
            memoisation.last_key_and_value
            """,
        ),
        (
            "grad jvp jit_grad vmap nested",
            """
            refusals.a_buffer_of_bytes
            """,
        ),
        (
            "jit",
            """
            checks.factor_of_a_complex_kind errors_of_arithmetic.errstate_as_a_decorator
            errors_of_arithmetic.largest_of_nothing_but_nan_warns
            errors_of_arithmetic.nanmean_of_nothing_warns
            errors_of_arithmetic.overflow_that_warns numbers.overflow_of_a_product_is_infinity
            primitives.that_warns
            """,
        ),
        (
            "jit jit_grad",
            """
            errors_of_arithmetic.an_ill_conditioned_fit_warns
            errors_of_arithmetic.discarding_the_imaginary_part_warns
            errors_of_arithmetic.mean_of_nothing_is_nan
            errors_of_arithmetic.variance_with_too_few_degrees_warns
            numbers.negative_scalar_to_a_fraction_is_nan
            """,
        ),
        (
            "jit vmap",
            """
            errors_of_arithmetic.a_handler_is_called
            """,
        ),
        (
            "jit_grad",
            """
            memoisation.decorator_that_memoises memoisation.dictionary_of_floats
            science.bisection_to_the_last_bit
            """,
        ),
        (
            "jit_grad vmap",
            """
            identities.a_subclass_that_overrides_multiplication
            """,
        ),
        (
            "jitted",
            """
            closures.partial_with_other_keywords
            """,
        ),
        (
            "jvp jit nested",
            """
            numbers.attribute_of_a_float_raises numbers.membership_in_a_float_raises
            """,
        ),
        (
            "kept anew forward jitted",
            """
            arguments.strides cells.a_cache_that_is_cleared hidden.an_object_behind_a_module
            hidden.order_by_max names.a_module_made_by_hand
            """,
        ),
        (
            "kept jitted",
            """
            repeated.a_workspace
            """,
        ),
        (
            "vmap",
            """
            checks.caught_average_with_weights_that_cancel classes.vectors_formatted
            containers.numbers_in_text containers.scalars_as_text
            errors_of_arithmetic.division_that_raises_is_caught
            errors_of_arithmetic.scalar_division_raises_is_caught hashing.formatted_key
            numbers.fmod_by_zero_raises numbers.logarithm_of_zero_raises
            numbers.negative_to_a_fraction_is_complex scalars.isscalar_of_an_array_of_no_axes
            """,
        ),
    )
)

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
            "grad jit_grad",
            """
            numbers.attribute_of_a_float_raises numbers.membership_in_a_float_raises
            """,
        ),
        (
            "grad jvp",
            """
            memoisation.decorator_that_memoises memoisation.dictionary_of_floats
            """,
        ),
        (
            "grad jvp jit jit_grad nested",
            """
            entries.fortran_order_is_kept identities.a_class_with_priority_adds_from_the_right
            identities.a_class_with_the_function_protocol_beside_the_point
            identities.a_subclass_that_counts identities.a_subclass_with_a_tag
            identities.a_unit_made_outside identities.a_view_as_a_subclass
            identities.may_share_memory identities.shared_memory numbers.fraction_times_a_scalar
            numbers.negative_to_a_fraction_is_complex numbers.numbers_of_three_kinds
            refusals.a_pointer_to_the_data refusals.a_view_as_whole_numbers
            refusals.an_object_array refusals.saved_to_a_stream views.ravel_of_columns
            views.windows_are_views writing.constant_byteswapped_twice
            writing.constant_float_flags_long writing.traced_byteswapped_twice
            writing.traced_nditer
            """,
        ),
        (
            "grad jvp jit nested",
            """
            identities.a_subclass_that_overrides_multiplication
            more_checks.caught_lu_of_a_vector
            """,
        ),
        (
            "grad jvp jit_grad",
            """
            hashing.a_set_made_outside_keeps_numbers memoisation.dictionary_of_bytes
            memoisation.dictionary_of_tuples memoisation.last_key_and_value_left_behind
            memoisation.warm_start_of_an_iteration outliving.a_list_of_an_outer_object_sorted
            outliving.the_best_point_so_far
            """,
        ),
        (
            "grad jvp jit_grad nested",
            """
            numbers.frexp_and_ldexp refusals.a_list_of_implementations
            refusals.a_structured_array refusals.an_array_pickled refusals.density_suppressed
            refusals.density_with_a_bare_except refusals.density_with_a_fallback
            refusals.packing_bytes refusals.refused_in_a_generator refusals.refused_in_a_loop
            refusals.refused_in_finally
            """,
        ),
        (
            "grad jvp nested",
            """
            more_checks.caught_cosine_transform_of_no_type
            more_checks.caught_distances_of_other_lengths
            more_checks.caught_filtering_with_an_empty_kernel
            more_checks.caught_gaussian_filter_of_an_unknown_mode
            science.bisection_to_the_last_bit
            """,
        ),
        (
            "jitted",
            """
            arguments.in_place_on_read_only_arguments classes.isinstance_and_a_registered_class
            kinds.an_object_of_a_class kinds.an_object_that_changes
            kinds.an_object_that_equals_another
            """,
        ),
        (
            "kept anew forward jitted",
            """
            arguments.layouts arrays.memory_shared_or_not arrays.writeable_or_not
            hidden.an_index settings.errstate_that_is_caught surroundings.print_options
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

# fmt: off
WRONG_SEEDS: frozenset[int] = frozenset({
    3, 11, 31, 41,
})
# fmt: on
