// A determinant by expansion along rows, without a memory of the minors.
#include <cstdint>

static double minor(const double* a, int64_t n, int64_t row, const int64_t* columns) {
    if (row == n - 1) return a[row * n + columns[0]];
    const int64_t count = n - row;
    int64_t rest[64];
    for (int64_t k = 1; k < count; ++k) rest[k - 1] = columns[k];
    double total = 0, sign = 1;
    for (int64_t k = 0; k < count; ++k) {
        total += sign * a[row * n + columns[k]] * minor(a, n, row + 1, rest);
        sign = -sign;
        rest[k] = columns[k];  // the next one is left out instead
    }
    return total;
}

extern "C" void minors(const double* a, int64_t n, double* __restrict value) {
    int64_t columns[64];
    for (int64_t k = 0; k < n; ++k) columns[k] = k;
    *value = minor(a, n, 0, columns);
}
