"""The dual form of the networks, for whole recordings and many runs: W_b is its start plus a sum of rank-one terms.

Every update of W_b has a window as its right factor, so W_b = W_b,0 + Σ_k a_k [1, u_k]ᵀ, and W_b [1, u_n] is
W_b,0 [1, u_n], shared by all that start from the same draw, plus Σ_k a_k G_kn, with the Gram matrix G of the windows
[1, u] shared by all runs: of the order of n q a step instead of q m. It goes block by block: what earlier blocks
learned enters as one matrix product; what is learned inside a block is added at once to the windows in sight, which are
those still ahead in the block and, with delayed feedback, the h beyond them through which forecasts are replayed.

Sums run in another order than in kernels.network: results agree step by step from the same weights, and over whole
recordings in distribution, because training at the published learning rates is chaotic. Arrays are float64 or float32.
"""

from __future__ import annotations

import math

import numpy as np

from breathcast.kernels.dual_types import BLOCK
from breathcast.kernels.jit import jit_in_any_order as jit
from breathcast.kernels.jit import jit_of_a_step as step_jit
from breathcast.kernels.network_types import DNI, FIXED, RTRL

_EPS = 1e-7  # ε_norm of the paper's UORO
_FADED = 1e-25  # a term of θ̃ that has shrunk to this part is left out


# tanh z = z N(z²) / D(z²) for |z| up to 9, beyond which it is 1 in single precision: fitted for the least relative
# error, 2e-8, a third of the last digit; unlike the library's, it goes through a vector of the processor at once.
_N0, _N1, _N2, _N3, _N4 = (
    np.float32(v) for v in (9.999999794e-01, 1.338102447e-01, 3.495586791e-03, 2.060906199e-05, 1.335463616e-08)
)
_D1, _D2, _D3, _D4 = (np.float32(v) for v in (4.671434006e-01, 2.587697700e-02, 3.285632708e-04, 7.776547347e-07))
_ONE, _FAR = np.float32(1), np.float32(9)


# --- shared ----------------------------------------------------------------------------------------------------------


@step_jit
def _dot(a, b):
    """a · b, in an order that the compiler chooses."""
    total = a.dtype.type(0)  # from the first number on: a loop that begins at the second is not aligned
    for i in range(a.shape[0]):
        total += a[i] * b[i]
    return total


@step_jit
def _zero(out):
    """A loop: assigning to a slice costs as much as a product of this size."""
    for i in range(out.shape[0]):
        out[i] = 0


@step_jit
def _copy(values, out):
    """The same for a copy."""
    for i in range(out.shape[0]):
        out[i] = values[i]


@step_jit
def _tanh(z, out):
    """Out = tanh z: to all digits in double precision, to the last but one in single."""
    if z.itemsize == 4:
        for i in range(z.shape[0]):
            x = min(max(z[i], -_FAR), _FAR)
            t = x * x
            n = (((_N4 * t + _N3) * t + _N2) * t + _N1) * t + _N0
            d = (((_D4 * t + _D3) * t + _D2) * t + _D1) * t + _ONE
            out[i] = min(max(x * n / d, -_ONE), _ONE)
    else:
        for i in range(z.shape[0]):
            out[i] = math.tanh(z[i])


@step_jit
def _add_rows(rows, left, out):
    """Add Σ_k left_k rows[k] to `out`, four rows at a time (q is a multiple of eight)."""
    for k in range(0, left.shape[0], 4):
        a, b, c, d = left[k], left[k + 1], left[k + 2], left[k + 3]
        for i in range(out.shape[0]):
            out[i] += (rows[k, i] * a + rows[k + 1, i] * b) + (rows[k + 2, i] * c + rows[k + 3, i] * d)


@jit
def _beside(work, gram, first, last, begin, end):
    """G of the windows first..last-1 against begin..end-1, side by side in memory."""
    wide = end - begin
    block = work.gram[: (last - first) * wide].reshape(last - first, wide)
    for j in range(last - first):
        for k in range(wide):
            block[j, k] = gram[first + j, begin + k]
    return block


@jit
def _look_ahead(work, gram, start, first, reach):
    """W_b [1, u] of the windows first..reach-1, with all that was learned before `first`."""
    sight = work.sight[: reach - first]
    if first > 0:
        np.dot(_beside(work, gram, first, reach, 0, first), work.coefficients[:first], sight)
        for j in range(reach - first):
            for i in range(sight.shape[1]):
                sight[j, i] += start[first + j, i]
    else:
        sight[:] = start[:reach]


@step_jit
def _forward(work, n, place, ahead):
    """x' = tanh(W_a x + W_b [1, u_n]), and φ'; `ahead` is W_a x, the window is at `place` in sight."""
    new, slope, z = work.states[n + 1], work.slopes[n], work.sight[place]
    for i in range(new.shape[0]):
        z[i] += ahead[i]
    _tanh(z, new)
    for i in range(new.shape[0]):
        slope[i] = 1 - new[i] * new[i]


@step_jit
def _read(work, series, target, seen, pull):
    """y = W_c x, e = y* - y, and the pull ∂L/∂x = -W_cᵀ e."""
    y, e = work.output[0], work.output[1]
    _zero(pull)
    for o in range(y.shape[0]):
        y[o] = _dot(work.readout[o], seen)
        e[o] = series[target, o] - y[o]
        a = e[o]
        for k in range(pull.shape[0]):
            pull[k] -= work.readout[o, k] * a


@step_jit
def _renew_readout(work, seen, step):
    """W_c += step · e xᵀ."""
    for o in range(work.readout.shape[0]):
        a = seen.dtype.type(step * work.output[1, o])
        for k in range(seen.shape[0]):
            work.readout[o, k] += a * seen[k]


@step_jit
def _replay(work, weights, transposed, state, ahead, place, count):
    """The forecast `count` windows after `state`, with the weights of now, into output[0]."""
    x, z = work.vectors[6], work.vectors[7]
    _copy(state, x)
    for k in range(count):
        _copy(work.sight[place + k], z)
        if k == 0:
            for i in range(z.shape[0]):
                z[i] += ahead[i]
        elif transposed:
            _add_rows(weights, x, z)
        else:
            for i in range(z.shape[0]):
                z[i] += _dot(weights[i], x)
        _tanh(z, x)
    for o in range(work.readout.shape[0]):
        work.output[0, o] = _dot(work.readout[o], x)


@step_jit
def _scale(settings, work, seen, size):
    """The learning rate, less where the gradient, of squared norm `size` on [W_a, W_b], is longer than τ."""
    e = work.output[1]
    size = math.sqrt(size + float(_dot(e, e)) * float(_dot(seen, seen)))
    return settings.learning_rate * (settings.clip / size if size > settings.clip else 1.0)


# --- UORO ------------------------------------------------------------------------------------------------------------


@jit
def _open_block(work, gram, first, reach, live):
    """Bring coefficients and terms up to date, and θ̃_b [1, u] in sight; returns the first term not faded away."""
    fade, used = work.fade[0], work.fade[1]
    for k in range(live, first):
        a, b = work.terms.dtype.type(-used[k]), work.terms.dtype.type(fade[k])
        for i in range(work.terms.shape[1]):
            work.coefficients[k, i] = a * work.terms[k, i]
            work.shrunk[k, i] = b * work.terms[k, i]
    while live < first and fade[live] < _FADED:
        live += 1
    traced = work.traced[: reach - first]
    if live < first:
        np.dot(_beside(work, gram, first, reach, live, first), work.shrunk[live:first], traced)
    else:
        traced[:] = 0
    return live


@step_jit
def _renew_recurrent(work, old, new, tangent, turned, back, shrink):
    """W_a -= back · θ̃_a, θ̃_a ← shrink · θ̃_a + turned xᵀ, then W_a x' and W_a x̃'; returns ‖θ̃_a‖²."""
    weights, trace = work.recurrent[0], work.recurrent[1]
    ahead, moved, sums = work.vectors[0], work.vectors[1], work.vectors[2]
    _zero(ahead)
    _zero(moved)
    _zero(sums)
    for k in range(0, old.shape[0], 4):
        x0, x1, x2, x3 = old[k], old[k + 1], old[k + 2], old[k + 3]
        n0, n1, n2, n3 = new[k], new[k + 1], new[k + 2], new[k + 3]
        m0, m1, m2, m3 = tangent[k], tangent[k + 1], tangent[k + 2], tangent[k + 3]
        for i in range(old.shape[0]):
            turn = turned[i]
            w0 = weights[k, i] - back * trace[k, i]
            w1 = weights[k + 1, i] - back * trace[k + 1, i]
            w2 = weights[k + 2, i] - back * trace[k + 2, i]
            w3 = weights[k + 3, i] - back * trace[k + 3, i]
            t0 = shrink * trace[k, i] + turn * x0
            t1 = shrink * trace[k + 1, i] + turn * x1
            t2 = shrink * trace[k + 2, i] + turn * x2
            t3 = shrink * trace[k + 3, i] + turn * x3
            weights[k, i], weights[k + 1, i], weights[k + 2, i], weights[k + 3, i] = w0, w1, w2, w3
            trace[k, i], trace[k + 1, i], trace[k + 2, i], trace[k + 3, i] = t0, t1, t2, t3
            ahead[i] += (w0 * n0 + w1 * n1) + (w2 * n2 + w3 * n3)
            moved[i] += (w0 * m0 + w1 * m1) + (w2 * m2 + w3 * m3)
            sums[i] += (t0 * t0 + t1 * t1) + (t2 * t2 + t3 * t3)
    return float(sums.sum())


@step_jit
def _renew_sight(work, row, first, n, reach, turned, back, shrink):
    """For the windows n+1..reach-1: W_b -= back · θ̃_b, then θ̃_b ← shrink · θ̃_b + turned [1, u_n]ᵀ."""
    for j in range(n + 1, reach):
        g = row[j]
        inputs, traced = work.sight[j - first], work.traced[j - first]
        for i in range(turned.shape[0]):
            inputs[i] -= back * traced[i]
            traced[i] = shrink * traced[i] + turned[i] * g


@step_jit
def _uoro_step(settings, work, row, signs, first, n, reach, live, tangent, norms, back):
    """Take W -= back · θ̃, then renew x̃ and θ̃ (Algorithm 1); `norms` is ‖θ̃_a‖², ‖θ̃_b‖²."""
    turned, moved, slope, old = work.terms[n], work.vectors[1], work.slopes[n], work.states[n]
    for i in range(turned.shape[0]):
        moved[i] *= slope[i]
        turned[i] = signs[i] * slope[i]
    rho0 = math.sqrt(math.sqrt(norms[0] + norms[1]) / (math.sqrt(float(_dot(moved, moved))) + _EPS)) + _EPS
    window = float(row[n])
    size = math.sqrt(float(_dot(turned, turned)) * (float(_dot(old, old)) + window))
    rho1 = math.sqrt(size / (math.sqrt(float(settings.units)) + _EPS)) + _EPS
    grow, kick, less = turned.dtype.type(rho0), turned.dtype.type(rho1), turned.dtype.type(1.0 / rho1)
    for i in range(turned.shape[0]):
        tangent[i] = grow * moved[i] + kick * signs[i]
        turned[i] *= less
    shrink = 1.0 / rho0
    for k in range(live, n):
        work.fade[1, k] += back * work.fade[0, k]
        work.fade[0, k] *= shrink
    work.fade[0, n], work.fade[1, n] = 1.0, 0.0
    cross = float(_dot(turned, work.traced[n - first]))
    norms[1] = max(shrink * (shrink * norms[1] + 2.0 * cross) + float(_dot(turned, turned)) * window, 0.0)
    b, s = turned.dtype.type(back), turned.dtype.type(shrink)
    norms[0] = _renew_recurrent(work, old, work.states[n + 1], tangent, turned, b, s)
    _renew_sight(work, row, first, n, reach, turned, b, s)


@step_jit
def _uoro_block(settings, work, gram, series, clean, signs, first, last, reach, live, norms, learned, speak, out):
    """The steps first..last-1; returns whether anything has been learned yet."""
    L, h = settings.history, settings.horizon
    ahead, pull, tangent = work.vectors[0], work.vectors[3], work.vectors[4]
    for n in range(first, last):
        s, seen = n + L - 1, work.states[n + 1]
        _forward(work, n, n - first, ahead)
        _read(work, series, s + h, seen, pull)
        if learned and not settings.delayed:
            _copy(work.output[0], out[s])
        along, step = float(_dot(pull, tangent)), 0.0
        if clean[s] >= L and clean[s + h] >= 1:
            step = _scale(settings, work, seen, along * along * (norms[0] + norms[1]))
            _renew_readout(work, seen, step)
            learned = True
        _uoro_step(settings, work, gram[n], signs[n], first, n, reach, live, tangent, norms, step * along)
        if learned and settings.delayed and s + h >= speak:
            _replay(work, work.recurrent[0], True, seen, ahead, n + 1 - first, h)
            _copy(work.output[0], out[s + h])
    return learned


@jit
def uoro_run(settings, work, gram, start, series, clean, signs, speak, out):
    """One run of UORO over a recording.

    work.recurrent[0] and work.readout hold the initial weights, all else is zero; start (N, q) is W_b,0 [1, u_n].
    The other arguments are those of kernels.network.advance, for one run: signs (N, q) of each step, out (n, p).
    """
    windows, steps = start.shape[0], series.shape[0] - settings.horizon - settings.history + 1
    norms, live, learned = np.zeros(2), 0, False
    for first in range(0, max(steps, 0), BLOCK):
        last = min(first + BLOCK, steps)
        reach = min(last + settings.horizon, windows) if settings.delayed else last
        live = _open_block(work, gram, first, reach, live)
        _look_ahead(work, gram, start, first, reach)
        learned = _uoro_block(
            settings, work, gram, series, clean, signs, first, last, reach, live, norms, learned, speak, out
        )


# --- RTRL, SnAp-1, DNI, fixed: the gradient is Σ_k δ_k [x_k, 1, u_k]ᵀ over the last steps -----------------------------


@step_jit
def _carry_back(settings, work, n, newest, pull):
    """δ_0 = pull ∘ φ', δ_{k+1} = (W_aᵀ δ_k) ∘ φ', of the steps newest, newest - 1, ...; returns how many count.

    SnAp-1 has the diagonal of W_a in the place of W_a.
    """
    exact, depth = settings.rule == RTRL, work.deltas.shape[0] - 3
    carried, count, total = work.vectors[1], 0, 0.0
    _copy(pull, carried)
    for k in range(newest, max(n - depth, -1), -1):
        delta, slope = work.deltas[count], work.slopes[k]
        for i in range(delta.shape[0]):
            delta[i] = carried[i] * slope[i]
        size = float(_dot(delta, delta))
        total += size
        count += 1
        if size <= settings.tail * total:
            break
        if exact:
            _zero(carried)
            _add_rows(work.recurrent[k % depth], delta, carried)
        else:
            for i in range(delta.shape[0]):
                carried[i] = work.own[k % depth, i] * delta[i]
    for k in range(count, count + 3):
        _zero(work.deltas[k])
    return count


@step_jit
def _learn_credit(settings, work, n, series, target, pull, learn):
    """DNI: the credit c = [x, y*, 1] A into the only δ = c ∘ φ', with A learned first: see kernels.network._dni."""
    A, old, slope, new = work.credit, work.feature, work.slopes[n], work.states[n + 1]
    W, miss, ahead, turned = work.recurrent[0], work.vectors[1], work.vectors[2], work.deltas[0]
    q, p = new.shape[0], series.shape[1]
    for i in range(q):
        miss[i] = -pull[i]
        ahead[i] = A[q + p, i]
    for j in range(q + p + 1):
        a = new[j] if j < q else (series[target, j - q] if j < q + p else A.dtype.type(0))
        b = old[j]
        for i in range(q):
            miss[i] += b * A[j, i]
            ahead[i] += a * A[j, i]
    for i in range(q):
        ahead[i] *= -slope[i]
    _add_rows(W, ahead, miss)
    rate = A.dtype.type(settings.credit_rate if learn else 0.0)
    for i in range(q):
        turned[i] = rate * slope[i] * _dot(W[i], miss)
    credit = work.vectors[2]
    _zero(credit)
    for i in range(q):
        miss[i] *= rate
    for j in range(q + p + 1):
        a = new[j] if j < q else (series[target, j - q] if j < q + p else A.dtype.type(1))
        b = old[j]
        for i in range(q):
            A[j, i] -= b * miss[i] - a * turned[i]
            credit[i] += b * A[j, i]
        old[j] = a
    for i in range(q):
        turned[i] = credit[i] * slope[i]
    for k in range(1, 4):
        _zero(work.deltas[k])


@step_jit
def _add_terms(deltas, count, row, newest, factor, out):
    """Out += factor Σ_k row[newest - k] δ_k, four terms at a time: beyond the last of them are zeros."""
    for k in range(0, count, 4):
        at = newest - k
        a, b = factor * row[at], factor * row[max(at - 1, 0)]
        c, d = factor * row[max(at - 2, 0)], factor * row[max(at - 3, 0)]
        for i in range(out.shape[0]):
            out[i] += (deltas[k, i] * a + deltas[k + 1, i] * b) + (deltas[k + 2, i] * c + deltas[k + 3, i] * d)


@step_jit
def _sum_gradient(work, gram, newest, count):
    """Σ_k δ_k x_kᵀ into work.gradient; returns the squared norm of that and of the gradient of W_b."""
    gradient, deltas, states, met = work.gradient, work.deltas, work.states, work.vectors[1]
    whole = gradient.reshape(gradient.size)
    if count == 1:
        for i in range(gradient.shape[0]):
            for j in range(gradient.shape[1]):
                gradient[i, j] = deltas[0, i] * states[newest, j]
    else:
        _zero(whole)
    for k in range(0, count if count > 1 else 0, 4):
        at = newest - k
        x0, x1, x2, x3 = states[at], states[max(at - 1, 0)], states[max(at - 2, 0)], states[max(at - 3, 0)]
        for i in range(gradient.shape[0]):
            a, b, c, d = deltas[k, i], deltas[k + 1, i], deltas[k + 2, i], deltas[k + 3, i]
            for j in range(gradient.shape[1]):
                gradient[i, j] += (a * x0[j] + b * x1[j]) + (c * x2[j] + d * x3[j])
    size = float(_dot(whole, whole))
    one = deltas.dtype.type(1)
    for k in range(count):
        _zero(met)
        _add_terms(deltas, count, gram[newest - k], newest, one, met)
        size += float(_dot(deltas[k], met))
    return max(size, 0.0)


@step_jit
def _descend(work, gram, first, n, newest, count, reach, step):
    """W -= step · gradient, into the next place of the memory of W_a, and W_a x' with it."""
    places = work.recurrent.shape[0]
    old, new = work.recurrent[n % places], work.recurrent[(n + 1) % places]
    gradient, ahead, state = work.gradient, work.vectors[0], work.states[n + 1]
    a = old.dtype.type(step)
    for i in range(old.shape[0]):
        if places == 1:  # in place: a compiler that must fear two names of one array does not vectorise
            for k in range(old.shape[1]):
                old[i, k] -= a * gradient[i, k]
        else:
            for k in range(old.shape[1]):
                new[i, k] = old[i, k] - a * gradient[i, k]
        ahead[i] = _dot(new[i], state)
    for k in range(count):
        for i in range(ahead.shape[0]):
            work.coefficients[newest - k, i] -= a * work.deltas[k, i]
    for j in range(n + 1, reach):
        _add_terms(work.deltas, count, gram[j], newest, -a, work.sight[j - first])


@step_jit
def _terms_block(settings, work, gram, series, clean, first, last, reach, learned, speak, out):
    """The steps first..last-1; returns whether anything has been learned yet."""
    L, h, back = settings.history, settings.horizon, 1 if settings.before else 0
    ahead, pull = work.vectors[0], work.vectors[3]
    for n in range(first, last):
        s, seen = n + L - 1, work.states[n + 1 - back]
        _forward(work, n, n - first, ahead)
        _read(work, series, s + h, seen, pull)
        if learned and not settings.delayed:
            _copy(work.output[0], out[s])
        learn = clean[s] >= L and clean[s + h] >= 1
        for i in range(work.own.shape[1] if work.own.shape[0] else 0):
            work.own[n % work.own.shape[0], i] = work.recurrent[0, i, i]
        count, step = 0, 0.0
        if settings.rule == DNI:
            _learn_credit(settings, work, n, series, s + h, pull, learn)
            count = 1 if learn else 0
        elif learn and settings.rule != FIXED:
            count = _carry_back(settings, work, n, n - back, pull)
        if learn:
            size = _sum_gradient(work, gram, n - back, count) if count else 0.0
            step = _scale(settings, work, seen, size)
            _renew_readout(work, seen, step)
            learned = True
        _descend(work, gram, first, n, n - back, count, reach, step if count else 0.0)
        if learned and settings.delayed and s + h >= speak:
            weights = work.recurrent[(n + 1) % work.recurrent.shape[0]]
            _replay(work, weights, False, work.states[n + 1], ahead, n + 1 - first, h - back)
            _copy(work.output[0], out[s + h])
    return learned


@jit
def terms_run(settings, work, gram, start, series, clean, speak, out):
    """One run of a rule other than UORO over a recording; the arguments are those of uoro_run, W_a as itself."""
    windows, steps, learned = start.shape[0], series.shape[0] - settings.horizon - settings.history + 1, False
    for first in range(0, max(steps, 0), BLOCK):
        last = min(first + BLOCK, steps)
        reach = min(last + settings.horizon, windows) if settings.delayed else last
        _look_ahead(work, gram, start, first, reach)
        learned = _terms_block(settings, work, gram, series, clean, first, last, reach, learned, speak, out)
