// Three chains of ten elementwise operations, and the gradients of their sums.
#include <algorithm>
#include <cmath>
#include <cstdint>

extern "C" void products(const double* x, int64_t n, double* __restrict out) {
    for (int64_t i = 0; i < n; ++i) {
        const double y = (x[i] * x[i] + 1.5) * 0.5 + x[i];
        out[i] = ((y * x[i] - 0.75) * 0.25 + x[i]) * x[i] + 1.0;
    }
}

extern "C" void products_gradient(const double* x, int64_t n, double* __restrict out) {
    for (int64_t i = 0; i < n; ++i)
        out[i] = ((0.5 * x[i] + 0.75) * x[i] + 2.375) * x[i] - 0.1875;
}

extern "C" void arithmetic(const double* x, int64_t n, double* __restrict out) {
    for (int64_t i = 0; i < n; ++i) {
        const double root = std::sqrt(x[i] * x[i] + 1.5);
        const double y = x[i] / root * 0.5 + x[i];
        out[i] = (y * y - x[i]) * 0.25 + 1.0;
    }
}

extern "C" void arithmetic_gradient(const double* x, int64_t n, double* __restrict out) {
    for (int64_t i = 0; i < n; ++i) {
        const double square = x[i] * x[i] + 1.5;
        const double inverse = 1 / std::sqrt(square);
        const double quotient = x[i] * inverse;
        const double y = quotient * 0.5 + x[i];
        const double slope = 0.5 * inverse * (1 - quotient * quotient) + 1;
        out[i] = 0.25 * (2 * y * slope - 1);
    }
}

extern "C" void transcendental(const double* x, int64_t n, double* __restrict out) {
    for (int64_t i = 0; i < n; ++i) {
        const double y = std::sin(x[i]) * x[i] + 1.5;
        out[i] = (std::exp(-0.5 * (y * y)) + y) * 0.25 - x[i];
    }
}

static void gradient_block(const double* x, int64_t start, int64_t end, const double* sines,
                           double* __restrict out) {
    for (int64_t i = start; i < end; ++i) {
        const double sine = sines[i - start];
        const double y = sine * x[i] + 1.5;
        const double slope = std::cos(x[i]) * x[i] + sine;
        out[i] = 0.25 * slope * (1 - y * std::exp(-0.5 * (y * y))) - 1;
    }
}

extern "C" void transcendental_gradient(const double* x, int64_t n, double* __restrict out) {
    // In blocks: sin and cos of one number in one loop become sincos, which is not vectorised.
    constexpr int64_t SIZE = 256;
    double sines[SIZE];
    for (int64_t start = 0; start < n; start += SIZE) {
        const int64_t end = std::min(n, start + SIZE);
        for (int64_t i = start; i < end; ++i) sines[i - start] = std::sin(x[i]);
        gradient_block(x, start, end, sines, out);
    }
}
