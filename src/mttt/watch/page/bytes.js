"use strict";
// A text as coloured bytes, one of them chosen, and what was expected at its place.
{
  // Bytes of one character belong together: [[first, count, text], …]. What is no UTF-8 stands for itself.
  const decoder = new TextDecoder("utf-8", { fatal: true });
  const characters = (bytes) => {
    const found = [];
    for (let at = 0; at < bytes.length; ) {
      const lead = bytes[at];
      let count = lead < 0x80 ? 1 : lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
      let text;
      try {
        text = decoder.decode(Uint8Array.from(bytes.slice(at, at + count)));
      } catch {
        [count, text] = [1, `\\x${lead.toString(16).padStart(2, "0")}`];
      }
      found.push([at, count, text]);
      at += count;
    }
    return found;
  };
  const NAMES = { 9: "tab", 10: "line end", 13: "return", 32: "space" };
  const name = (byte) => NAMES[byte] || (byte > 32 && byte < 127 ? String.fromCharCode(byte) : `\\x${byte.toString(16).padStart(2, "0")}`);

  mttt.byteName = name;

  // pick(at): a byte was chosen, with the pointer or with arrow keys.
  mttt.byteText = (place, pick) => {
    let spans = []; // of each character: {node, at, count}
    let chosen = null;

    const choose = (index) => {
      if (chosen !== null) spans[chosen]?.node.classList.remove("chosen");
      chosen = index;
      const { node, at } = spans[index];
      node.classList.add("chosen");
      node.scrollIntoView({ block: "nearest", inline: "nearest" });
      pick(at);
    };
    place.addEventListener("click", (event) => {
      const index = event.target.dataset.index;
      if (index !== undefined) choose(Number(index));
    });
    place.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!step || !spans.length) return;
      event.preventDefault();
      choose(Math.min(spans.length - 1, Math.max(0, chosen === null ? 0 : chosen + step)));
    });

    return {
      set(bytes) {
        spans = characters(bytes).map(([at, count, text], index) => {
          const node = mttt.el("span", {}, text === "\n" ? "↵\n" : text);
          node.dataset.index = index;
          return { node, at, count };
        });
        if (chosen !== null && chosen >= spans.length) chosen = null;
        if (chosen !== null) spans[chosen].node.classList.add("chosen");
        place.replaceChildren(...spans.map(({ node }) => node));
      },
      // colour(at): of a byte, or null; a character of several bytes has several stripes
      paint(colour) {
        for (const { node, at, count } of spans) {
          const colours = Array.from({ length: count }, (_, more) => colour(at + more)).filter((one) => one !== null);
          if (!colours.length) {
            node.style.background = "none";
            continue;
          }
          const width = 100 / colours.length;
          const stops = colours.map((one, index) => `${mttt.css(one)} ${index * width}% ${(index + 1) * width}%`);
          node.style.background = count > 1 ? `linear-gradient(90deg, ${stops.join(", ")})` : mttt.css(colours[0]);
          node.style.color = mttt.ink(colours[0]);
        }
      },
    };
  };

  // The bytes that the model expected most, as bars; the one that came is marked.
  mttt.expected = (place, sentence, likely, came) => {
    const rows = likely.map(([byte, p]) => {
      const filled = mttt.el("i.filled");
      filled.style.width = `${100 * p}%`;
      return mttt.el("tr", {}, mttt.el(byte === came ? "th.winner" : "th", { scope: "row" }, name(byte)),
        mttt.el("td.bar", {}, mttt.el("div", {}, filled)), mttt.el("td.p", {}, mttt.percent(p)));
    });
    place.replaceChildren(mttt.el("p", {}, sentence), mttt.el("table.classes", {}, mttt.el("tbody", {}, ...rows)));
  };
}
