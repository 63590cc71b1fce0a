"use strict";
// The picture that the model got, with the loss of every token painted over it, and a cursor that chooses a token.
{
  const SIZE = 512;

  // pixels (uint8, height × width × channels) → a canvas of that size
  const original = ({ height, width, channels, pixels }) => {
    const canvas = mttt.el("canvas", { width, height });
    const image = canvas.getContext("2d").createImageData(width, height);
    const raw = mttt.octets(pixels);
    for (let at = 0; at < height * width; at += 1) {
      const colour = [0, 1, 2].map((channel) => raw[at * channels + (channels < 3 ? 0 : channel)]);
      image.data.set([...colour, 255], 4 * at);
    }
    canvas.getContext("2d").putImageData(image, 0, 0);
    return canvas;
  };

  // canvas: the element; tell(token or null) while pointing; pick(token) on click or Enter
  mttt.picture = (canvas, { tell, pick }) => {
    let shown = null; // {input, grid, losses, most, mix, chosen, known}
    let source = null;
    let cursor = null;

    const cell = (token) => {
      const { rows, columns } = shown.grid;
      const [width, height] = [canvas.width / columns, canvas.height / rows];
      return [(token % columns) * width, Math.floor(token / columns) * height, width, height];
    };
    const outline = (context, token, colour, line) => {
      const [x, y, width, height] = cell(token);
      context.lineWidth = line;
      context.strokeStyle = colour;
      context.strokeRect(x + line / 2, y + line / 2, width - line, height - line);
    };
    const paint = () => {
      const context = canvas.getContext("2d");
      const { losses, most, mix, chosen, known } = shown;
      context.imageSmoothingEnabled = false;
      context.drawImage(source, 0, 0, canvas.width, canvas.height);
      if (losses) {
        // A cell has the colour of the legend, and in its middle the token's piece of the picture: nothing is blended.
        const side = 1 - mix;
        const [wide, high] = [source.width / shown.grid.columns, source.height / shown.grid.rows];
        losses.forEach((loss, token) => {
          context.fillStyle = mttt.css(mttt.sequential(loss / most));
          const [x, y, width, height] = cell(token);
          context.fillRect(Math.floor(x), Math.floor(y), Math.ceil(width), Math.ceil(height));
          const [column, row] = [token % shown.grid.columns, Math.floor(token / shown.grid.columns)];
          const [left, top] = [x + (width * (1 - side)) / 2, y + (height * (1 - side)) / 2];
          if (side > 0) context.drawImage(source, column * wide, row * high, wide, high, left, top, width * side, height * side);
        });
        for (const token of known || []) outline(context, token, mttt.variable("--known"), 3);
      }
      const line = Math.max(3, canvas.width / shown.grid.columns / 10);
      if (cursor !== null && cursor !== chosen) outline(context, cursor, mttt.variable("--ink"), 2);
      if (chosen !== null) {
        outline(context, chosen, mttt.variable("--chosen"), line);
      }
    };
    const move = (token) => {
      if (!shown || token === cursor) return;
      cursor = token;
      paint();
      tell(token);
    };
    const under = (event) => {
      const place = canvas.getBoundingClientRect();
      const { rows, columns } = shown.grid;
      const column = Math.min(columns - 1, Math.max(0, Math.floor((columns * (event.clientX - place.left)) / place.width)));
      const row = Math.min(rows - 1, Math.max(0, Math.floor((rows * (event.clientY - place.top)) / place.height)));
      return row * columns + column;
    };
    const steps = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

    canvas.addEventListener("pointermove", (event) => shown && move(under(event)));
    canvas.addEventListener("pointerleave", () => move(null));
    canvas.addEventListener("click", (event) => shown && pick(under(event)));
    canvas.addEventListener("keydown", (event) => {
      if (!shown) return;
      const { rows, columns } = shown.grid;
      if (event.key in steps) {
        const from = cursor ?? shown.chosen ?? 0;
        const [down, right] = cursor === null ? [0, 0] : steps[event.key];
        const row = Math.min(rows - 1, Math.max(0, Math.floor(from / columns) + down));
        move(row * columns + Math.min(columns - 1, Math.max(0, (from % columns) + right)));
      } else if ((event.key === "Enter" || event.key === " ") && cursor !== null) pick(cursor);
      else return;
      event.preventDefault();
    });

    return {
      set(fields) {
        if (!shown || fields.input !== shown.input) {
          source = original(fields.input);
          canvas.width = SIZE;
          canvas.height = Math.round((SIZE * fields.input.height) / fields.input.width);
        }
        shown = fields;
        if (cursor !== null && cursor >= fields.grid.rows * fields.grid.columns) cursor = null;
        paint();
        tell(cursor);
      },
    };
  };
}
