"use strict";
// Numbers as coloured cells: one pixel of a canvas for each, stretched by the style sheet.
{
  // values, rows × columns; colour(value) → [r, g, b]; tell(index or null) while pointing; pick(index) on click.
  mttt.heat = ({ values, rows, columns, colour, label, tell, pick, strip = false }) => {
    const canvas = mttt.el("canvas", { width: columns, height: rows, role: "img", "aria-label": label });
    const mark = mttt.el("span.mark", { hidden: true });
    const box = mttt.el(strip ? "div.heat.strip" : "div.heat", {}, canvas, mark);
    if (!strip) canvas.style.aspectRatio = `${columns} / ${rows}`;
    if (pick) box.classList.add("pickable");

    const paint = () => {
      const context = canvas.getContext("2d");
      const image = context.createImageData(columns, rows);
      values.forEach((value, at) => image.data.set([...colour(value), 255], 4 * at));
      context.putImageData(image, 0, 0);
    };
    const index = (event) => {
      const place = canvas.getBoundingClientRect();
      const column = Math.floor((columns * (event.clientX - place.left)) / place.width);
      const row = Math.floor((rows * (event.clientY - place.top)) / place.height);
      return Math.min(rows - 1, Math.max(0, row)) * columns + Math.min(columns - 1, Math.max(0, column));
    };
    canvas.addEventListener("pointermove", (event) => tell(index(event)));
    canvas.addEventListener("pointerleave", () => tell(null));
    if (pick) canvas.addEventListener("click", (event) => pick(index(event)));

    paint();
    return {
      box,
      paint,
      mark(at) {
        mark.hidden = at === null;
        if (at === null) return;
        mark.style.left = `${(100 * (at % columns)) / columns}%`;
        mark.style.top = `${(100 * Math.floor(at / columns)) / rows}%`;
        mark.style.width = `${100 / columns}%`;
        mark.style.height = `${100 / rows}%`;
      },
    };
  };

  // A bar of all colours with the numbers at its ends.
  mttt.legend = (place, { colour, from, to, middle, label }) => {
    const bar = mttt.el("canvas", { width: 128, height: 1, role: "img", "aria-label": `Colour scale: ${label}, from ${from} to ${to}` });
    const image = bar.getContext("2d").createImageData(128, 1);
    for (let at = 0; at < 128; at += 1) image.data.set([...colour(at / 127), 255], 4 * at);
    bar.getContext("2d").putImageData(image, 0, 0);
    const numbers = mttt.el("div.ends", {}, mttt.el("span", {}, from), mttt.el("span", {}, middle || ""), mttt.el("span", {}, to));
    place.replaceChildren(mttt.el("div.caption", {}, label), bar, numbers);
  };
}
