// The gradient of log(sum(exp(x))), shifted by the maximum.
#include <cmath>
#include <cstdint>

extern "C" void logsumexp(const double* x, int64_t n, double* __restrict gradient) {
    double top = x[0];
    for (int64_t i = 1; i < n; ++i) top = x[i] > top ? x[i] : top;
    double sum = 0;
    for (int64_t i = 0; i < n; ++i) {
        gradient[i] = std::exp(x[i] - top);
        sum += gradient[i];
    }
    const double scale = 1 / sum;
    for (int64_t i = 0; i < n; ++i) gradient[i] *= scale;
}
