// The gradient of the log posterior of a Gaussian mixture with full covariances.
// Each factor Q has exp(q) on its diagonal and l below it, row by row.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace {

using Vector = std::vector<double>;

struct Mixture {
    int64_t d, k;
    Vector Q, by_Q;  // a factor after the other, each column by column

    Mixture(const double* icf, int64_t d, int64_t k) : d(d), k(k), Q(k * d * d), by_Q(k * d * d) {
        for (int64_t c = 0; c < k; ++c) {
            const double* own = icf + c * d * (d + 1) / 2;
            const double* below = own + d;
            for (int64_t i = 0; i < d; ++i) {
                for (int64_t j = 0; j < i; ++j) Q[(c * d + j) * d + i] = *below++;
                Q[(c * d + i) * d + i] = std::exp(own[i]);
            }
        }
    }

    // The product with the difference of a sample from a mean, and the square of its length.
    double forward(int64_t c, const double* x, const double* mean, double* difference,
                   double* __restrict product) const {
        for (int64_t i = 0; i < d; ++i) {
            difference[i] = x[i] - mean[i];
            product[i] = 0;
        }
        for (int64_t j = 0; j < d; ++j) {
            const double* column = &Q[(c * d + j) * d];
            const double times = difference[j];
            for (int64_t i = j; i < d; ++i) product[i] += column[i] * times;
        }
        double square = 0;
        for (int64_t i = 0; i < d; ++i) square += product[i] * product[i];
        return square;
    }

    // What a sample adds: the weight times its product, and by Q that times the difference.
    void backward(int64_t c, double weight, const double* difference, double* product,
                  double* __restrict pulled) {
        for (int64_t i = 0; i < d; ++i) {
            product[i] *= -weight;
            pulled[i] += product[i];
        }
        for (int64_t j = 0; j < d; ++j) {
            double* __restrict column = &by_Q[(c * d + j) * d];
            const double times = difference[j];
            for (int64_t i = j; i < d; ++i) column[i] += product[i] * times;
        }
    }
};

void softmax(double* values, int64_t k) {
    const double top = *std::max_element(values, values + k);
    double sum = 0;
    for (int64_t c = 0; c < k; ++c) sum += values[c] = std::exp(values[c] - top);
    for (int64_t c = 0; c < k; ++c) values[c] /= sum;
}

}  // namespace

extern "C" void mixture(const double* alphas, const double* means, const double* icf,
                        const double* x, int64_t n, int64_t d, int64_t k, double* by_alphas,
                        double* by_means, double* by_icf) {
    Mixture own(icf, d, k);
    const int64_t packed = d * (d + 1) / 2;
    Vector traces(k, 0.0), weights(alphas, alphas + k), totals(k, 0.0);
    Vector differences(k * d), products(k * d), pulled(k * d, 0.0);
    softmax(weights.data(), k);
    for (int64_t c = 0; c < k; ++c) {
        by_alphas[c] = -double(n) * weights[c];
        for (int64_t i = 0; i < d; ++i) traces[c] += icf[c * packed + i];
    }
    for (int64_t s = 0; s < n; ++s) {
        for (int64_t c = 0; c < k; ++c) {
            const double square =
                own.forward(c, x + s * d, means + c * d, &differences[c * d], &products[c * d]);
            weights[c] = alphas[c] + traces[c] - 0.5 * square;
        }
        softmax(weights.data(), k);
        for (int64_t c = 0; c < k; ++c) {
            totals[c] += weights[c];
            own.backward(c, weights[c], &differences[c * d], &products[c * d], &pulled[c * d]);
        }
    }
    for (int64_t c = 0; c < k; ++c) {
        by_alphas[c] += totals[c];
        double* diagonal = by_icf + c * packed;
        double* below = diagonal + d;
        for (int64_t i = 0; i < d; ++i) {
            for (int64_t j = 0; j < i; ++j) {
                const int64_t at = (c * d + j) * d + i;
                *below++ = own.by_Q[at] - own.Q[at];
            }
            const int64_t at = (c * d + i) * d + i;
            diagonal[i] = (own.by_Q[at] - own.Q[at]) * own.Q[at] + totals[c];
        }
        for (int64_t j = 0; j < d; ++j) {
            double sum = 0;
            for (int64_t i = j; i < d; ++i) sum += own.Q[(c * d + j) * d + i] * pulled[c * d + i];
            by_means[c * d + j] = -sum;
        }
    }
}
