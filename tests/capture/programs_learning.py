"""Programs of statistics, econometrics, finance and machine learning."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import gammaln, logsumexp, ndtr, xlogy

from tests.capture.programs import example

RNG = np.random.default_rng(7)
X = RNG.normal(size=(12, 3))
Y = (X @ np.array([1.0, -2.0, 0.5]) > 0).astype(int)
TARGETS = X @ np.array([0.5, 1.0, -1.0]) + 0.1 * RNG.normal(size=12)
NORMALS = RNG.normal(size=(50, 4))


@example(np.array([0.1, -0.2, 0.3]), 0.05)
def logistic_regression(w, b):
    z = X @ w + b
    p = 1 / (1 + np.exp(-z))
    return -np.mean(Y * np.log(p) + (1 - Y) * np.log(1 - p))


@example(RNG.normal(size=(3, 4)))
def softmax_regression(W):
    labels = np.arange(12) % 4
    logits = X @ W
    logits -= logits.max(axis=1, keepdims=True)
    probabilities = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    return -np.log(probabilities[np.arange(len(labels)), labels]).mean()


@example(
    np.log(np.array([0.3, 0.7])),
    np.array([[-1.0, 0.0, 1.0], [1.0, 0.5, -1.0]]),
    np.array([0.1, -0.2]),
)
def gaussian_mixture(log_weights, means, log_sigmas):
    total = 0.0
    for x in X:
        components = []
        for k in range(len(means)):
            d = (x - means[k]) / np.exp(log_sigmas[k])
            components.append(log_weights[k] - 0.5 * d @ d - 3 * log_sigmas[k])
        top = max(components)
        total += top + math.log(sum(math.exp(c - top) for c in components))
    return total / len(X)


def log_sum_exp(a, axis=None):
    m = np.max(a, axis=axis, keepdims=True)
    return np.squeeze(m, axis=axis) + np.log(np.sum(np.exp(a - m), axis=axis))


@example(
    np.log(np.array([[0.7, 0.3], [0.4, 0.6]])), np.log(np.array([[0.5, 0.4, 0.1], [0.1, 0.3, 0.6]]))
)
def hidden_markov_forward(log_A, log_B):
    observations = [0, 1, 2, 1, 0]
    alpha = np.log(0.5) + log_B[:, observations[0]]
    for o in observations[1:]:
        alpha = log_sum_exp(alpha[:, np.newaxis] + log_A, axis=0) + log_B[:, o]
    return log_sum_exp(alpha)


@example(
    np.log(np.array([[0.7, 0.3], [0.4, 0.6]])), np.log(np.array([[0.5, 0.4, 0.1], [0.1, 0.3, 0.6]]))
)
def viterbi(log_A, log_B):
    observations = [0, 2, 1, 2]
    n, T = 2, len(observations)
    score = np.zeros((T, n))
    back = np.zeros((T, n), dtype=int)
    score[0] = log_B[:, observations[0]]
    for t in range(1, T):
        for j in range(n):
            candidates = score[t - 1] + log_A[:, j]
            back[t, j] = np.argmax(candidates)
            score[t, j] = candidates[back[t, j]] + log_B[j, observations[t]]
    return score[-1].max()


@example(np.array([0.5, 0.8]), 0.1, 0.2)
def kalman_filter_1d(drift, q, r):
    mean, variance, loglik = 0.0, 1.0, 0.0
    for z in [0.2, 0.5, 0.4, 0.9]:
        mean = drift[0] * mean + drift[1]
        variance = drift[0] ** 2 * variance + q
        S = variance + r
        innovation = z - mean
        loglik += -0.5 * (math.log(2 * math.pi * S) + innovation**2 / S)
        gain = variance / S
        mean += gain * innovation
        variance *= 1 - gain
    return loglik


@example(np.array([[1.0, 0.1], [0.0, 1.0]]))
def kalman_filter(F):
    P, H, R = np.eye(2), np.array([[1.0, 0.0]]), np.array([[0.5]])
    x = np.zeros(2)
    for z in [0.1, 0.3]:
        x, P = F @ x, F @ P @ F.T + 0.01 * np.eye(2)
        K = P @ H.T @ np.linalg.inv(H @ P @ H.T + R)
        x = x + K @ (np.array([z]) - H @ x)
        P = (np.eye(2) - K @ H) @ P
    return x


@example(100.0, 95.0, 0.5, 0.02, 0.25)
def black_scholes(S, K, T, r, sigma):
    d1 = (math.log(S / K) + (r + sigma**2 / 2) * T) / (sigma * math.sqrt(T))
    d2 = d1 - sigma * math.sqrt(T)
    return S * ndtr(d1) - K * math.exp(-r * T) * ndtr(d2)


def normal_cdf(x):
    return 0.5 * (1 + math.erf(x / math.sqrt(2)))


@example(100.0, 0.2)
def black_scholes_erf(S, sigma):
    K, T, r = 105.0, 1.0, 0.01
    d1 = (math.log(S / K) + (r + sigma**2 / 2) * T) / (sigma * math.sqrt(T))
    return S * normal_cdf(d1) - K * math.exp(-r * T) * normal_cdf(d1 - sigma * math.sqrt(T))


@example(100.0, 0.03, 0.3)
def asian_option(S0, r, sigma):
    dt = 0.25
    payoffs = []
    for z in NORMALS:
        path = S0 * np.exp(np.cumsum((r - 0.5 * sigma**2) * dt + sigma * np.sqrt(dt) * z))
        payoffs.append(max(path.mean() - 100.0, 0.0))
    return np.exp(-r) * np.mean(payoffs)


@example(100.0, 0.2)
def binomial_tree(S, sigma):
    n, r, T, K = 6, 0.01, 1.0, 102.0
    dt = T / n
    u = np.exp(sigma * np.sqrt(dt))
    p = (np.exp(r * dt) - 1 / u) / (u - 1 / u)
    values = np.maximum(K - S * u ** (2.0 * np.arange(n + 1) - n), 0)
    for step in range(n - 1, -1, -1):
        values = np.exp(-r * dt) * (p * values[1:] + (1 - p) * values[:-1])
        exercise = K - S * u ** (2.0 * np.arange(step + 1) - step)
        values = np.where(exercise > values, exercise, values)
    return values[0]


@example(np.array([0.2, 0.3, 0.5]))
def portfolio(w):
    covariance = np.cov(X, rowvar=False)
    returns = X.mean(axis=0)
    return w @ returns / np.sqrt(w @ covariance @ w)


@example(X.copy(), np.array([0.2, 0.3, 0.5]))
def portfolio_of_returns(returns, w):
    covariance = np.cov(returns.T)
    return w @ covariance @ w, np.corrcoef(returns[:, 0], returns[:, 1])[0, 1]


@example(np.array([0.5, 1.0, -1.0]), 0.3)
def generalised_least_squares(beta, rho):
    e = TARGETS - X @ beta
    whitened = e[1:] - rho * e[:-1]
    return np.sum(whitened**2) / (1 - rho**2)


@example(0.1, 0.2, 0.7)
def garch_likelihood(omega, alpha, beta):
    returns = NORMALS[:, 0]
    n = len(returns)
    variance = np.zeros(n)
    variance[0] = returns.var()
    for t in range(1, n):
        variance[t] = omega + alpha * returns[t - 1] ** 2 + beta * variance[t - 1]
    return 0.5 * np.sum(np.log(variance) + returns**2 / variance)


@example({"Wh": 0.3 * RNG.normal(size=(4, 4)), "Wx": RNG.normal(size=(4, 3)), "b": np.zeros(4)})
def recurrent_cell(p):
    h = np.zeros(4)
    outputs = []
    for x in X[:5]:
        h = np.tanh(p["Wh"] @ h + p["Wx"] @ x + p["b"])
        outputs.append(h)
    return np.array(outputs)


@example(RNG.normal(size=(4, 3)), RNG.normal(size=(5, 3)), RNG.normal(size=(5, 2)))
def attention(Q, K, V):
    scores = Q @ K.T / np.sqrt(Q.shape[-1])
    scores = np.exp(scores - np.max(scores, axis=-1, keepdims=True))
    weights = scores / np.sum(scores, axis=-1, keepdims=True)
    return np.einsum("qk,kd->qd", weights, V)


@example(RNG.normal(size=(2, 5)), np.ones(5), np.zeros(5))
def layer_norm(x, scale, shift):
    mean = x.mean(-1, keepdims=True)
    var = x.var(-1, keepdims=True)
    return (x - mean) / np.sqrt(var + 1e-5) * scale + shift


@example([(RNG.normal(size=(3, 5)), np.zeros(5)), (RNG.normal(size=(5, 1)), np.zeros(1))])
def multilayer(layers):
    a = X
    for W, b in layers[:-1]:
        a = np.maximum(0.1 * (a @ W + b), a @ W + b)
    W, b = layers[-1]
    return np.mean((a @ W + b - TARGETS[:, None]) ** 2)


@example(np.array([[-1.0, 0.0, 0.0], [1.0, 0.5, 0.0]]))
def k_means(centres):
    distances = ((X[:, None] - centres[None]) ** 2).sum(-1)
    return np.min(distances, axis=1).sum()


@example(np.array([0.3, 0.4, 0.1]))
def unrolled_gradient_descent(w):
    velocity = np.zeros_like(w)
    for _ in range(5):
        gradient = X.T @ (X @ w - TARGETS) / len(TARGETS)
        velocity = 0.9 * velocity - 0.1 * gradient
        w = w + velocity
    return ((X @ w - TARGETS) ** 2).mean()


@example(np.array([0.5, -0.5, 1.0]))
def adam_steps(w):
    m, v = np.zeros(3), np.zeros(3)
    for t in range(1, 4):
        g = X.T @ (X @ w - TARGETS)
        m[:] = 0.9 * m + 0.1 * g
        v[:] = 0.99 * v + 0.01 * g * g
        w = w - 0.1 * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.99**t)) + 1e-8)
    return np.sum(w**2)


@example(np.array([0.2, 1.1, 0.4]))
def survival_likelihood(parameters):
    times = np.array([1.0, 2.5, 0.3, 4.0, 2.2])
    observed = np.array([True, False, True, True, False])
    rate = np.exp(parameters[0] + parameters[2] * np.arange(5) / 5)
    shape = parameters[1]
    hazard = np.log(shape) + np.log(rate) + (shape - 1) * np.log(times * rate)
    survival = -((times * rate) ** shape)
    return hazard[observed].sum() + survival.sum()


@example(np.array([2.0, 0.5]))
def negative_binomial(parameters):
    r, p = parameters
    counts = np.array([0, 1, 3, 2, 5])
    return np.sum(
        gammaln(counts + r)
        - gammaln(r)
        - gammaln(counts + 1.0)
        + r * np.log(p)
        + xlogy(counts, 1 - p)
    )


@example(np.array([0.53, 1.47, -0.31, 0.83, 2.02]))
def bootstrap_mean(sample):
    indices = np.random.default_rng(0).integers(0, 5, size=(10, 5))
    means = sample[indices].mean(axis=1)
    means.sort()
    return means.std(ddof=1), np.median(sample), means[7] - means[2]


@example(RNG.normal(size=5), RNG.normal(size=6))
def dynamic_time_warping(a, b):
    D = np.full((len(a) + 1, len(b) + 1), np.inf)
    D[0, 0] = 0.0
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            cost = (a[i - 1] - b[j - 1]) ** 2
            D[i, j] = cost + min(D[i - 1, j], D[i, j - 1], D[i - 1, j - 1])
    return D[-1, -1]


@example(RNG.normal(size=(6, 2)), np.array([1.0, 0.5]))
def gaussian_process_kernel(points, scales):
    K = np.empty((6, 6))
    for i in range(6):
        for j in range(i + 1):
            K[i, j] = K[j, i] = np.exp(-0.5 * np.sum(((points[i] - points[j]) / scales) ** 2))
    K[np.diag_indices(6)] += 0.1
    return K


@example(RNG.normal(size=(5, 4)))
def batch_standardise(data):
    standard = (data - np.mean(data, axis=0)) / np.std(data, axis=0, ddof=1)
    return np.average(standard**3, axis=0, weights=np.arange(1.0, 6.0))


@example(RNG.normal(size=20), 0.3)
def exponential_smoothing(signal, alpha):
    smooth = np.zeros_like(signal)
    smooth[0] = signal[0]
    for t in range(1, len(signal)):
        smooth[t] = alpha * signal[t] + (1 - alpha) * smooth[t - 1]
    return np.convolve(smooth, np.ones(3) / 3, mode="valid")


@example(RNG.uniform(0.1, 1, 6), RNG.uniform(0.1, 1, 6))
def divergences(p, q):
    p, q = p / p.sum(), q / np.sum(q)
    kl = np.sum(p * np.log(p / q))
    hellinger = np.sqrt(0.5 * np.sum((np.sqrt(p) - np.sqrt(q)) ** 2))
    return {"kl": kl, "hellinger": hellinger, "tv": 0.5 * np.abs(p - q).sum()}


@example(np.array([0.5, -1.0, 2.0]))
def scipy_logsumexp(x):
    return logsumexp(x)


@example(RNG.normal(size=(4, 3)))
def cosine_similarity(E):
    norms = np.linalg.norm(E, axis=1, keepdims=True)
    unit = E / norms
    S = unit @ unit.T
    return S[np.triu_indices(4, 1)].sum()


@example(RNG.normal(size=(3, 3, 2)))
def max_pool(x):
    out = []
    for i in range(2):
        for j in range(2):
            out.append(x[i : i + 2, j : j + 2].max(axis=(0, 1)))
    return np.stack(out).reshape(2, 2, 2).mean(axis=(0, 1))
