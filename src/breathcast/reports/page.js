"use strict";
// Draws the figures of a page from its blocks of JSON, when they come into view. Needs Plotly.
(() => {
  // Exactly these buttons: newer Plotly versions add one of their own that sends the data to a server.
  const config = {
    displaylogo: false,
    responsive: true,
    showSendToCloud: false,
    plotlyServerURL: "",
    modeBarButtons: [["toImage"], ["zoom2d", "pan2d", "resetScale2d"]],
  };
  const MISSING = -32768;
  const PAPER = 680; // px, the width of a figure on paper

  const read = (id) => JSON.parse(document.getElementById(id).textContent);

  // Hundredths of a millimetre about an offset, as 16-bit integers in base64.
  const unpack = (text, offset) => {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    const view = new DataView(bytes.buffer);
    return Array.from({ length: bytes.length / 2 }, (_, i) => {
      const value = view.getInt16(2 * i, true);
      return value === MISSING ? null : Math.round(value + 100 * offset) / 100;
    });
  };

  const chosen = (figure, name) => figure.querySelector(`select[data-name="${name}"]`);
  const ticked = (figure) =>
    new Set([...figure.querySelectorAll("input[type=checkbox]:checked")].map((box) => box.value));

  const kinds = {
    plain: (figure, data) => data,

    // One of several descriptions: each list chooses further down; the boxes, if there are any, show its lines.
    choice: (figure, data) => {
      const spec = [...figure.querySelectorAll("select")].reduce((found, list) => found[list.value], data);
      if (!figure.querySelector("input[type=checkbox]")) return spec;
      const shown = ticked(figure);
      return { ...spec, data: spec.data.map((line) => ({ ...line, visible: shown.has(line.name) })) };
    },

    times: (figure, data) => {
      const recording = data.recordings[chosen(figure, "recording").value];
      offer(chosen(figure, "coordinate"), recording);
      const place = recording.coordinates[chosen(figure, "coordinate").value];
      const forecasts = lines(figure, data, recording.times, place.lines, (text) => unpack(text, place.offset));
      const look = { color: "#808080", width: 4 };
      const truth = { ...LINE, name: "truth", x: recording.times, y: unpack(place.truth, place.offset), line: look };
      // Keeps a zoom while methods are ticked, but not when another recording or coordinate is chosen.
      const layout = { ...data.layout, uirevision: `${recording.name}/${place.name}` };
      return { data: [truth, ...forecasts], layout };
    },

    loss: (figure, data) => {
      const recording = data.recordings[chosen(figure, "recording").value];
      const decibels = (text) => unpack(text, 0).map((value) => (value === null ? null : 10 ** (value / 10)));
      const layout = { ...data.layout, uirevision: recording.name };
      return { data: lines(figure, data, recording.times, recording.lines, decibels), layout };
    },
  };

  const LINE = { type: "scatter", mode: "lines" };

  // The lines of the methods that are ticked; where there is a list of horizons, those of the chosen one.
  const lines = (figure, data, times, packed, decode) => {
    const list = chosen(figure, "horizon");
    const there = list ? (packed[list.value] ?? {}) : packed;
    const shown = ticked(figure);
    return data.legend
      .filter((entry) => shown.has(entry.name) && entry.name in there)
      .map((entry) => ({
        ...LINE,
        name: entry.name,
        x: times,
        y: decode(there[entry.name]),
        line: { color: entry.colour, dash: entry.dash, width: 1.8 },
      }));
  };

  // Lists the coordinates of a recording; the one that was chosen stays so, if it is there.
  const offer = (list, recording) => {
    const names = recording.coordinates.map((entry) => entry.name);
    const offered = [...list.options].map((option) => option.text);
    if (names.join("\n") === offered.join("\n")) return;
    const before = list.selectedOptions[0]?.text;
    list.replaceChildren(...names.map((name, i) => new Option(name, String(i))));
    list.value = String(names.includes(before) ? names.indexOf(before) : recording.first);
  };

  const figures = [...document.querySelectorAll("figure.chart")].map((figure) => {
    const plot = figure.querySelector(".plot");
    const entry = { plot, drawn: false };
    let data = null;
    entry.draw = () => {
      data ??= read(figure.dataset.source);
      const spec = kinds[figure.dataset.kind](figure, data);
      entry.drawn = true;
      return Plotly.react(plot, spec.data, spec.layout, config);
    };
    figure.addEventListener("change", entry.draw);
    return entry;
  });

  const watcher = new IntersectionObserver(
    (sights) => {
      for (const sight of sights.filter((one) => one.isIntersecting)) {
        watcher.unobserve(sight.target);
        figures.find((entry) => entry.plot === sight.target).draw();
      }
    },
    { rootMargin: "600px" },
  );
  for (const entry of figures) watcher.observe(entry.plot);

  window.addEventListener("beforeprint", () => {
    for (const details of document.querySelectorAll("details")) details.open = true;
    for (const entry of figures) {
      if (!entry.drawn) entry.draw();
      Plotly.relayout(entry.plot, { width: PAPER });
    }
  });
  window.addEventListener("afterprint", () => {
    for (const entry of figures) Plotly.relayout(entry.plot, { width: null, autosize: true });
  });

  for (const button of document.querySelectorAll("button[data-save]")) {
    button.addEventListener("click", () => {
      const text = document.getElementById(button.dataset.save).textContent;
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
      link.download = button.dataset.file;
      link.click();
      URL.revokeObjectURL(link.href);
    });
  }
})();
