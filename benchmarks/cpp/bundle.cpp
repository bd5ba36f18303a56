// Jacobians of reprojection errors by camera (11), point (3) and weight (1), one at a time.
#include <cmath>
#include <cstdint>

namespace {

// The rotated point p, its derivative R by the point, and by the rotation vector r.
void rotate(const double* r, const double* x, double* p, double R[3][3], double by_r[3][3]) {
    const double square = r[0] * r[0] + r[1] * r[1] + r[2] * r[2];
    const double angle = std::sqrt(square);
    const double c = std::cos(angle);
    const double a = std::sin(angle) / angle;
    const double b = (1 - c) / square;
    const double slope_a = (c - a) / square, slope_b = (a - 2 * b) / square;
    const double cross[3] = {r[1] * x[2] - r[2] * x[1], r[2] * x[0] - r[0] * x[2],
                             r[0] * x[1] - r[1] * x[0]};
    const double dot = r[0] * x[0] + r[1] * x[1] + r[2] * x[2];
    const double skew[3][3] = {{0, -r[2], r[1]}, {r[2], 0, -r[0]}, {-r[1], r[0], 0}};
    // Column j is e_j cross x.
    const double turned[3][3] = {{0, x[2], -x[1]}, {-x[2], 0, x[0]}, {x[1], -x[0], 0}};
    for (int i = 0; i < 3; ++i) {
        p[i] = c * x[i] + a * cross[i] + b * dot * r[i];
        const double along = -a * x[i] + slope_a * cross[i] + slope_b * dot * r[i];
        for (int j = 0; j < 3; ++j) {
            R[i][j] = a * skew[i][j] + b * r[i] * r[j] + (i == j ? c : 0);
            by_r[i][j] =
                along * r[j] + a * turned[i][j] + b * r[i] * x[j] + (i == j ? b * dot : 0);
        }
    }
}

void one(const double* camera, const double* point, double weight, const double* feature,
         double* by_camera, double* by_point, double* by_weight) {
    const double shifted[3] = {point[0] - camera[3], point[1] - camera[4], point[2] - camera[5]};
    double p[3], R[3][3], by_r[3][3];
    rotate(camera, shifted, p, R, by_r);
    const double depth = 1 / p[2];
    const double x[2] = {p[0] * depth, p[1] * depth};
    const double square = x[0] * x[0] + x[1] * x[1];
    const double focal = camera[6], first = camera[9], second = camera[10];
    const double stretch = 1 + square * (first + square * second);
    const double slope = 2 * (first + 2 * second * square);
    for (int i = 0; i < 2; ++i) {
        double by_x[2], M[3];
        for (int j = 0; j < 2; ++j)
            by_x[j] = weight * focal * (slope * x[i] * x[j] + (i == j ? stretch : 0));
        M[0] = by_x[0] * depth;
        M[1] = by_x[1] * depth;
        M[2] = -(by_x[0] * x[0] + by_x[1] * x[1]) * depth;
        double* row = by_camera + 11 * i;
        for (int j = 0; j < 3; ++j) {
            row[j] = M[0] * by_r[0][j] + M[1] * by_r[1][j] + M[2] * by_r[2][j];
            const double moved = M[0] * R[0][j] + M[1] * R[1][j] + M[2] * R[2][j];
            row[3 + j] = -moved;
            by_point[3 * i + j] = moved;
        }
        row[6] = weight * stretch * x[i];
        row[7] = i == 0 ? weight : 0;
        row[8] = i == 1 ? weight : 0;
        row[9] = weight * focal * x[i] * square;
        row[10] = row[9] * square;
        by_weight[i] = focal * stretch * x[i] + camera[7 + i] - feature[i];
    }
}

}  // namespace

extern "C" void bundle(const double* cameras, const double* points, const int64_t* camera_of,
                       const int64_t* point_of, const double* weights, const double* features,
                       int64_t n, double* by_camera, double* by_point, double* by_weight) {
    for (int64_t i = 0; i < n; ++i)
        one(cameras + 11 * camera_of[i], points + 3 * point_of[i], weights[i], features + 2 * i,
            by_camera + 22 * i, by_point + 6 * i, by_weight + 2 * i);
}
