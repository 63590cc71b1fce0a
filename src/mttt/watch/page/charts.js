"use strict";
// Lines over steps, drawn by uPlot: one frame for all charts of the page.
{
  // Labels at round places, but never between whole numbers.
  const WHOLE = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 1e4, 2e4, 5e4, 1e5, 2e5, 5e5, 1e6];

  const marker = (chart, at) => {
    if (at === null) return;
    const { ctx, bbox } = chart;
    const x = Math.round(chart.valToPos(at, "x", true));
    ctx.save();
    ctx.strokeStyle = mttt.variable("--chosen");
    ctx.lineWidth = 1.5 * devicePixelRatio;
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    ctx.restore();
  };

  const axis = (fields) => ({
    stroke: mttt.variable("--soft"),
    font: "12px system-ui, sans-serif",
    labelFont: "12px system-ui, sans-serif",
    grid: { stroke: mttt.variable("--hair"), width: 1 },
    ticks: { show: false },
    ...fields,
  });

  const line = ({ label, colour, width = 1.5, dash }, points) => ({
    label: label || "",
    stroke: colour,
    width,
    dash,
    spanGaps: true,
    points: { show: points, size: width > 1.5 ? 6 : 4, fill: colour, stroke: colour },
  });

  // x: the name of the horizontal axis; write: a number of the vertical one; pick(x) on click; floor and top: of the scale
  mttt.chart = (host, { x, write = mttt.number, pick, floor = 0, top, height = 190 }) => {
    const place = mttt.el("div.plot", { role: "img" });
    const readout = mttt.el("p.readout.small", { "aria-hidden": "true" });
    host.replaceChildren(place, readout);
    let chart = null;
    let shown = null; // {xs, series, mark, about}

    const tell = (at) => {
      const named = at === null || at === undefined ? [] : shown.series.filter((one) => one.label && one.values[at] !== null);
      const values = named.slice(0, 6).map((one) => `${one.label} ${write(one.values[at])}`);
      readout.textContent = named.length ? `${shown.short || x} = ${shown.xs[at]}: ${values.join(", ")}` : "";
    };
    const range = (_, low, high) => {
      const most = top ?? (Number.isFinite(high) && high !== null ? high : 1);
      const least = floor ?? (low === null ? 0 : low - 0.06 * (high - low));
      return [least, top ?? (most > least ? most + 0.06 * (most - least) : least + 1)];
    };
    const options = () => ({
      width: Math.max(80, place.clientWidth),
      height,
      padding: [8, 12, 0, 0],
      legend: { show: false },
      cursor: { y: false, drag: { x: false, y: false }, points: { show: false }, focus: { prox: -1 } },
      scales: { x: { time: false, range: (_, low, high) => [low ?? 0, high > low ? high : (low ?? 0) + 1] }, y: { range } },
      axes: [
        axis({ label: x, labelSize: 20, size: 28, incrs: WHOLE, space: 40 }),
        axis({ size: 48, space: 32, values: (_, ticks) => ticks.map(mttt.plain) }),
      ],
      series: [{}, ...shown.series.map((one) => line(one, shown.xs.length < 20))],
      hooks: { draw: [(me) => marker(me, shown.mark ?? null)], setCursor: [(me) => tell(me.cursor.idx)] },
    });
    const build = () => {
      chart?.destroy();
      chart = null;
      if (!shown || !shown.xs.length) return;
      chart = new uPlot(options(), [shown.xs, ...shown.series.map((one) => one.values)], place);
      if (pick) chart.over.addEventListener("click", () => chart.cursor.idx !== null && pick(shown.xs[chart.cursor.idx]));
    };
    new ResizeObserver(() => {
      if (chart && place.clientWidth && place.clientWidth !== chart.width) chart.setSize({ width: place.clientWidth, height });
    }).observe(place);

    return {
      set(fields) {
        shown = fields;
        place.setAttribute("aria-label", fields.about || "");
        build();
      },
      mark(at) {
        if (!shown) return;
        shown.mark = at;
        chart?.redraw(false);
      },
    };
  };

  // Names of colours; with pick, the names are buttons.
  mttt.key = (place, entries, chosen, pick) => {
    place.replaceChildren(
      ...entries.map(({ label, colour, dash }, index) => {
        const swatch = mttt.el(dash ? "i.swatch.dashed" : "i.swatch");
        swatch.style.borderTopColor = colour;
        if (!pick) return mttt.el("span", {}, swatch, label);
        const fields = { type: "button", "aria-pressed": String(index === chosen), onclick: () => pick(index) };
        return mttt.el("button", fields, swatch, label);
      }),
    );
  };
}
