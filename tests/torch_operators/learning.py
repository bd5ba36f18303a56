"""Torch's layers and losses, as they would be written in NumPy."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special

from tests.torch_operators.counterpart import Counterpart

# --- losses --------------------------------------------------------------------------------------


def _reduced(loss, reduction):
    return {"mean": np.mean, "sum": np.sum, "none": lambda x: x}[reduction](loss)


def _loss(entries: Callable[..., Any]) -> Callable[..., Any]:
    """A loss of torch's, of what it is in each entry."""

    def loss(*args, reduction="mean", **keywords):
        return _reduced(entries(*args, **keywords), reduction)

    return loss


def _cross_entropy_of_logits(x, target, weight=None, pos_weight=None):
    positive = 1 if pos_weight is None else pos_weight
    losses = (1 - target) * x + (1 + (positive - 1) * target) * np.logaddexp(0, -x)
    return losses if weight is None else losses * weight


def _binary_cross_entropy(x, target, weight=None):
    losses = -(special.xlogy(target, x) + special.xlog1py(1 - target, -x))
    return losses if weight is None else losses * weight


def _huber(x, target, delta=1.0):
    error = np.abs(x - target)
    return np.where(error <= delta, error**2 / 2, delta * (error - delta / 2))


def _smooth_l1(x, target, beta=1.0):
    error = np.abs(x - target)
    return error if beta == 0 else np.where(error < beta, error**2 / (2 * beta), error - beta / 2)


def _poisson(x, target, log_input=True, full=False, eps=1e-8):
    losses = np.exp(x) - target * x if log_input else x - target * np.log(x + eps)
    if full:
        sure = np.where(target > 1, target, 1.0)
        stirling = target * np.log(sure) - target + np.log(2 * np.pi * sure) / 2
        losses = losses + np.where(target > 1, stirling, 0.0)
    return losses


def _gaussian(x, target, var, *, full=False, eps=1e-6):
    if np.ndim(var) and np.shape(var) != np.shape(x) and np.shape(var) == np.shape(x)[:-1]:
        var = var[..., None]
    var = np.where(var < eps, eps, var)
    losses = (np.log(var) + (x - target) ** 2 / var) / 2
    return losses + math.log(2 * math.pi) / 2 if full else losses


def _divergence(x, target, *, reduction="mean", log_target=False):
    if log_target:
        losses = np.exp(target) * (target - x)
    else:
        losses = special.xlogy(target, target) - target * x
    if reduction == "batchmean":
        return np.sum(losses) / (np.shape(x)[0] if np.ndim(x) else 1)
    return _reduced(losses, reduction)


def _embedding_hinge(x, target, margin=1.0):
    return np.where(target == 1, 0.0, np.maximum(0, margin - x)) + np.where(target == -1, 0.0, x)


def _cosine_embedding(a, b, target, margin=0.0):
    cosine = np.sum(a * b, axis=-1) / np.sqrt(
        (np.sum(a * a, axis=-1) + 1e-8) * (np.sum(b * b, axis=-1) + 1e-8)
    )
    return np.where(target == 1, 1 - cosine, np.maximum(0, cosine - margin))


def _soft_margins(x, target, weight=None):
    losses = -(target * special.log_expit(x) + (1 - target) * special.log_expit(-x))
    return np.mean(losses if weight is None else weight * losses, axis=-1)


def _triplet(anchor, positive, negative, margin=1.0, p=2.0, eps=1e-6, swap=False):
    def distance(a, b):
        return np.sum(np.abs(a - b + eps) ** p, axis=-1) ** (1 / p)

    far = distance(anchor, negative)
    far = np.minimum(far, distance(positive, negative)) if swap else far
    return np.maximum(0, margin + distance(anchor, positive) - far)


def _likelihood(x, target, weight=None, ignore_index=-100, reduction="mean"):
    """The negative log-likelihood of classes, with classes along axis 1, or 0 of a vector."""
    axis = 1 if np.ndim(x) > 1 else 0
    taken = target != ignore_index
    safe = np.where(taken, target, 0)
    chosen = np.squeeze(np.take_along_axis(x, np.expand_dims(safe, axis), axis), axis)
    weights = (1.0 if weight is None else weight[safe]) * taken
    losses = -chosen * weights
    return np.sum(losses) / np.sum(weights) if reduction == "mean" else _reduced(losses, reduction)


def _cross_entropy(
    x, target, weight=None, ignore_index=-100, reduction="mean", label_smoothing=0.0
):
    axis = 1 if np.ndim(x) > 1 else 0
    logs = special.log_softmax(x, axis=axis)
    classes = np.shape(x)[axis]
    shape = [classes if i == axis else 1 for i in range(np.ndim(x))]
    scale = np.ones(shape) if weight is None else np.reshape(weight, shape)
    if target.dtype.kind == "f":
        smoothed = target * (1 - label_smoothing) + label_smoothing / classes
        losses = -np.sum(smoothed * logs * scale, axis=axis)
        if reduction == "mean":
            return np.sum(losses) / (np.size(x) / classes)
        return _reduced(losses, reduction)
    hard = _likelihood(logs, target, weight, ignore_index, reduction)
    if not label_smoothing:
        return hard
    taken = target != ignore_index
    soft = -np.sum(logs * scale, axis=axis) * taken
    if reduction == "mean":
        counts = (
            np.sum(np.ravel(scale)[np.where(taken, target, 0)] * taken)
            if weight is not None
            else np.sum(taken)
        )
        soft = np.sum(soft) / counts
    else:
        soft = _reduced(soft, reduction)
    return (1 - label_smoothing) * hard + label_smoothing / classes * soft


def _multi_margin(x, target, *, p=1, margin=1.0, weight=None):
    rows, target = np.atleast_2d(x), np.atleast_1d(target)
    chosen = np.take_along_axis(rows, target[:, None], 1)
    losses = np.maximum(0, margin - chosen + rows) ** p
    losses = losses if weight is None else losses * weight[target][:, None]
    losses = losses * (np.arange(rows.shape[1]) != target[:, None])
    losses = np.sum(losses, axis=1) / rows.shape[1]
    return losses if np.ndim(x) > 1 else losses[0]


# --- normalisation -------------------------------------------------------------------------------


def _standard(x, axes, eps):
    centred = x - np.mean(x, axis=axes, keepdims=True)
    return centred / np.sqrt(np.mean(centred**2, axis=axes, keepdims=True) + eps)


def _along(values, x):
    """Values of the channels, along axis 1."""
    return np.reshape(values, (1, -1, *[1] * (np.ndim(x) - 2))) if np.ndim(x) > 1 else values


def _scaled(x, weight, bias):
    x = x if weight is None else x * _along(weight, x)
    return x if bias is None else x + _along(bias, x)


def _layer_norm(x, normalized_shape, weight=None, bias=None, eps=1e-5):
    y = _standard(x, tuple(range(-len(normalized_shape), 0)), eps)
    y = y if weight is None else y * weight
    return y if bias is None else y + bias


def _rms_norm(x, normalized_shape, weight=None, eps=None):
    eps = np.finfo(np.float64).eps if eps is None else eps
    axes = tuple(range(-len(normalized_shape), 0))
    y = x / np.sqrt(
        np.mean(np.real(x * x) if not np.iscomplexobj(x) else x * x, axis=axes, keepdims=True) + eps
    )
    return y if weight is None else y * weight


def _group_norm(x, num_groups, weight=None, bias=None, eps=1e-5):
    grouped = np.reshape(x, (np.shape(x)[0], num_groups, math.prod(np.shape(x)[1:]) // num_groups))
    return _scaled(np.reshape(_standard(grouped, (-1,), eps), np.shape(x)), weight, bias)


def _batch_norm(
    x, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5
):
    if training:
        y = _standard(x, tuple(axis for axis in range(np.ndim(x)) if axis != 1), eps)
    else:
        y = (x - _along(running_mean, x)) / np.sqrt(_along(running_var, x) + eps)
    return _scaled(y, weight, bias)


def _instance_norm(
    x,
    running_mean=None,
    running_var=None,
    weight=None,
    bias=None,
    use_input_stats=True,
    momentum=0.1,
    eps=1e-5,
):
    if use_input_stats:
        y = _standard(x, tuple(range(2, np.ndim(x))), eps)
    else:
        y = (x - _along(running_mean, x)) / np.sqrt(_along(running_var, x) + eps)
    return _scaled(y, weight, bias)


def _response_norm(x, size, alpha=1e-4, beta=0.75, k=1.0):
    widths = [(0, 0)] * np.ndim(x)
    widths[1] = (size // 2, (size - 1) // 2)
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(x * x, widths), size, axis=1)
    return x / (k + alpha * np.mean(windows, axis=-1)) ** beta


# --- windows -------------------------------------------------------------------------------------


def _each(value, count):
    given = tuple(value) if isinstance(value, list | tuple) else (value,)
    return given * count if len(given) == 1 else given


def _windows(x, size, stride, padding, dilation, fill=0.0):
    """Windows over the last axes: (batch, channels, places..., offsets...)."""
    count = len(size)
    x = np.pad(x, [(0, 0), (0, 0), *[(p, p) for p in padding]], constant_values=fill)
    reach = [(s - 1) * d + 1 for s, d in zip(size, dilation, strict=True)]
    windows = np.lib.stride_tricks.sliding_window_view(x, reach, axis=tuple(range(2, 2 + count)))
    steps = [slice(None, None, s) for s in stride]
    inside = [slice(None, None, d) for d in dilation]
    return windows[(slice(None), slice(None), *steps, *inside)]


def _convolution(count):
    letters, offsets = "xyz"[:count], "uvw"[:count]

    def convolve(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
        alone = np.ndim(x) == count + 1
        x = x[None] if alone else x
        size, stride, dilation = np.shape(weight)[2:], _each(stride, count), _each(dilation, count)
        if isinstance(padding, str):
            total = [
                d * (s - 1) if padding == "same" else 0 for s, d in zip(size, dilation, strict=True)
            ]
            x = np.pad(x, [(0, 0), (0, 0), *[(t // 2, t - t // 2) for t in total]])
            padding = 0
        windows = _windows(x, size, stride, _each(padding, count), dilation)
        windows = np.reshape(windows, (windows.shape[0], groups, -1, *windows.shape[2:]))
        kernels = np.reshape(weight, (groups, -1, *np.shape(weight)[1:]))
        y = np.einsum(f"bgi{letters}{offsets},goi{offsets}->bgo{letters}", windows, kernels)
        y = np.reshape(y, (y.shape[0], -1, *y.shape[3:]))
        y = y if bias is None else y + _along(bias, y)
        return y[0] if alone else y

    return convolve


def _convolution_back(count):
    """The adjoint of a convolution: what each entry puts into its window is added up."""

    def spread(x, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
        alone = np.ndim(x) == count + 1
        x = x[None] if alone else x
        size, stride, dilation = np.shape(weight)[2:], _each(stride, count), _each(dilation, count)
        padding, more = _each(padding, count), _each(output_padding, count)
        batch, channels, *places = np.shape(x)
        grouped = np.reshape(x, (batch, groups, channels // groups, *places))
        kernels = np.reshape(weight, (groups, channels // groups, *np.shape(weight)[1:]))
        whole = [
            (n - 1) * s + d * (k - 1) + 1 + m
            for n, s, d, k, m in zip(places, stride, dilation, size, more, strict=True)
        ]
        out = np.zeros((batch, groups * kernels.shape[2], *whole), np.result_type(x, weight))
        for offset in np.ndindex(*size):
            part = np.einsum("bgi...,gio->bgo...", grouped, kernels[(..., *offset)])
            part = np.reshape(part, (batch, -1, *places))
            target = [
                slice(o * d, o * d + (n - 1) * s + 1, s)
                for o, d, n, s in zip(offset, dilation, places, stride, strict=True)
            ]
            out[(slice(None), slice(None), *target)] += part
        cut = [slice(p, w - p) for p, w in zip(padding, whole, strict=True)]
        y = out[(slice(None), slice(None), *cut)]
        y = y if bias is None else y + _along(bias, y)
        return y[0] if alone else y

    return spread


def _pooled(count, largest):
    def pool(
        x,
        kernel_size,
        stride=None,
        padding=0,
        dilation=1,
        ceil_mode=False,
        return_indices=False,
        count_include_pad=True,
        divisor_override=None,
    ):
        if ceil_mode or not count_include_pad or divisor_override:
            raise NotImplementedError("windows that reach beyond the padding")
        alone = np.ndim(x) == count + 1
        x = x[None] if alone else x
        size = _each(kernel_size, count)
        stride = size if stride is None or stride == [] else _each(stride, count)
        fill = -np.inf if largest else 0.0
        windows = _windows(x, size, stride, _each(padding, count), _each(dilation, count), fill)
        axes = tuple(range(-count, 0))
        y = np.max(windows, axis=axes) if largest else np.mean(windows, axis=axes)
        return y[0] if alone else y

    return pool


def _average_pooled(count):
    pool = _pooled(count, False)

    def average(
        x,
        kernel_size,
        stride=None,
        padding=0,
        ceil_mode=False,
        count_include_pad=True,
        divisor_override=None,
    ):
        return pool(
            x,
            kernel_size,
            stride,
            padding,
            1,
            ceil_mode,
            False,
            count_include_pad,
            divisor_override,
        )

    return average


def _adaptive(count, function):
    def pool(x, output_size, return_indices=False):
        sizes = np.shape(x)[-count:]
        outputs = output_size if isinstance(output_size, list | tuple) else (output_size,) * count
        outputs = [n if o is None else o for o, n in zip(outputs, sizes, strict=True)]
        cells = []
        for place in np.ndindex(*outputs):
            window = [
                slice(i * n // o, -(-(i + 1) * n // o))
                for i, n, o in zip(place, sizes, outputs, strict=True)
            ]
            cells.append(function(x[(..., *window)], axis=tuple(range(-count, 0))))
        return np.reshape(np.stack(cells, axis=-1), (*np.shape(x)[:-count], *outputs))

    return pool


def _unfolded(x, kernel_size, dilation=1, padding=0, stride=1):
    alone = np.ndim(x) == 3
    x = x[None] if alone else x
    windows = _windows(x, *[_each(v, 2) for v in (kernel_size, stride, padding, dilation)])
    batch, channels, high, wide, *size = windows.shape
    y = np.reshape(
        np.transpose(windows, (0, 1, 4, 5, 2, 3)), (batch, channels * math.prod(size), high * wide)
    )
    return y[0] if alone else y


# --- attention, distances, tables ----------------------------------------------------------------


def _attention(
    query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False
):
    if dropout_p:
        raise NotImplementedError("random")
    if enable_gqa:
        times = np.shape(query)[-3] // np.shape(key)[-3]
        key, value = np.repeat(key, times, axis=-3), np.repeat(value, times, axis=-3)
    scale = 1 / math.sqrt(np.shape(query)[-1]) if scale is None else scale
    scores = query @ np.swapaxes(key, -1, -2) * scale
    if is_causal:
        scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf)
    if attn_mask is not None:
        scores = (
            np.where(attn_mask, scores, -np.inf) if attn_mask.dtype == bool else scores + attn_mask
        )
    return special.softmax(scores, axis=-1) @ value


def _distance(difference, p):
    size = np.abs(difference)
    if p == 0:
        return np.sum(np.where(size != 0, 1.0, 0.0), axis=-1)
    if math.isinf(p):
        return np.max(size, axis=-1)
    return np.linalg.norm(difference, p, axis=-1)


def _pairs(x, p=2):
    rows = list(itertools.combinations(range(np.shape(x)[0]), 2))
    first, second = np.array(rows, dtype=int).reshape(-1, 2).T
    return _distance(x[first] - x[second], p)


def _distances(x, y, p=2.0, compute_mode=None):
    return _distance(x[..., :, None, :] - y[..., None, :, :], p)


def _embedded(
    weight,
    index,
    padding_idx=None,
    max_norm=None,
    norm_type=2.0,
    scale_grad_by_freq=False,
    sparse=False,
):
    if max_norm is not None or scale_grad_by_freq or padding_idx is not None:
        raise NotImplementedError("a derivative that is not that of the value")
    return weight[index]


_LOSSES = {
    "binary_cross_entropy": _binary_cross_entropy,
    "binary_cross_entropy_with_logits": _cross_entropy_of_logits,
    "cosine_embedding_loss": _cosine_embedding,
    "gaussian_nll_loss": _gaussian,
    "hinge_embedding_loss": _embedding_hinge,
    "huber_loss": _huber,
    "l1_loss": lambda x, target: np.abs(x - target),
    "margin_ranking_loss": lambda a, b, target, margin=0.0: np.maximum(
        0, margin - target * (a - b)
    ),
    "mse_loss": lambda x, target: (x - target) ** 2,
    "multi_margin_loss": _multi_margin,
    "multilabel_soft_margin_loss": _soft_margins,
    "poisson_nll_loss": _poisson,
    "smooth_l1_loss": _smooth_l1,
    "soft_margin_loss": lambda x, target: np.log1p(np.exp(-target * x)),
    "triplet_margin_loss": _triplet,
}
_LAYERS = {
    "adaptive_avg_pool1d": _adaptive(1, np.mean),
    "adaptive_avg_pool2d": _adaptive(2, np.mean),
    "adaptive_avg_pool3d": _adaptive(3, np.mean),
    "adaptive_max_pool1d": _adaptive(1, np.max),
    "adaptive_max_pool2d": _adaptive(2, np.max),
    "adaptive_max_pool3d": _adaptive(3, np.max),
    "avg_pool1d": _average_pooled(1),
    "avg_pool2d": _average_pooled(2),
    "avg_pool3d": _average_pooled(3),
    "batch_norm": _batch_norm,
    "conv1d": _convolution(1),
    "conv2d": _convolution(2),
    "conv3d": _convolution(3),
    "conv_transpose1d": _convolution_back(1),
    "conv_transpose2d": _convolution_back(2),
    "conv_transpose3d": _convolution_back(3),
    "cross_entropy": _cross_entropy,
    "embedding": _embedded,
    "group_norm": _group_norm,
    "instance_norm": _instance_norm,
    "kl_div": _divergence,
    "layer_norm": _layer_norm,
    "local_response_norm": _response_norm,
    "max_pool1d": _pooled(1, True),
    "max_pool2d": _pooled(2, True),
    "max_pool3d": _pooled(3, True),
    "nll_loss": _likelihood,
    "pdist": _pairs,
    "rms_norm": _rms_norm,
    "scaled_dot_product_attention": _attention,
    "unfold": _unfolded,
}

LEARNING: dict[str, Callable[..., Any] | Counterpart] = {
    **{f"nn.functional.{name}": _loss(entries) for name, entries in _LOSSES.items()},
    **{f"nn.functional.{name}": layer for name, layer in _LAYERS.items()},
    "cdist": _distances,
}
