"use strict";
// What the model predicts after every step: a bar for each class at t, and beside it the probabilities at all t.
{
  const MOST = 12; // classes shown; of more, those that were most probable at some t

  const rows = (probabilities, classes) => {
    const best = classes.map((_, index) => Math.max(...probabilities.map((at) => at[index])));
    const order = classes.map((_, index) => index);
    if (classes.length <= MOST) return order;
    return order.sort((a, b) => best[b] - best[a]).slice(0, MOST);
  };

  const bar = (p, before) => {
    const filled = mttt.el("i.filled");
    filled.style.width = `${100 * p}%`;
    if (before === null) return mttt.el("td.bar", {}, mttt.el("div", {}, filled));
    const start = mttt.el("i.start", { title: `at t = 0: ${mttt.percent(before)}` });
    start.style.left = `${100 * before}%`;
    return mttt.el("td.bar", {}, mttt.el("div", {}, filled, start));
  };

  const cell = (p, at, t) => {
    const node = mttt.el(at === t ? "td.step.now" : "td.step", { title: `t = ${at}: ${mttt.percent(p)}` });
    const colour = mttt.sequential(p);
    node.style.backgroundColor = mttt.css(colour);
    node.style.color = mttt.css(colour);
    node.append(mttt.el("span.unseen", {}, mttt.percent(p)));
    return node;
  };

  mttt.top = (probabilities) => probabilities.indexOf(Math.max(...probabilities));

  mttt.prediction = (place, { probabilities, classes, label }, t, pick) => {
    const steps = probabilities.map((_, at) => at);
    const winner = mttt.top(probabilities[t]);
    const heads = steps.map((at) => {
      const button = mttt.el("button", { type: "button", onclick: () => pick(at), "aria-label": `t = ${at}` }, String(at));
      return mttt.el(at === t ? "th.step.now" : "th.step", { scope: "col" }, button);
    });
    const body = rows(probabilities, classes).map((index) => {
      const name = mttt.el(index === winner ? "th.winner" : "th", { scope: "row" }, classes[index]);
      if (classes[index] === label) name.append(mttt.el("span.true", { title: "the label of the data set" }, " ✓"));
      const p = probabilities[t][index];
      const tint = probabilities.length > 1 ? steps.map((at) => cell(probabilities[at][index], at, t)) : [];
      return mttt.el("tr", {}, name, bar(p, probabilities.length > 1 ? probabilities[0][index] : null), mttt.el("td.p", {}, mttt.percent(p)), ...tint);
    });
    const head = mttt.el("tr", {}, mttt.el("th", { scope: "col" }, "class"), mttt.el("th", { scope: "col" }, "probability"),
      mttt.el("th", { scope: "col" }, mttt.el("span.unseen", {}, "in percent")), ...(probabilities.length > 1 ? heads : []));
    const caption = probabilities.length > 1 ? `Bars: after t = ${t} steps; the thin mark is t = 0. Squares: every t.` : "";
    place.style.setProperty("--step", `${Math.max(8, Math.min(24, Math.floor(170 / steps.length)))}px`);
    place.replaceChildren(
      mttt.el("table.classes", {}, mttt.el("thead", {}, head), mttt.el("tbody", {}, ...body)),
      mttt.el("p.small", {}, caption),
    );
  };
}
