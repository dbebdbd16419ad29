// The line to the server: requests, and a stream of outputs that comes back by itself.
import { backOff } from "./liveness.mjs";

const PATIENCE_MS = 5000;
const token = new URLSearchParams(location.hash.slice(1)).get("token");

export class Refused extends Error {
  constructor(status, told) {
    super(told.problem ?? `the server answered ${status}`);
    this.status = status;
    this.cure = told.cure ?? "";
  }
}

export async function ask(path, { method = "GET", body } = {}) {
  const headers = { ...(token && { Authorization: `Bearer ${token}` }), ...(body && { "Content-Type": "application/json" }) };
  const answer = await fetch(path, {
    method,
    headers,
    body: body && JSON.stringify(body),
    cache: "no-store",
    signal: AbortSignal.timeout(PATIENCE_MS),
  });
  if (!answer.ok) throw new Refused(answer.status, await answer.json().catch(() => ({})));
  return answer.json();
}

export const address = (name, rest = "") => `api/sessions/${encodeURIComponent(name)}${rest}`;

// The outputs of one session. `heard(message)` for each message; `changed(connected, retryAt)` when the line does.
export class Stream {
  #socket = null;
  #timer = null;
  #attempt = 0;
  #closed = false;

  constructor(name, { heard, changed }) {
    this.name = name;
    this.heard = heard;
    this.changed = changed;
    this.#connect();
  }

  #connect() {
    const place = new URL(address(this.name, "/stream"), location.href);
    place.protocol = place.protocol === "https:" ? "wss:" : "ws:";
    place.hash = "";
    const socket = new WebSocket(place);
    this.#socket = socket;
    const patience = setTimeout(() => socket.close(), PATIENCE_MS);
    socket.onopen = () => {
      clearTimeout(patience);
      if (token) socket.send(JSON.stringify({ type: "hello", token }));
      this.changed(true, null);
    };
    socket.onmessage = (event) => {
      if (socket !== this.#socket) return;
      this.#attempt = 0; // an open line that says nothing is not yet a good one
      this.heard(JSON.parse(event.data));
    };
    socket.onclose = () => {
      clearTimeout(patience);
      if (socket === this.#socket) this.#retry();
    };
  }

  #retry() {
    this.#socket = null;
    if (this.#closed) return;
    const wait = backOff(this.#attempt);
    this.#attempt += 1;
    this.changed(false, performance.now() + wait);
    this.#timer = setTimeout(() => this.#connect(), wait);
  }

  // The line is dead though nobody said so, or there is reason to believe that it would work again.
  again() {
    if (this.#closed) return;
    clearTimeout(this.#timer);
    const socket = this.#socket;
    this.#socket = null;
    socket?.close();
    this.changed(false, null);
    this.#connect();
  }

  close() {
    this.#closed = true;
    clearTimeout(this.#timer);
    const socket = this.#socket;
    this.#socket = null;
    socket?.close();
  }
}
