"use strict";
// Colours, computed: maps whose lightness changes evenly, in light and in dark. Low is near the background in both.
{
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const listeners = new Map(); // of what is on the page
  const tables = new Map();

  const linear = (c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  const gamma = (c) => Math.round(255 * Math.min(1, Math.max(0, c <= 0.0031308 ? 12.92 * c : 1.055 * c ** (1 / 2.4) - 0.055)));

  // Oklab (Ottosson, 2020): straight lines in it look even.
  const toLab = (hex) => {
    const [r, g, b] = [1, 3, 5].map((at) => linear(parseInt(hex.slice(at, at + 2), 16) / 255));
    const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
    const m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
    const s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
    return [0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s, 1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
      0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s];
  };
  const fromLab = ([L, a, b]) => {
    const l = (L + 0.3963377774 * a + 0.2158037573 * b) ** 3;
    const m = (L - 0.1055613458 * a - 0.0638541728 * b) ** 3;
    const s = (L - 0.0894841775 * a - 1.291485548 * b) ** 3;
    return [4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s, -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
      -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s].map(gamma);
  };

  const LOW_TO_HIGH = {
    light: ["#fffbe6", "#d9e7b5", "#86c7b0", "#3a92ad", "#2b5a95", "#231f57"],
    dark: ["#171a21", "#22345f", "#1f6385", "#3b9a94", "#97cf8f", "#fbf3a8"],
  };
  const MINUS_TO_PLUS = {
    light: ["#123f7a", "#4f8fc4", "#fbfaf7", "#dd8a4b", "#8a3510"],
    dark: ["#b9dcff", "#3f7fbd", "#1d2026", "#c4702f", "#ffd9b0"],
  };

  const table = (anchors) => {
    const labs = anchors.map(toLab);
    return Array.from({ length: 256 }, (_, at) => {
      const place = (at / 255) * (labs.length - 1);
      const below = Math.min(labs.length - 2, Math.floor(place));
      return fromLab(labs[below].map((x, axis) => x + (place - below) * (labs[below + 1][axis] - x)));
    });
  };
  const map = (name, anchors) => {
    const key = `${name} ${mttt.theme()}`;
    if (!tables.has(key)) tables.set(key, table(anchors[mttt.theme()]));
    return tables.get(key);
  };
  const at = (colours, share) => colours[Math.round(255 * Math.min(1, Math.max(0, share)))];

  mttt.theme = () => (dark.matches ? "dark" : "light");
  mttt.onTheme = (node, action) => listeners.set(node, [...(listeners.get(node) || []), action]);
  dark.addEventListener("change", () => {
    for (const [node, actions] of listeners) {
      if (node.isConnected) actions.forEach((action) => action());
      else listeners.delete(node);
    }
  });

  // [r, g, b] of a share of the whole scale (0 to 1), and of a value between −1 and 1; not known is grey.
  const UNKNOWN = [128, 128, 128];
  mttt.sequential = (share) => (Number.isNaN(share) ? UNKNOWN : at(map("sequential", LOW_TO_HIGH), share));
  mttt.diverging = (value) => (Number.isNaN(value) ? UNKNOWN : at(map("diverging", MINUS_TO_PLUS), (value + 1) / 2));
  mttt.css = ([r, g, b]) => `rgb(${r} ${g} ${b})`;
  mttt.ink = ([r, g, b]) => (0.2126 * linear(r / 255) + 0.7152 * linear(g / 255) + 0.0722 * linear(b / 255) > 0.18 ? "#111" : "#fff");

  // Lines: the part of the map that has a contrast of 3 with the background.
  mttt.line = (index, count) => {
    const share = count < 2 ? 0.5 : index / (count - 1);
    const [from, to] = mttt.theme() === "dark" ? [0.48, 1] : [1, 0.52];
    return mttt.css(mttt.sequential(from + share * (to - from)));
  };
  mttt.variable = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
