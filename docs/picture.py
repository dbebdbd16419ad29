"""Draws the picture in the README: `python docs/picture.py`."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt

import breathcast as bc

HORIZON, MARKER, AXIS, WINDOW = 0.5, 0, 2, (75.0, 100.0)


def main() -> None:
    """Half a second ahead, on simulated breathing: the truth, no prediction, and a forecast with its region."""
    recording = bc.simulate("regular", duration=120.0, seed=4)
    forecast = bc.evaluate(bc.Blend(), recording, horizon=HORIZON)
    region = bc.regions(forecast, 0.9).radius[:, MARKER]
    without = bc.evaluate(bc.Persistence(), recording, horizon=HORIZON)
    shown = (forecast.times >= WINDOW[0]) & (forecast.times <= WINDOW[1])
    times = forecast.times[shown]
    mpl.rcParams.update({"svg.hashsalt": "breathcast", "font.size": 10, "svg.fonttype": "none"})
    figure, (above, below) = plt.subplots(
        2, 1, figsize=(9, 4.2), sharex=True, height_ratios=(2, 1), layout="constrained"
    )
    above.plot(times, forecast.truth[shown, MARKER, AXIS], color="0.15", lw=2.2, label="where the marker was")
    above.plot(times, without.predictions[0, shown, MARKER, AXIS], color="C1", lw=1.2, ls="--", label="no prediction")
    above.plot(
        times, forecast.predictions[0, shown, MARKER, AXIS], color="C0", lw=1.6, label=f"forecast {HORIZON:g} s before"
    )
    middle, radius = forecast.predictions[0, shown, MARKER, AXIS], region[shown]
    above.fill_between(
        times, middle - radius, middle + radius, color="C0", alpha=0.18, lw=0, label="holds the truth 9 times in 10"
    )
    above.set_ylabel("antero-posterior (mm)")
    above.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=4, frameon=False)
    for result, colour in ((without, "C1"), (forecast, "C0")):
        error = ((result.predictions[0] - result.truth) ** 2).sum(axis=2)[shown, MARKER] ** 0.5
        below.plot(times, error, color=colour, lw=1.4, label=f"RMSE {result.scores['rmse'].mean:.2f} mm")
    below.set(xlabel="time (s)", ylabel="3-D error (mm)", ylim=(0, 11), xlim=WINDOW)
    below.legend(loc="upper right", frameon=False, ncols=2)
    for axes in (above, below):
        axes.spines[["top", "right"]].set_visible(False)
    target = Path(__file__).parent / "forecast.svg"
    figure.savefig(target, metadata={"Date": None}, facecolor="white")


if __name__ == "__main__":
    main()
