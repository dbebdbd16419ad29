// Dark by default, light where the system asks for it, or as the reader chose.
import { id, remember, remembered, say } from "./dom.mjs";

const ORDER = ["auto", "dark", "light"];
const button = id("theme"); // the page of the API has none
const light = matchMedia("(prefers-color-scheme: light)");
let chosen = ORDER.includes(remembered("theme", "auto")) ? remembered("theme", "auto") : "auto";
const listeners = [];

function apply() {
  const theme = chosen === "auto" ? (light.matches ? "light" : "dark") : chosen;
  document.documentElement.dataset.theme = theme;
  if (button) say(button, `Theme: ${chosen}`);
  for (const listener of listeners) listener();
}

export function nextTheme() {
  chosen = ORDER[(ORDER.indexOf(chosen) + 1) % ORDER.length];
  remember("theme", chosen);
  apply();
}

// Calls back whenever the colours may have changed.
export function onTheme(listener) {
  listeners.push(listener);
}

// A colour of the style sheet, by its name there.
export function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

light.addEventListener("change", apply);
button?.addEventListener("click", nextTheme);
apply();
