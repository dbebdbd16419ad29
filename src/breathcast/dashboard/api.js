"use strict";
// openapi.json as text: each address, what it takes and what it answers.
const place = document.getElementById("paths");

function add(parent, kind, text) {
  const made = document.createElement(kind);
  made.textContent = text;
  parent.append(made);
  return made;
}

function named(schema) {
  if (!schema) return "";
  if (schema.$ref) return schema.$ref.split("/").pop();
  if (schema.type === "array") return `list of ${named(schema.items)}`;
  return schema.type || "any of " + (schema.anyOf || []).map(named).join(", ");
}

function taken(content) { return named(content && content["application/json"] && content["application/json"].schema); }

function operation(path, verb, told) {
  const made = document.createElement("section");
  add(made, "h2", `${verb.toUpperCase()} ${path}`);
  if (told.description) add(made, "p", told.description);
  const list = add(made, "ul", "");
  for (const parameter of told.parameters || []) add(list, "li", `${parameter.name} (${parameter.in}): ${named(parameter.schema)}`);
  if (told.requestBody) add(list, "li", `body: ${taken(told.requestBody.content)}`);
  for (const [code, answer] of Object.entries(told.responses)) {
    add(list, "li", `${code}: ${answer.description} ${taken(answer.content)}`);
  }
  return made;
}

function schema(name, told) {
  const made = document.createElement("section");
  add(made, "h3", name);
  if (told.description) add(made, "p", told.description);
  const list = add(made, "ul", "");
  for (const [field, what] of Object.entries(told.properties || {})) {
    const needed = (told.required || []).includes(field) ? ", needed" : "";
    add(list, "li", `${field}: ${named(what)}${needed}. ${what.description || ""}`);
  }
  return made;
}

fetch("openapi.json").then((answer) => answer.json()).then((told) => {
  for (const [path, verbs] of Object.entries(told.paths)) {
    for (const [verb, what] of Object.entries(verbs)) place.append(operation(path, verb, what));
  }
  add(place, "h2", "What is sent");
  for (const [name, what] of Object.entries(told.components.schemas)) place.append(schema(name, what));
});
