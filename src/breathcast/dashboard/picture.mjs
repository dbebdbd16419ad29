// The pictures of positions and errors, and what is chosen to be in them.
import { drawErrors, drawMotion } from "./charts.mjs";
import { id, made, offer, remember, remembered } from "./dom.mjs";
import { look, Plot, tint } from "./plot.mjs";
import { onTheme } from "./theme.mjs";

export const AXES = ["x", "y", "z"];

export class Picture {
  #session = null;

  constructor() {
    this.error = new Plot(id("error"), { title: "mm" });
    this.plots = [];
    this.regions = remembered("regions", "on") === "on";
    this.#key();
    onTheme(() => this.#swatches());
  }

  // Another session: its markers, axes and horizons.
  show(session) {
    this.#session = session;
    const { names, dimension } = session.shape;
    offer(id("marker"), names);
    this.plots = AXES.slice(0, dimension).map((axis) => {
      const label = `Position along ${axis} over the last 30 s: truth, forecasts and their region`;
      return new Plot(made("canvas", "", { class: "plot", role: "img", "aria-label": label }), { title: `${axis}, mm` });
    });
    id("axes").replaceChildren(...this.plots.map((plot) => plot.canvas));
    this.error.low = null;
    const boxes = session.summary.horizons.map(({ used_ms: used }, k) => {
      const box = made("input", "", { type: "checkbox" });
      box.checked = k < 2;
      box.dataset.horizon = String(k);
      const swatch = made("canvas", "", { class: "swatch", "data-look": String(k), "aria-hidden": "true" });
      return made("label", "", {}, [box, swatch, made("span", `${Math.round(used)} ms`)]);
    });
    id("horizons").replaceChildren(...boxes);
    this.#swatches();
  }

  get marker() {
    return Number(id("marker").value || 0);
  }

  get chosen() {
    return [...id("horizons").querySelectorAll("input:checked")].map((box) => Number(box.dataset.horizon));
  }

  toggleHorizon(k) {
    id("horizons").querySelectorAll("input")[k]?.click();
  }

  nextMarker() {
    const list = id("marker");
    list.selectedIndex = (list.selectedIndex + 1) % Math.max(1, list.options.length);
  }

  // `gate` is the window of the preview, drawn where its marker is shown; `words` cover a picture that is not live.
  draw(gate, words) {
    const session = this.#session;
    const now = session.now();
    const { marker, chosen, regions } = this;
    if (marker !== this.drawnMarker) for (const plot of this.plots) plot.low = null;
    this.drawnMarker = marker;
    this.plots.forEach((plot, axis) => {
      drawMotion(plot, session.history, { marker, axis, chosen, regions, now });
      if (gate?.marker === marker) drawEdges(plot, gate, axis);
      if (words) plot.cover(words);
    });
    drawErrors(this.error, session.history, { marker, chosen, now });
    if (words) this.error.cover(words);
  }

  #key() {
    const swatch = (name) => made("canvas", "", { class: "swatch", "data-line": name, "aria-hidden": "true" });
    const entry = (name, text) => made("span", "", {}, [swatch(name), made("span", text)]);
    const box = made("input", "", { type: "checkbox", id: "regions" });
    box.checked = this.regions;
    box.addEventListener("change", () => {
      this.regions = box.checked;
      remember("regions", box.checked ? "on" : "off");
    });
    const regions = made("label", "", {}, [box, made("span", "region")]);
    const text = "no prediction (the position of now, for the longest chosen time ahead)";
    id("key").replaceChildren(regions, entry("truth", "measured"), entry("none", text));
  }

  #swatches() {
    for (const canvas of document.querySelectorAll("canvas.swatch")) {
      const style = canvas.dataset.look !== undefined ? look(Number(canvas.dataset.look)) : keyLook(canvas.dataset.line);
      drawSwatch(canvas, style);
    }
  }
}

function keyLook(name) {
  return name === "truth" ? { colour: tint("truth"), dash: [], width: 3 } : { colour: tint("none"), dash: [1, 3], width: 2 };
}

function drawSwatch(canvas, { colour, dash, width = 2.4 }) {
  [canvas.width, canvas.height] = [58, 20]; // twice its size on the page, for sharp screens
  const context = canvas.getContext("2d");
  context.scale(2, 2);
  context.strokeStyle = colour;
  context.lineWidth = width;
  context.setLineDash(dash);
  context.beginPath();
  context.moveTo(0, 5);
  context.lineTo(29, 5);
  context.stroke();
}

// The window of the gating preview along one axis.
function drawEdges(plot, gate, axis) {
  const edges =
    gate.kind === "ball"
      ? gate.centre && [gate.centre[axis] - gate.radius, gate.centre[axis] + gate.radius]
      : gate.axis === axis && [gate.low, gate.high];
  if (!edges) return;
  plot.clip();
  const { context } = plot;
  context.strokeStyle = tint("h3");
  context.lineWidth = 1;
  context.setLineDash([6, 4]);
  for (const edge of edges) {
    context.beginPath();
    context.moveTo(0, plot.y(edge));
    context.lineTo(plot.width, plot.y(edge));
    context.stroke();
  }
  context.setLineDash([]);
  plot.unclip();
}
