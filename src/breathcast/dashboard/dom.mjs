// What comes from the network becomes text here, and never anything else.
export const id = (name) => document.getElementById(name);

// An element with text and attributes; `children` are elements.
export function made(kind, text = "", attributes = {}, children = []) {
  const element = document.createElement(kind);
  if (text !== "") element.textContent = text;
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

// Writes a text only where it differs: a screen reader and the layout notice every write.
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

export function show(element, visible) {
  if (element.hidden === visible) element.hidden = !visible;
}

// A list of choices; what was chosen stays so, if it is still there.
export function offer(select, labels, values = labels.map((_, n) => String(n))) {
  const wanted = JSON.stringify([labels, values]);
  if (select.dataset.offered === wanted) return;
  const before = select.value;
  select.dataset.offered = wanted;
  select.replaceChildren(...labels.map((label, n) => made("option", label, { value: values[n] })));
  if (values.includes(before)) select.value = before;
}

// Rows of texts as a table body; the first of each is its head.
export function rows(body, lines) {
  while (body.rows.length > lines.length) body.deleteRow(-1);
  lines.forEach((texts, n) => {
    const row = body.rows[n] ?? body.insertRow();
    texts.forEach((text, column) => {
      const cell = row.cells[column] ?? row.appendChild(made(column === 0 ? "th" : "td", "", column === 0 ? { scope: "row" } : {}));
      say(cell, text);
    });
  });
}

// Pairs of texts in a description list, in place.
export function pairs(list, lines) {
  while (list.children.length > lines.length) list.lastElementChild.remove();
  lines.forEach(([name, value, alarming], n) => {
    const pair = list.children[n] ?? list.appendChild(made("div", "", {}, [made("dt"), made("dd")]));
    say(pair.firstElementChild, name);
    say(pair.lastElementChild, value);
    pair.classList.toggle("alarming", Boolean(alarming));
  });
}

export function number(value, digits = 2) {
  return value === null || value === undefined || !Number.isFinite(value) ? "–" : value.toFixed(digits);
}

// Storage is refused to some pages; then a choice lasts as long as the page.
export function remembered(key, fallback) {
  try {
    return localStorage.getItem(`breathcast.${key}`) ?? fallback;
  } catch {
    return fallback;
  }
}

export function remember(key, value) {
  try {
    localStorage.setItem(`breathcast.${key}`, value);
  } catch {
    // as above
  }
}
