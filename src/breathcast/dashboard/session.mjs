// One session as the page knows it: what the stream, the list and the past say of it, put together.
import { History } from "./history.mjs";
import { liveness, Sequence } from "./liveness.mjs";
import { address, ask, Stream } from "./server.mjs";

const NEWS = ["late", "early", "duplicate", "foreign", "refused", "invalid", "missing"];
const NEWS_MS = 10000; // how long a counter that went up is pointed out

export class LiveSession {
  // `changed()` when the state, its cause or the line did.
  constructor(summary, changed) {
    this.name = summary.name;
    this.changed = changed;
    this.shape = shapeOf(summary);
    this.history = new History(this.shape);
    this.sequence = new Sequence();
    this.status = null;
    this.news = new Map(); // when a counter last went up
    this.connected = false;
    this.retryAt = null;
    this.sampleAt = null; // when the last sample came in, by the clock of this page
    this.dropped = 0;
    this.waiting = []; // outputs that came before the past was there
    this.hear(summary);
    this.stream = new Stream(this.name, { heard: (message) => this.#heard(message), changed: (...line) => this.#line(...line) });
  }

  close() {
    this.stream.close();
  }

  // A summary of the list.
  hear(summary) {
    this.summary = summary;
    if (this.status === null || summary.sequence >= this.status.sequence) this.#state(summary);
  }

  #line(connected, retryAt) {
    [this.connected, this.retryAt] = [connected, retryAt];
    if (connected) {
      this.waiting = [];
      this.#past();
    } else {
      this.sampleAt = null;
    }
    this.changed();
  }

  // Fills the picture with what was said before the line was there.
  async #past() {
    const waiting = this.waiting;
    const limit = Math.min(3000, Math.ceil(31 * this.shape.rate));
    const past = await ask(address(this.name, `/recent?limit=${limit}`)).catch(() => []);
    if (waiting !== this.waiting) return; // the line broke and came back meanwhile
    // A server that counts from the beginning again has a new past, and the old one must not go on in it.
    if (past.length && this.sequence.newest !== null && past.at(-1).sequence < this.sequence.newest) this.#forget();
    for (const output of past) this.#take(output);
    this.waiting = null;
    for (const message of waiting) this.#take(message, true);
    this.changed();
  }

  #forget() {
    this.history = new History(this.shape);
    this.sequence = new Sequence();
    this.status = null;
  }

  #heard(message) {
    if (message.type === "dropped") this.dropped += message.count;
    if (message.type !== "output") return;
    if (this.waiting === null) this.#take(message, true);
    else this.waiting.push(message);
  }

  #take(output, fresh = false) {
    const isNew = this.sequence.take(output.sequence);
    // What repeats a number is an answer to a refused sample: it has news, but no place in the picture.
    if (this.status === null || output.sequence >= this.status.sequence) this.#state(output);
    if (!isNew || !this.history.take(output)) return;
    this.forecasts = output.forecasts;
    if (fresh) this.#mark(output.time);
  }

  // Clock of the page against that of the samples, smoothed, so that the picture flows though samples come unevenly.
  #mark(time) {
    this.sampleAt = performance.now();
    const offset = time - this.sampleAt / 1000;
    const step = offset - this.offset;
    this.offset = Math.abs(step) < 0.25 ? this.offset + 0.05 * step : offset;
  }

  #state(told) {
    const before = this.status;
    for (const name of NEWS) {
      if (before && told.counters[name] > before.counters[name]) this.news.set(name, performance.now());
    }
    this.status = {
      sequence: told.sequence,
      state: told.state,
      cause: told.cause,
      detail: told.detail,
      counters: told.counters,
      clock: told.clock,
    };
    if (before?.state !== told.state || before?.cause !== told.cause) this.changed();
  }

  isNews(name) {
    return performance.now() - (this.news.get(name) ?? -Infinity) < NEWS_MS;
  }

  // An operator must act: "rearm", "resume" or nothing.
  get needs() {
    const { state, cause } = this.status;
    if (state === "FAULT" || (state === "HOLD" && cause === "journal")) return "resume";
    if (state !== "HOLD") return "";
    // The list may be a moment behind the stream; the settings say the same, and are there.
    return this.summary.latched || this.summary.settings.limits.latch ? "rearm" : "";
  }

  get sampleAge() {
    return this.sampleAt === null ? Infinity : performance.now() - this.sampleAt;
  }

  get liveness() {
    // A hiccup of one period of a slow tracker is no loss.
    const staleMs = Math.max(this.summary.settings.limits.stale_ms, 2500 / this.shape.rate);
    return liveness({ connected: this.connected, sampleAge: this.sampleAge, staleMs });
  }

  // The present by the clock of the samples; when nothing comes, it stands still.
  now() {
    const newest = this.history.samples.at(-1);
    if (!newest) return 0;
    if (this.liveness === "live") this.frozenNow = Math.max(newest.time, performance.now() / 1000 + this.offset);
    return Math.max(this.frozenNow ?? newest.time, newest.time);
  }
}

function shapeOf({ settings, horizons }) {
  const { markers, dimension, rate } = settings;
  const names = Array.isArray(markers) ? markers : Array.from({ length: markers }, (_, n) => `marker ${n + 1}`);
  return { markers: names.length, names, dimension, rate, horizons: horizons.length };
}
