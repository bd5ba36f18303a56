// Runge-Kutta steps of y_0' = x_0, y_i' = x_i y_{i-1}: the sum of y at the end, and its gradient.
#include <cstdint>
#include <vector>

static void rate(const double* x, const double* y, double* __restrict k, int64_t n) {
    k[0] = x[0];
    for (int64_t i = 1; i < n; ++i) k[i] = x[i] * y[i - 1];
}

// One step from y; the four states at which the rate is taken are kept in `at`, n numbers each.
static void step(const double* x, const double* y, double* __restrict next, double* __restrict at,
                 double* __restrict k, int64_t n, double h) {
    const double shares[4] = {h / 6, h / 3, h / 3, h / 6}, ahead[3] = {h / 2, h / 2, h};
    for (int64_t i = 0; i < n; ++i) next[i] = at[i] = y[i];
    for (int stage = 0; stage < 4; ++stage) {
        rate(x, at + stage * n, k, n);
        for (int64_t i = 0; i < n; ++i) next[i] += shares[stage] * k[i];
        if (stage == 3) break;
        double* __restrict following = at + (stage + 1) * n;
        for (int64_t i = 0; i < n; ++i) following[i] = y[i] + ahead[stage] * k[i];
    }
}

extern "C" void rk4(const double* x, int64_t n, int64_t steps, double* __restrict value) {
    std::vector<double> y(n), next(n), at(4 * n), k(n);
    for (int64_t count = 0; count < steps; ++count) {
        step(x, y.data(), next.data(), at.data(), k.data(), n, 2.0 / double(steps));
        y.swap(next);
    }
    double total = 0;
    for (double each : y) total += each;
    *value = total;
}

extern "C" void rk4_gradient(const double* x, int64_t n, int64_t steps,
                             double* __restrict gradient) {
    const double h = 2.0 / double(steps);
    const double shares[4] = {h / 6, h / 3, h / 3, h / 6}, ahead[3] = {h / 2, h / 2, h};
    std::vector<double> y(n), next(n), tape(4 * n * steps), k(n), bar(n, 1.0), before(n), slope(n);
    for (int64_t count = 0; count < steps; ++count) {
        step(x, y.data(), next.data(), &tape[4 * n * count], k.data(), n, h);
        y.swap(next);
    }
    for (int64_t i = 0; i < n; ++i) gradient[i] = 0;
    for (int64_t count = steps - 1; count >= 0; --count) {
        const double* at = &tape[4 * n * count];
        before = bar;
        std::vector<double>& moved = k;  // the cotangent of the state of the stage after
        for (int stage = 3; stage >= 0; --stage) {
            for (int64_t i = 0; i < n; ++i) {
                slope[i] = shares[stage] * bar[i] + (stage < 3 ? ahead[stage] * moved[i] : 0.0);
            }
            const double* state = at + stage * n;
            gradient[0] += slope[0];
            for (int64_t i = 1; i < n; ++i) gradient[i] += slope[i] * state[i - 1];
            for (int64_t i = 0; i + 1 < n; ++i) moved[i] = slope[i + 1] * x[i + 1];
            moved[n - 1] = 0;
            for (int64_t i = 0; i < n; ++i) before[i] += moved[i];
        }
        bar.swap(before);
    }
}
