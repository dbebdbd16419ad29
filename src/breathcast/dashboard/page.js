"use strict";
// The newest output of each session, as text.
const place = document.getElementById("sessions");
const token = new URLSearchParams(location.hash.slice(1)).get("token");
const newest = new Map();

function shown(value) { return value === null ? "–" : value.toFixed(2); }

function cell(row, kind, text) {
  const made = document.createElement(kind);
  made.textContent = text;
  row.append(made);
}

function section(output) {
  const made = document.createElement("section");
  const title = document.createElement("h2");
  title.textContent = output.session;
  const state = document.createElement("p");
  state.className = "state";
  state.textContent = output.state + (output.detail ? ": " + output.detail : "");
  const table = document.createElement("table");
  const head = table.insertRow();
  for (const text of ["horizon (ms)", "RMSE (mm)", "no prediction (mm)", "region (mm)", "first marker (mm)"]) {
    cell(head, "th", text);
  }
  for (const forecast of output.forecasts) {
    const row = table.insertRow();
    cell(row, "td", forecast.used_ms.toFixed(0));
    for (const key of ["rmse_mm", "no_prediction_rmse_mm", "radius_mm"]) cell(row, "td", shown(forecast[key]));
    cell(row, "td", forecast.position ? forecast.position[0].map(shown).join("  ") : "held back");
  }
  made.append(title, state, table);
  return made;
}

function draw() {
  if (newest.size) place.replaceChildren(...[...newest.values()].map(section));
}

function connect() {
  const scheme = location.protocol === "https:" ? "wss:" : "ws:";
  const socket = new WebSocket(`${scheme}//${location.host}/api/stream`);
  socket.onopen = () => { if (token) socket.send(JSON.stringify({ type: "hello", token })); };
  socket.onmessage = (event) => {
    const message = JSON.parse(event.data);
    if (message.type === "output") newest.set(message.session, message);
  };
  socket.onclose = () => {
    newest.clear();
    place.textContent = "No connection: nothing shown here is to be trusted. Trying again ...";
    setTimeout(connect, 1000);
  };
}

setInterval(draw, 200);
connect();
