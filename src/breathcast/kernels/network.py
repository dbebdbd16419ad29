"""A vanilla recurrent network that learns on line: one forward pass, five ways to estimate the gradient.

Notation of Pohl et al. 2022: x' = tanh(W_a x + W_b u), y = W_c x', e = y* - y, u = [1, window], φ' = 1 - x'².
The memory is laid out in network_types: each inner loop runs along the q units, contiguous and free of reductions, so
that it vectorises without reordering a sum. The window of sample s is the contiguous slice
flat[(s - L + 1) p : (s + 1) p] of the series: no window is ever copied.
"""

from __future__ import annotations

import math

from breathcast.kernels.jit import jit
from breathcast.kernels.network_types import DNI, RTRL, SNAP1, UORO, State

_TAIL = 1e-28  # that gradient stops at a term whose squared size is below this part of the sum
_EPS = 1e-7  # ε_norm of the paper's UORO
_BETA1, _BETA2, _ADAM_EPS = 0.9, 0.999, 1e-8


# --- forward ---------------------------------------------------------------------------------------------------------


@jit
def _project(weights, flat, begin, stride, first, count, out):
    """out[first + k] = W_b [1, window k] for `count` windows that begin `stride` apart; W_b streams through once."""
    q = weights.shape[1]
    m = weights.shape[0] - q - 1
    for k in range(first, first + count):
        for i in range(q):
            out[k, i] = weights[q, i]
    whole = m - m % 4
    for j in range(0, whole, 4):
        row = q + 1 + j
        for k in range(first, first + count):
            at = begin + (k - first) * stride + j
            a, b, c, d = flat[at], flat[at + 1], flat[at + 2], flat[at + 3]
            for i in range(q):
                z = out[k, i] + weights[row, i] * a
                z = z + weights[row + 1, i] * b
                z = z + weights[row + 2, i] * c
                out[k, i] = z + weights[row + 3, i] * d
    for j in range(whole, m):
        for k in range(first, first + count):
            a = flat[begin + (k - first) * stride + j]
            for i in range(q):
                out[k, i] = out[k, i] + weights[q + 1 + j, i] * a


@jit
def _add_recurrent(W, x, z):
    """Z += W_a x, four columns at a time (q is a multiple of that): a quarter of the traffic for the running sums."""
    q = z.shape[0]
    for k in range(0, q, 4):
        a, b, c, d = x[k], x[k + 1], x[k + 2], x[k + 3]
        for i in range(q):
            z[i] = (((z[i] + W[k, i] * a) + W[k + 1, i] * b) + W[k + 2, i] * c) + W[k + 3, i] * d


@jit
def _step_state(weights, hidden, z, new):
    """New = tanh(W_a x + z); `new` may be `hidden`."""
    _add_recurrent(weights, hidden, z)
    for i in range(z.shape[0]):
        new[i] = math.tanh(z[i])


@jit
def _dot(a, b):
    """a · b in four partial sums, which a processor can add side by side."""
    n = a.shape[0]
    whole = n - n % 4
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    for i in range(0, whole, 4):
        s0 += a[i] * b[i]
        s1 += a[i + 1] * b[i + 1]
        s2 += a[i + 2] * b[i + 2]
        s3 += a[i + 3] * b[i + 3]
    for i in range(whole, n):
        s0 += a[i] * b[i]
    return (s0 + s1) + (s2 + s3)


@jit
def _load(run, flat, begin, stride, fuse, scratch):
    """Fill v = [x, 1, window] of this step and [0, 1, window] of the next, which is there if `fuse`."""
    q = run.hidden.shape[0]
    for i in range(q):
        scratch.input[i] = run.hidden[i]
    scratch.input[q] = 1.0
    scratch.next[q] = 1.0
    for j in range(run.weights.shape[0] - q - 1):
        scratch.input[q + 1 + j] = flat[begin + j]
        scratch.next[q + 1 + j] = flat[begin + stride + j] if fuse else 0.0


@jit
def _read(readout, hidden, y):
    """Y = W_c x."""
    for o in range(y.shape[0]):
        y[o] = _dot(readout[o], hidden)


@jit
def _replay(settings, run, scratch, flat, begin, stride, count, y):
    """The forecast after `count` more windows, from the learner's state, with the weights of today."""
    q = run.hidden.shape[0]
    out = scratch.projected
    ready = run.clock[1]
    if ready:
        for i in range(q):
            out[0, i] = run.ahead[i]
    _project(run.weights, flat, begin + ready * stride, stride, ready, count - ready, out)
    if not ready:
        for i in range(q):
            run.ahead[i] = out[0, i]
        run.clock[1] = 1
    state = scratch.work[0]
    for i in range(q):
        state[i] = run.hidden[i]
    for k in range(count - 1 if settings.before else count):
        _step_state(run.weights, state, out[k], state)
    _read(run.readout, state, y)


# --- the gradient, rule by rule: each returns its squared norm on [W_a | W_b] ----------------------------------------


@jit
def _backward(settings, run, scratch, flat, begin, stride):
    """RTRL: the exact gradient, carried backwards through the stored Jacobians of past steps.

    dL/dW = Σ_k δ_k v_kᵀ, δ_0 = pull ∘ φ', δ_{k+1} = (W_aᵀ δ_k) ∘ φ', each with the W_a, φ' and v of its own step.
    The textbook influence tensor gives the same sum, at a cost of q³ (q + m). The terms shrink as long as the network
    forgets, and the sum stops when they no longer change it. Beyond DEPTH steps nothing is stored: clock[3] counts the
    steps at which the sum had not ended there, as when the spectral radius of W_a is near 1 or above.
    """
    depth, q = run.past_hidden.shape
    deltas = scratch.deltas
    newest = run.clock[0] % depth
    for i in range(q):
        run.past_hidden[newest, i] = run.hidden[i]
        run.past_slope[newest, i] = scratch.slope[i]
        for k in range(q):
            run.past_recurrent[newest, i, k] = run.weights[k, i]
    skip = 1 if settings.before else 0
    stored = min(run.clock[0] + 1, depth)
    count, total = 0, 0.0
    for i in range(q):
        scratch.work[0, i] = scratch.pull[i]
    for back in range(skip, stored):
        slot = (newest - back) % depth
        size = 0.0
        for i in range(q):
            deltas[count, i] = scratch.work[0, i] * run.past_slope[slot, i]
            size += deltas[count, i] ** 2
        total += size
        count += 1
        if size <= _TAIL * total:
            break
        run.clock[3] += 1 if count == depth else 0
        for k in range(q):
            scratch.work[0, k] = 0.0
        for i in range(q):
            a = deltas[count - 1, i]
            for k in range(q):
                scratch.work[0, k] += run.past_recurrent[slot, i, k] * a
    return _outer_sum(run, scratch, flat, begin - skip * stride, stride, newest - skip, count)


@jit
def _outer_sum(run, scratch, flat, begin, stride, newest, count):
    """grad = Σ_k v_k δ_kᵀ; returns its squared norm."""
    depth, q = run.past_hidden.shape
    grad, deltas, inputs = scratch.grad, scratch.deltas, scratch.inputs
    for i in range(q):
        scratch.work[1, i] = 0.0
    whole = count - count % 4
    for j in range(grad.shape[0]):
        for k in range(count):
            if j < q:
                inputs[k] = run.past_hidden[(newest - k) % depth, j]
            else:
                inputs[k] = 1.0 if j == q else flat[begin - k * stride + j - q - 1]
        for i in range(q):
            grad[j, i] = 0.0
        for k in range(0, whole, 4):
            a, b, c, d = inputs[k], inputs[k + 1], inputs[k + 2], inputs[k + 3]
            for i in range(q):
                g = grad[j, i] + deltas[k, i] * a
                g = g + deltas[k + 1, i] * b
                g = g + deltas[k + 2, i] * c
                grad[j, i] = g + deltas[k + 3, i] * d
        for k in range(whole, count):
            a = inputs[k]
            for i in range(q):
                grad[j, i] += deltas[k, i] * a
        for i in range(q):
            scratch.work[1, i] += grad[j, i] * grad[j, i]
    size = 0.0
    for i in range(q):
        size += scratch.work[1, i]
    return size


@jit
def _snap1(run, scratch):
    """SnAp-1: I[j, i] = φ'_i (W_a[i, i] I[j, i] + v_j), a unit's own weights on it; the gradient is pull_i I[j, i]."""
    q = run.hidden.shape[0]
    own, sums = scratch.work[0], scratch.work[1]
    for i in range(q):
        own[i] = run.weights[i, i] * scratch.slope[i]
        sums[i] = 0.0
    for j in range(run.weights.shape[0]):
        a = scratch.input[j]
        for i in range(q):
            new = own[i] * run.trace[j, i] + scratch.slope[i] * a
            run.trace[j, i] = new
            sums[i] += new * new
    size = 0.0
    for i in range(q):
        size += scratch.pull[i] ** 2 * sums[i]
    return size


@jit
def _dni(settings, run, scratch, flat, target, learn):
    """DNI: credit c = [x, y*, 1] A, with A learned so that c = ∂L/∂x' + c' D; gradient (c ∘ φ') vᵀ, c ∘ φ' in work[3].

    f = c - ∂L/∂x' - c' D; A -= rate (ãᵀ f - ã'ᵀ (f Dᵀ)), ã' = [x', y*', 1], D = φ' ∘ W_a (Pohl et al. 2025).
    """
    p, q = run.readout.shape
    A, old = run.credit, run.feature
    miss, ahead, turned = scratch.work[0], scratch.work[1], scratch.work[2]
    for i in range(q):
        miss[i] = -scratch.pull[i]
        ahead[i] = A[q + p, i]
        turned[i] = 0.0
    for j in range(q + p + 1):
        a = scratch.new[j] if j < q else (flat[target + j - q] if j < q + p else 0.0)
        b = old[j]
        for i in range(q):
            miss[i] += b * A[j, i]
            ahead[i] += a * A[j, i]
    for k in range(q):
        total = 0.0
        for i in range(q):
            total += ahead[i] * scratch.slope[i] * run.weights[k, i]
        miss[k] -= total
    _add_recurrent(run.weights, miss, turned)
    rate, credit = (settings.credit_rate if learn else 0.0), scratch.work[3]
    for i in range(q):
        turned[i] *= scratch.slope[i]
        credit[i] = 0.0
    for j in range(q + p + 1):
        a = scratch.new[j] if j < q else (flat[target + j - q] if j < q + p else 1.0)
        b = old[j]
        for i in range(q):
            A[j, i] -= rate * (b * miss[i] - a * turned[i])
            credit[i] += b * A[j, i]
        old[j] = a
    size = 0.0
    for i in range(q):
        credit[i] *= scratch.slope[i]
        size += credit[i] ** 2
    return size * _dot(scratch.input, scratch.input)


# --- the step --------------------------------------------------------------------------------------------------------


@jit
def _renew(weights, trace, j, i, back, shrink, push):
    """Step one weight down the old trace, renew the trace; return both."""
    old = trace[j, i]
    weight = weights[j, i] - back * old
    new = old * shrink + push
    weights[j, i] = weight
    trace[j, i] = new
    return weight, new


@jit
def _uoro(units, run, scratch, back, signs):
    """Take W -= back · θ̃, then renew x̃ and θ̃ (Algorithm 1), with W_b [1, next window] in the same pass."""
    q = run.hidden.shape[0]
    weights, trace, tangent, ahead = run.weights, run.trace, run.tangent, run.ahead
    moved, turned, sums = scratch.work[0], scratch.work[1], scratch.work[2]
    for i in range(q):
        moved[i] = 0.0
        sums[i] = 0.0
        turned[i] = signs[i] * scratch.slope[i]
    _add_recurrent(weights, tangent, moved)
    for i in range(q):
        moved[i] *= scratch.slope[i]
    rho0 = math.sqrt(tangent[q] / (math.sqrt(_dot(moved, moved)) + _EPS)) + _EPS
    size = math.sqrt(_dot(turned, turned) * _dot(scratch.input, scratch.input))
    rho1 = math.sqrt(size / (math.sqrt(float(units)) + _EPS)) + _EPS
    for i in range(q):
        tangent[i] = rho0 * moved[i] + rho1 * signs[i]
        turned[i] /= rho1
        ahead[i] = 0.0
    shrink = 1.0 / rho0
    v, u = scratch.input, scratch.next
    rows = weights.shape[0]
    for j in range(0, rows - 3, 4):  # four rows at a time: a quarter of the traffic for the running sums
        a0, a1, a2, a3 = v[j], v[j + 1], v[j + 2], v[j + 3]
        b0, b1, b2, b3 = u[j], u[j + 1], u[j + 2], u[j + 3]
        for i in range(q):
            turn = turned[i]
            w0, n0 = _renew(weights, trace, j, i, back, shrink, turn * a0)
            w1, n1 = _renew(weights, trace, j + 1, i, back, shrink, turn * a1)
            w2, n2 = _renew(weights, trace, j + 2, i, back, shrink, turn * a2)
            w3, n3 = _renew(weights, trace, j + 3, i, back, shrink, turn * a3)
            ahead[i] = (((ahead[i] + w0 * b0) + w1 * b1) + w2 * b2) + w3 * b3
            sums[i] = (((sums[i] + n0 * n0) + n1 * n1) + n2 * n2) + n3 * n3
    for j in range(rows - rows % 4, rows):
        a, b = v[j], u[j]
        for i in range(q):
            w, new = _renew(weights, trace, j, i, back, shrink, turned[i] * a)
            ahead[i] += w * b
            sums[i] += new * new
    size = 0.0
    for i in range(q):
        size += sums[i]
    tangent[q] = math.sqrt(size)


@jit
def _fill(settings, run, scratch, along):
    """Write the gradient on [W_a | W_b] out in full, for Adam."""
    q = run.hidden.shape[0]
    for j in range(run.weights.shape[0]):
        a = scratch.input[j]
        for i in range(q):
            if settings.rule == UORO:
                scratch.grad[j, i] = along * run.trace[j, i]
            elif settings.rule == SNAP1:
                scratch.grad[j, i] = scratch.pull[i] * run.trace[j, i]
            elif settings.rule == DNI:
                scratch.grad[j, i] = scratch.work[3, i] * a
            else:
                scratch.grad[j, i] = 0.0


@jit
def _adam(weights, moments, grad, scale, rate, count):
    """W -= rate · m̂ / (√v̂ + ε), on the gradient times `scale`."""
    bias1, bias2 = 1.0 - _BETA1**count, 1.0 - _BETA2**count
    for j in range(weights.shape[0]):
        for i in range(weights.shape[1]):
            g = scale * grad[j, i]
            moments[0, j, i] = _BETA1 * moments[0, j, i] + (1.0 - _BETA1) * g
            moments[1, j, i] = _BETA2 * moments[1, j, i] + (1.0 - _BETA2) * g * g
            weights[j, i] -= rate * (moments[0, j, i] / bias1) / (math.sqrt(moments[1, j, i] / bias2) + _ADAM_EPS)


@jit
def _descend(settings, run, scratch, step):
    """W -= step · gradient, for the rules whose step is not fused with anything."""
    q = run.hidden.shape[0]
    weights = run.weights
    if settings.rule == RTRL:
        for j in range(weights.shape[0]):
            for i in range(q):
                weights[j, i] -= step * scratch.grad[j, i]
    elif settings.rule == SNAP1:
        for i in range(q):
            scratch.work[0, i] = step * scratch.pull[i]
        for j in range(weights.shape[0]):
            for i in range(q):
                weights[j, i] -= scratch.work[0, i] * run.trace[j, i]
    elif settings.rule == DNI:
        for j in range(weights.shape[0]):
            a = step * scratch.input[j]
            for i in range(q):
                weights[j, i] -= a * scratch.work[3, i]


@jit
def _learn(settings, run, scratch, flat, begin, target, learn, signs, fuse):
    """One step of the learner after its forward pass: gradient, clipping, weights, state; or weights stay."""
    stride, q = run.readout.shape
    y, e = scratch.output[0], scratch.output[1]
    seen = run.hidden if settings.before else scratch.new
    _load(run, flat, begin, stride, fuse, scratch)
    for o in range(stride):
        e[o] = flat[target + o] - y[o]
    for k in range(q):
        scratch.slope[k] = 1.0 - scratch.new[k] ** 2
        scratch.pull[k] = 0.0
    for o in range(stride):
        a = e[o]
        for k in range(q):
            scratch.pull[k] -= run.readout[o, k] * a
    size, along = 0.0, 0.0
    if settings.rule == UORO:
        along = _dot(scratch.pull, run.tangent[:q])
        size = (along * run.tangent[q]) ** 2
    elif settings.rule == RTRL:
        size = _backward(settings, run, scratch, flat, begin, stride)
    elif settings.rule == SNAP1:
        size = _snap1(run, scratch)
    elif settings.rule == DNI:
        size = _dni(settings, run, scratch, flat, target, learn)
    size = math.sqrt(size + _dot(e, e) * _dot(seen, seen))
    scale = settings.clip / size if size > settings.clip else 1.0
    step = settings.learning_rate * scale if learn and not settings.adam else 0.0
    adam = settings.adam and learn
    if adam and settings.rule != RTRL:
        _fill(settings, run, scratch, along)
    run.clock[1] = 0
    if settings.rule == UORO:
        _uoro(settings.units, run, scratch, step * along, signs)
        run.clock[1] = 1 if fuse and not adam else 0
    elif step > 0.0:
        _descend(settings, run, scratch, step)
    if learn:
        run.clock[2] += 1
    if adam:
        rate, count = settings.learning_rate, run.clock[2]
        for o in range(stride):
            for k in range(q):
                scratch.readout_grad[o, k] = -e[o] * seen[k]
        _adam(run.weights, run.moments, scratch.grad, scale, rate, count)
        _adam(run.readout, run.readout_moments, scratch.readout_grad, scale, rate, count)
    for o in range(stride):
        a = step * e[o]
        for k in range(q):
            run.readout[o, k] += a * seen[k]
    for i in range(q):
        run.hidden[i] = scratch.new[i]
    run.clock[0] += 1


# --- a stretch of samples, for every run -----------------------------------------------------------------------------


@jit
def _advance_run(settings, run, scratch, series, clean, origin, first, last, speak, signs, signs_origin, out):
    flat = series.ravel()
    samples, stride = series.shape
    L, h = settings.history, settings.horizon
    lag = h if settings.delayed else 0
    for t in range(first, last):
        s = t - lag  # the learner's step: the newest whose target has been measured, or (immediate) the newest
        begin = (s - L + 1) * stride
        if s - L + 1 >= origin:
            if not run.clock[1]:
                _project(run.weights, flat, begin, stride, 0, 1, scratch.projected)
                for i in range(run.ahead.shape[0]):
                    run.ahead[i] = scratch.projected[0, i]
            for i in range(run.ahead.shape[0]):
                scratch.work[0, i] = run.ahead[i]
            _step_state(run.weights, run.hidden, scratch.work[0], scratch.new)
            _read(run.readout, run.hidden if settings.before else scratch.new, scratch.output[0])
            if not settings.delayed and run.clock[2] > 0:
                for o in range(stride):
                    out[t - first, o] = scratch.output[0, o]
            if s + h < samples:
                learn = clean[s] >= L and clean[s + h] >= 1
                row = s - signs_origin if settings.rule == UORO else 0
                target = (s + h) * stride
                _learn(settings, run, scratch, flat, begin, target, learn, signs[row], s + 1 < samples)
        if settings.delayed and t >= speak and run.clock[2] > 0:
            begin = max(begin + stride, origin * stride)
            count = t - L + 2 - begin // stride
            _replay(settings, run, scratch, flat, begin, stride, count, scratch.output[0])
            for o in range(stride):
                out[t - first, o] = scratch.output[0, o]


@jit
def advance(settings, state, scratch, series, clean, origin, first, last, speak, signs, signs_origin, out):
    """Learn from the samples first..last-1 of `series` and, from `speak` on, forecast h samples beyond each.

    settings, state, scratch  see above; `state` is changed in place
    series (n, p)             scaled samples, imputed where missing; `origin` is where the recording begins (may be < 0)
    clean (n)                 how many samples in a row, up to this one, were really measured
    signs (R, B, q)           the random signs ν of the learner's steps from sample `signs_origin` on
    out (R, last - first, p)  the forecasts; a row is left alone as long as nothing has been learned
    """
    for r in range(out.shape[0]):
        run = State(
            state.weights[r],
            state.readout[r],
            state.hidden[r],
            state.ahead[r],
            state.trace[r],
            state.tangent[r],
            state.credit[r],
            state.feature[r],
            state.past_hidden[r],
            state.past_slope[r],
            state.past_recurrent[r],
            state.moments[r],
            state.readout_moments[r],
            state.clock[r],
        )
        _advance_run(settings, run, scratch, series, clean, origin, first, last, speak, signs[r], signs_origin, out[r])
