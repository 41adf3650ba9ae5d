// The API reference, drawn from openapi.json: every operation with a form to try it.
"use strict";

const main = document.getElementById("operations");

function element(name, attributes = {}, ...children) {
  const created = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) created.addEventListener(key.slice(2), value);
    else if (value !== undefined) created.setAttribute(key, value);
  }
  created.append(...children);
  return created;
}

// The nodes of a text: words between backticks become code.
function prose(text) {
  const parts = (text ?? "").split("`");
  if (parts.length % 2 === 0) return [text]; // an unmatched backtick
  return parts.map((part, index) => (index % 2 ? element("code", {}, part) : part));
}

// An example value for a schema: required fields only.
function example(schema) {
  if ("default" in schema) return schema.default;
  if (schema.enum) return schema.enum[0];
  if (schema.anyOf) return example(schema.anyOf[0]);
  const kind = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  if (kind === "object") {
    const required = schema.required ?? [];
    return Object.fromEntries(required.map((name) => [name, example(schema.properties[name])]));
  }
  return { array: [], integer: schema.minimum ?? 1, number: 0, boolean: false }[kind] ?? "";
}

// The placeholder of a field.
function hint({ type = "", default: value }) {
  if (type === "object") return "key=value";
  return value === undefined ? type : `${type}, default ${value}`;
}

function field(parameter) {
  const { name, schema = {}, required, description } = parameter;
  const id = `f${field.count = (field.count ?? 0) + 1}`;
  const input = schema.enum
    ? element("select", { id }, element("option", { value: "" }), ...schema.enum.map((value) => element("option", {}, String(value))))
    : element("input", { id, placeholder: hint(schema) });
  input.required = Boolean(required);
  const label = element("label", { for: id, class: required ? "need" : undefined }, name);
  const note = description ? [element("small", {}, ...prose(description))] : [];
  return { parameter, input, row: element("div", { class: "row" }, label, input, ...note) };
}

function request(method, path, fields, body) {
  const query = new URLSearchParams();
  const headers = {};
  for (const { parameter, input } of fields) {
    const value = input.value;
    if (parameter.in === "path") path = path.replace(`{${parameter.name}}`, encodeURIComponent(value));
    else if (value && parameter.in === "header") headers[parameter.name] = value;
    else if (value) query.append(parameter.name, value);
  }
  const url = query.size ? `${path}?${query}` : path;
  if (body) headers["content-type"] = "application/json";
  return { url, options: { method: method.toUpperCase(), headers, body: body?.value || undefined } };
}

function curl({ url, options }) {
  const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;
  const words = ["curl", options.method === "GET" ? "" : `-X ${options.method}`, quoted(location.origin + url)];
  words.push('-H "Authorization: Bearer $(recollect token)"'); // the page uses a cookie, which is not for programs
  words.push(...Object.entries(options.headers).map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`));
  if (options.body) words.push(`-d ${quoted(options.body)}`);
  return words.filter(Boolean).join(" ");
}

async function show(response, out) {
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
    text += decoder.decode(piece.value, { stream: true });
    out.textContent = text;
  }
  try {
    out.textContent = JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    out.textContent = text; // a stream of events, or Markdown
  }
}

function form(method, path, operation) {
  const fields = (operation.parameters ?? []).map(field);
  const schema = operation.requestBody?.content["application/json"].schema;
  const body = schema && element("textarea", { "aria-label": "Body", spellcheck: "false" });
  if (body) body.value = JSON.stringify(example(schema), null, 2);
  const status = element("span", { class: "status", role: "status" });
  const out = element("pre", { hidden: "" });
  let aborting = null;
  const send = async () => {
    if (!fields.every(({ input }) => input.reportValidity())) return;
    aborting?.abort();
    aborting = new AbortController();
    const { url, options } = request(method, path, fields, body);
    out.hidden = false;
    out.textContent = "";
    status.textContent = "…";
    const startedAt = performance.now();
    try {
      const response = await fetch(url, { ...options, signal: aborting.signal });
      status.textContent = `${response.status} in ${Math.round(performance.now() - startedAt)} ms`;
      status.classList.toggle("bad", !response.ok);
      await show(response, out);
    } catch (error) {
      status.textContent = error.name === "AbortError" ? "stopped" : "Cannot reach the server";
    }
  };
  const copy = async () => {
    await navigator.clipboard.writeText(curl(request(method, path, fields, body)));
    status.textContent = "copied";
  };
  const buttons = [
    element("button", { type: "button", onclick: send }, "Send"),
    element("button", { type: "button", class: "quiet", onclick: () => aborting?.abort() }, "Stop"),
    ...(navigator.clipboard ? [element("button", { type: "button", class: "quiet", onclick: copy }, "Copy as curl")] : []),
    status,
  ];
  const optional = schema && Object.keys(schema.properties ?? {}).filter((name) => !(schema.required ?? []).includes(name));
  const optionalNote = optional?.length ? [element("p", { class: "status" }, `Optional: ${optional.join(", ")}.`)] : [];
  const parts = [...fields.map(({ row }) => row), ...(body ? [body, ...optionalNote] : [])];
  return element("div", { class: "inside" }, element("p", {}, ...prose(operation.description)), ...parts,
    element("div", { class: "buttons" }, ...buttons), out);
}

function entry(method, path, operation) {
  const head = element("summary", {}, element("b", {}, method.toUpperCase()), element("code", {}, path),
    element("span", {}, operation.summary ?? ""));
  const details = element("details", { "data-words": `${method} ${path} ${operation.summary}`.toLowerCase() }, head);
  details.addEventListener("toggle", () => {
    if (details.open && details.children.length === 1) details.append(form(method, path, operation));
  });
  return details;
}

function draw(api) {
  document.getElementById("version").textContent = api.info.version;
  document.getElementById("about").textContent = api.info.description;
  const groups = new Map(api.tags.map(({ name }) => [name, []]));
  for (const [path, methods] of Object.entries(api.paths)) {
    for (const [method, operation] of Object.entries(methods)) groups.get(operation.tags[0])?.push(entry(method, path, operation));
  }
  const filled = [...groups].filter(([, entries]) => entries.length);
  main.replaceChildren(...filled.map(([name, entries]) => element("section", {}, element("h2", {}, name), ...entries)));
}

document.getElementById("filter").addEventListener("input", ({ target }) => {
  const terms = target.value.toLowerCase().split(/\s+/).filter(Boolean);
  for (const details of document.querySelectorAll("details")) {
    details.hidden = !terms.every((term) => details.dataset.words.includes(term));
  }
  for (const section of document.querySelectorAll("section")) {
    section.hidden = !section.querySelector("details:not([hidden])");
  }
});

fetch("/openapi.json")
  .then((response) => response.json())
  .then(draw, () => { main.textContent = "Cannot load openapi.json."; });
