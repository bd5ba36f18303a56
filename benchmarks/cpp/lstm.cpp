// The loss of a network of two long short-term memories with diagonal weights, character by
// character. main: [layers][2][4][n], weights then biases of the gates; extra: [3][n].
#include <cmath>
#include <cstdint>
#include <vector>

static double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

extern "C" void lstm(const double* main, const double* extra, const double* characters,
                     int64_t count, int64_t layers, int64_t n, double* __restrict value) {
    std::vector<double> hidden(layers * n, 0.0), cell(layers * n, 0.0), x(n);
    double total = 0;
    for (int64_t t = 0; t + 1 < count; ++t) {
        const double* now = characters + t * n;
        const double* following = now + n;
        for (int64_t i = 0; i < n; ++i) x[i] = now[i] * extra[i];
        for (int64_t layer = 0; layer < layers; ++layer) {
            const double* weight = main + layer * 8 * n;
            const double* bias = weight + 4 * n;
            double* h = &hidden[layer * n];
            double* c = &cell[layer * n];
            for (int64_t i = 0; i < n; ++i) {
                const double forget = sigmoid(x[i] * weight[i] + bias[i]);
                const double in = sigmoid(h[i] * weight[n + i] + bias[n + i]);
                const double out = sigmoid(x[i] * weight[2 * n + i] + bias[2 * n + i]);
                const double change = std::tanh(h[i] * weight[3 * n + i] + bias[3 * n + i]);
                c[i] = c[i] * forget + in * change;
                h[i] = out * std::tanh(c[i]);
                x[i] = h[i];
            }
        }
        double sum = 2, dot = 0, ones = 0;
        for (int64_t i = 0; i < n; ++i) {
            const double predicted = x[i] * extra[n + i] + extra[2 * n + i];
            sum += std::exp(predicted);
            dot += following[i] * predicted;
            ones += following[i];
        }
        total += dot - ones * std::log(sum);
    }
    *value = -total / double(n * (count - 1));
}
