"use strict";
// The one name that the page's scripts share, and what makes elements and written numbers.
const mttt = {};

// el("div.a.b", {fields or attributes, onclick: …}, ...children). No style attributes: the page's policy forbids them.
mttt.el = (name, fields = {}, ...children) => {
  const [tag, ...classes] = name.split(".");
  const node = document.createElement(tag);
  node.className = classes.join(" ");
  for (const [key, value] of Object.entries(fields)) {
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (key in node) node[key] = value;
    else node.setAttribute(key, value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
};

mttt.id = (name) => document.getElementById(name);

// A copy of a template: its element, and what is marked with data-part, by name.
mttt.parts = (template) => {
  const root = mttt.id(template).content.cloneNode(true);
  const parts = {};
  for (const node of root.querySelectorAll("[data-part]")) parts[node.dataset.part] = node;
  return { root, parts };
};

mttt.show = (node, visible) => {
  node.hidden = !visible;
};

// Two models may have one name; their ids differ.
mttt.modelName = (model) => (model.ships ? `${model.id}, ships with mttt` : model.id);

// A sentence in a place for errors or notes; none hides it.
mttt.tell = (node, sentence) => {
  node.textContent = sentence || "";
  node.hidden = !sentence;
};

mttt.options = (select, entries, chosen) => {
  select.replaceChildren(...entries.map(([value, text]) => mttt.el("option", { value: String(value) }, text)));
  if (chosen !== undefined) select.value = String(chosen);
};

// Three or four digits, as one writes them on paper.
mttt.number = (x, digits = 3) => {
  if (x === null || x === undefined || Number.isNaN(x)) return "–";
  if (!Number.isFinite(x)) return x > 0 ? "∞" : "−∞";
  if (x === 0) return "0";
  const size = Math.floor(Math.log10(Math.abs(x)));
  const text = size < -4 || size > 5 ? x.toExponential(digits - 1) : x.toFixed(Math.max(0, digits - 1 - size));
  return text.replaceAll("-", "−");
};

// As short as it goes: 8, 0.1, 12,000.
mttt.plain = (x) => (x === null ? "–" : Number(x.toPrecision(4)).toLocaleString("en", { maximumSignificantDigits: 4 }).replaceAll("-", "−"));

mttt.fixed = (x, decimals) => x.toFixed(decimals).replaceAll("-", "−");

mttt.percent = (p) => `${(100 * p).toFixed(1)} %`;

mttt.duration = (milliseconds) => (milliseconds < 1000 ? `${Math.round(milliseconds)} ms` : `${mttt.number(milliseconds / 1000)} s`);

mttt.bytes = (count) => {
  if (count < 1000) return `${count} bytes`;
  return count < 1e6 ? `${mttt.number(count / 1e3)} kB` : `${mttt.number(count / 1e6)} MB`;
};

mttt.below = (index) => String(index).replace(/\d/g, (digit) => "₀₁₂₃₄₅₆₇₈₉"[digit]);

// Later calls replace earlier ones that have not run yet.
mttt.debounced = (action, milliseconds) => {
  let timer = null;
  return (...words) => {
    clearTimeout(timer);
    timer = setTimeout(() => action(...words), milliseconds);
  };
};
