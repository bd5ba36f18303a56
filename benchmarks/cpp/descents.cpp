// Nested minimisations by hand: derivatives by formulas, carried along as tangents.
#include <cmath>
#include <cstdint>

// Gradient descent that doubles its step after ten successes and halves it at a failure.
// f(x, value, slope) for scalars.
template <class F>
static double descend(F f, double x) {
    double fx, gx;
    f(x, fx, gx);
    double eta = 1e-5;
    int count = 0;
    for (;;) {
        if (std::fabs(gx) <= 1e-5 || eta * std::fabs(gx) <= 1e-5) return x;
        const double next = x - eta * gx;
        double fn, gn;
        f(next, fn, gn);
        if (fn < fx) {
            x = next;
            fx = fn;
            gx = gn;
            if (++count == 10) eta *= 2, count = 0;
        } else {
            eta /= 2;
            count = 0;
        }
    }
}

// A particle between two charges, one of them at (10, 10 - w), falls from (0, 8) with Euler steps;
// the square of the place where it crosses the axis, and its derivative by w.
static void crossing(double w, double& value, double& slope) {
    const double h = 1e-1;
    double x = 0, y = 8, u = 0.75, v = 0;        // place and velocity
    double dx = 0, dy = 0, du = 0, dv = 0;       // their derivatives by w
    for (;;) {
        const double ax = x - 10, ay = y - 10 + w, bx = x - 10, by = y;
        const double day = dy + 1;
        const double a2 = ax * ax + ay * ay, b2 = bx * bx + by * by;
        const double a3 = 1 / (a2 * std::sqrt(a2)), b3 = 1 / (b2 * std::sqrt(b2));
        const double da = -3 * a3 * (ax * dx + ay * day) / a2;
        const double db = -3 * b3 * (bx * dx + by * dy) / b2;
        const double fx = ax * a3 + bx * b3, fy = ay * a3 + by * b3;  // minus the potential's slope
        const double dfx = dx * a3 + ax * da + dx * b3 + bx * db;
        const double dfy = day * a3 + ay * da + dy * b3 + by * db;
        const double nx = x + h * u, ny = y + h * v, dnx = dx + h * du, dny = dy + h * dv;
        if (!(ny > 0)) {
            const double t = -y / v, dt = -dy / v + y * dv / (v * v);
            const double place = x + t * u, moved = dx + dt * u + t * du;
            value = place * place;
            slope = 2 * place * moved;
            return;
        }
        x = nx, y = ny, dx = dnx, dy = dny;
        u += h * fx, v += h * fy, du += h * dfx, dv += h * dfy;
    }
}

extern "C" void particle(const double* start, double* __restrict best) {
    *best = descend(crossing, *start);
}

// min over p of max over q of |p|^2 - |q|^2, all by the same descent. The inner one is differentiated
// statement by statement: its place carries its derivatives by both coordinates of p.
struct Pair {
    double x, y;
};

static double size(Pair p) { return std::sqrt(p.x * p.x + p.y * p.y); }

template <class F>
static Pair descend_pair(F f, Pair p) {
    double fp;
    Pair g;
    f(p, fp, g);
    double eta = 1e-5;
    int count = 0;
    for (;;) {
        if (size(g) <= 1e-5 || eta * size(g) <= 1e-5) return p;
        const Pair next{p.x - eta * g.x, p.y - eta * g.y};
        double fn;
        Pair gn;
        f(next, fn, gn);
        if (fn < fp) {
            p = next;
            fp = fn;
            g = gn;
            if (++count == 10) eta *= 2, count = 0;
        } else {
            eta /= 2;
            count = 0;
        }
    }
}

struct Place {
    Pair q, by_x, by_y;
};

static Place inner(Pair p, Pair start) {
    Place at{start, {0, 0}, {0, 0}};
    const double height = p.x * p.x + p.y * p.y;
    double value = at.q.x * at.q.x + at.q.y * at.q.y - height;
    Place g{{2 * at.q.x, 2 * at.q.y}, {0, 0}, {0, 0}};
    double eta = 1e-5;
    int count = 0;
    for (;;) {
        if (size(g.q) <= 1e-5 || eta * size(g.q) <= 1e-5) return at;
        const Place next{{at.q.x - eta * g.q.x, at.q.y - eta * g.q.y},
                         {at.by_x.x - eta * g.by_x.x, at.by_x.y - eta * g.by_x.y},
                         {at.by_y.x - eta * g.by_y.x, at.by_y.y - eta * g.by_y.y}};
        const double lower = next.q.x * next.q.x + next.q.y * next.q.y - height;
        if (lower < value) {
            at = next;
            value = lower;
            g = {{2 * at.q.x, 2 * at.q.y}, {2 * at.by_x.x, 2 * at.by_x.y},
                 {2 * at.by_y.x, 2 * at.by_y.y}};
            if (++count == 10) eta *= 2, count = 0;
        } else {
            eta /= 2;
            count = 0;
        }
    }
}

extern "C" void saddle(const double* start, double* __restrict place) {
    const Pair first{start[0], start[1]};
    const auto outer = [&](Pair p, double& value, Pair& slope) {
        const Place at = inner(p, first);
        const Pair q = at.q;
        value = p.x * p.x + p.y * p.y - q.x * q.x - q.y * q.y;
        slope = {2 * p.x - 2 * (q.x * at.by_x.x + q.y * at.by_x.y),
                 2 * p.y - 2 * (q.x * at.by_y.x + q.y * at.by_y.y)};
    };
    const Pair best = descend_pair(outer, first);
    const Pair other = inner(best, first).q;
    place[0] = best.x, place[1] = best.y, place[2] = other.x, place[3] = other.y;
}
