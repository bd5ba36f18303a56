// The gradient of half the sum of squares of a polynomial's misses, by its coefficients.
#include <cstdint>

extern "C" void polynomial(const double* coefficients, const double* t, const double* y,
                           int64_t count, int64_t n, double* __restrict gradient) {
    for (int64_t k = 0; k < count; ++k) gradient[k] = 0;
    for (int64_t i = 0; i < n; ++i) {
        double value = 0;
        for (int64_t k = count - 1; k >= 0; --k) value = value * t[i] + coefficients[k];
        double power = value - y[i];  // the miss times t^k
        for (int64_t k = 0; k < count; ++k) {
            gradient[k] += power;
            power *= t[i];
        }
    }
}
