// The gradient of the k-means objective by the centroids, over the diagonal of its Hessian.
#include <cstdint>
#include <limits>
#include <vector>

namespace {
constexpr int64_t D = 8;
}

extern "C" void kmeans(const double* centroids, const double* points, int64_t k, int64_t n,
                       double* __restrict direction) {
    std::vector<double> counts(k, 0.0), sums(k * D, 0.0);
    for (int64_t i = 0; i < n; ++i) {
        const double* point = points + i * D;
        double least = std::numeric_limits<double>::infinity();
        int64_t nearest = 0;
        for (int64_t j = 0; j < k; ++j) {
            double distance = 0;
            for (int64_t a = 0; a < D; ++a) {
                const double difference = point[a] - centroids[j * D + a];
                distance += difference * difference;
            }
            if (distance < least) {
                least = distance;
                nearest = j;
            }
        }
        counts[nearest] += 1;
        for (int64_t a = 0; a < D; ++a) sums[nearest * D + a] += point[a];
    }
    for (int64_t j = 0; j < k; ++j)
        for (int64_t a = 0; a < D; ++a) {
            const double gradient = 2 * (counts[j] * centroids[j * D + a] - sums[j * D + a]);
            direction[j * D + a] = gradient / (2 * counts[j]);
        }
}
