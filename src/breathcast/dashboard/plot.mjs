// A picture over time on a canvas: a scale in mm on the left, seconds before now below.
import { colour, onTheme } from "./theme.mjs";

const NAMES = ["ink", "soft", "rule", "shade", "paper", "flag", "truth", "none", "h0", "h1", "h2", "h3", "hold", "hold-ink", "degraded-ink", "warmup-ink", "fault"];
const LEFT = 46;
const BELOW = 16;
let colours = {};

function readColours() {
  colours = Object.fromEntries(NAMES.map((name) => [name, colour(name)]));
}
readColours();
onTheme(readColours);

// Forecasts differ by colour and by dash: nobody has to see colours.
const DASHES = [[], [7, 3], [2, 3], [9, 3, 2, 3]];
export const look = (k) => ({ colour: colours[`h${k % 4}`], dash: DASHES[(k + Math.floor(k / 4)) % 4] });
export const tint = (name) => colours[name];

// A step of 1, 2 or 5 times a power of ten with at most `most` steps in the span.
export function niceStep(span, most) {
  const rough = span / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  return power * ([1, 2, 5].find((factor) => factor * power >= rough) ?? 10);
}

export class Plot {
  constructor(canvas, { title = "" } = {}) {
    this.canvas = canvas;
    this.title = title;
    this.context = canvas.getContext("2d");
    this.low = this.high = null;
  }

  // Begin a picture of the times from `from` to `to`; `now` is where the seconds count from.
  begin(from, to, now) {
    const { canvas, context } = this;
    const ratio = Math.min(window.devicePixelRatio || 1, 2);
    [this.width, this.height] = [canvas.clientWidth, canvas.clientHeight];
    const [wide, high] = [Math.round(this.width * ratio), Math.round(this.height * ratio)];
    if (canvas.width !== wide || canvas.height !== high) [canvas.width, canvas.height] = [wide, high];
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    context.font = "12px system-ui, sans-serif";
    [this.from, this.to, this.now] = [from, to, now];
    this.bottom = this.height - BELOW;
    return this;
  }

  x(time) {
    return LEFT + ((time - this.from) / (this.to - this.from)) * (this.width - LEFT - 4);
  }

  y(value) {
    return this.bottom - ((value - this.low) / (this.high - this.low)) * (this.bottom - 6);
  }

  // A scale that shows all of the range: it grows at once, and shrinks only when much of it is empty, or the eye gets lost.
  scale(low, high, { margin = 0.15, least = 0.5 } = {}) {
    if (!(low <= high)) [low, high] = [-1, 1];
    const span = Math.max(high - low, least);
    const middle = (low + high) / 2;
    const [bottom, top] = [middle - span * (0.5 + margin), middle + span * (0.5 + margin)];
    const fits = this.low !== null && this.low <= low && this.high >= high && this.high - this.low < 1.6 * (top - bottom);
    if (!fits) [this.low, this.high] = [bottom, top];
  }

  grid() {
    const { context } = this;
    context.lineWidth = 1;
    context.setLineDash([]);
    context.strokeStyle = tint("rule");
    context.fillStyle = tint("soft");
    this.#levels();
    this.seconds();
    if (this.title) {
      this.label(this.title, LEFT + 6, 15);
    }
  }

  #levels() {
    const { context } = this;
    const step = niceStep(this.high - this.low, Math.max(2, this.height / 32));
    const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
    context.textAlign = "right";
    context.textBaseline = "middle";
    for (let level = Math.ceil(this.low / step) * step; level <= this.high; level += step) {
      const y = Math.round(this.y(level)) + 0.5;
      this.#stroke(LEFT, y, this.width - 4, y);
      if (y > 20 || !this.title) context.fillText((Math.abs(level) < step / 2 ? 0 : level).toFixed(digits).replace("-", "−"), LEFT - 5, y);
    }
    context.textBaseline = "alphabetic";
  }

  seconds() {
    const { context } = this;
    context.textAlign = "center";
    context.strokeStyle = tint("rule");
    context.fillStyle = tint("soft");
    const step = this.width < 480 ? 10 : 5;
    for (let back = 0; this.now - back >= this.from - 1e-6; back += step) {
      const x = Math.round(this.x(this.now - back)) + 0.5;
      if (x < LEFT) break;
      this.#stroke(x, 4, x, this.bottom);
      context.fillText(back === 0 ? "now" : `−${back} s`, Math.min(x, this.width - 14), this.height - 3);
    }
  }

  // Text that stays readable over lines.
  label(text, x, y, style = tint("ink")) {
    const { context } = this;
    context.textAlign = "left";
    context.lineWidth = 4;
    context.lineJoin = "round";
    context.strokeStyle = tint("shade");
    context.strokeText(text, x, y);
    context.fillStyle = style;
    context.fillText(text, x, y);
  }

  #stroke(x, y, toX, toY) {
    this.context.beginPath();
    this.context.moveTo(x, y);
    this.context.lineTo(toX, toY);
    this.context.stroke();
  }

  clip() {
    this.context.save();
    this.context.beginPath();
    this.context.rect(LEFT, 0, this.width - LEFT, this.bottom);
    this.context.clip();
  }

  unclip() {
    this.context.restore();
  }

  // A line through [time, value] points; it breaks where a value is missing or where time jumps by more than `gap`.
  line(points, { stroke, dash = [], width = 1.6, gap }) {
    const { context } = this;
    context.strokeStyle = stroke;
    context.lineWidth = width;
    context.setLineDash(dash);
    context.lineJoin = "round";
    context.beginPath();
    let before = null;
    for (const [time, value] of points) {
      if (value === null || !Number.isFinite(value)) {
        before = null;
        continue;
      }
      if (before === null || time - before > gap) context.moveTo(this.x(time), this.y(value));
      else context.lineTo(this.x(time), this.y(value));
      before = time;
    }
    context.stroke();
    context.setLineDash([]);
  }

  // The region: [time, value, radius] points, filled faintly between value − radius and value + radius.
  band(points, fill, gap) {
    const { context } = this;
    let run = [];
    const finish = () => {
      if (run.length > 1) {
        context.beginPath();
        for (const [time, value, radius] of run) context.lineTo(this.x(time), this.y(value + radius));
        for (const [time, value, radius] of run.reverse()) context.lineTo(this.x(time), this.y(value - radius));
        context.globalAlpha = 0.12;
        context.fillStyle = fill;
        context.fill();
        context.globalAlpha = 1;
      }
      run = [];
    };
    for (const point of points) {
      const known = Number.isFinite(point[1]) && point[2] !== null;
      if (!known || (run.length && point[0] - run.at(-1)[0] > gap)) finish();
      if (known) run.push(point);
    }
    finish();
  }

  // What makes the picture unfit to be believed: veiled, crossed out and in words.
  cover(words) {
    const { context } = this;
    context.fillStyle = tint("shade");
    context.globalAlpha = 0.65;
    context.fillRect(0, 0, this.width, this.height);
    context.globalAlpha = 1;
    context.strokeStyle = tint("flag");
    context.lineWidth = 1;
    for (let x = -this.height; x < this.width; x += 40) this.#stroke(x, this.height, x + this.height, 0);
    const middle = this.bottom / 2;
    context.fillStyle = tint("paper");
    context.fillRect(0, middle - 17, this.width, 34);
    context.fillStyle = tint("flag");
    context.font = "bold 20px system-ui, sans-serif";
    context.textAlign = "center";
    context.fillText(words, this.width / 2, middle + 7);
  }
}

export { LEFT };
