// Single keys, for hands that have no mouse; none of them acts on a session. The list opens with ?.
import { id, pairs, remember, remembered } from "./dom.mjs";

// `actions`: key, what it does, and the doing.
export function listen(actions) {
  const [dialog, box] = [id("keys"), id("keys-on")];
  box.checked = remembered("keys", "on") === "on";
  box.addEventListener("change", () => remember("keys", box.checked ? "on" : "off"));
  const open = () => dialog.open || dialog.showModal();
  id("help").addEventListener("click", open);
  const all = [...actions, ["?", "this list", open]];
  pairs(id("key-list"), [...all.map(([key, text]) => [key, text]), ["Tab, Space, Enter", "go on, choose, press"], ["Esc", "close this list"]]);
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.isComposing || dialog.open) return;
    if (event.target.matches("input:not([type=checkbox]), select, textarea")) return;
    // Speech input and slips of the hand: whoever is bothered by single keys can have none but this one.
    const action = all.find(([key]) => key === event.key || (key === "1-9" && /^[1-9]$/.test(event.key)));
    if (!action || (!box.checked && action[0] !== "?")) return;
    event.preventDefault();
    action[2](event.key);
  });
}
