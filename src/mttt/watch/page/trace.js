"use strict";
// One model and one picture: its losses, distances and predictions at every t.
{
  const MEAN = "mean";
  const INVITE = mttt.source.exported ? "Click the outlined token to see its numbers." : "Click a token to see its numbers.";

  const lines = (numbers, layer) => {
    // numbers[layer][head][t]: the mean of the heads is thick and has a name, heads are thin
    const series = [];
    numbers.forEach((heads, at) => {
      const colour = mttt.line(at, numbers.length);
      if (heads.length > 1) {
        for (const values of heads) series.push({ values, colour, width: at === layer ? 1 : 0.5, dash: [4, 3] });
      }
      const values = heads[0].map((_, t) => mttt.mean(heads.map((head) => head[t])));
      series.push({ label: `layer ${at + 1}`, values, colour, width: at === layer ? 3 : 1.5 });
    });
    return series;
  };
  const about = (name, numbers) => {
    const ends = numbers.map((heads, at) => {
      const [first, last] = [0, heads[0].length - 1].map((t) => mttt.number(mttt.mean(heads.map((head) => head[t]))));
      return `layer ${at + 1} from ${first} to ${last}`;
    });
    return `${name} against t: ${ends.join(", ")}.`;
  };

  // shared: asked(model) → input; pick(t); ready() after each trace; t() → the step to show
  mttt.pictureColumn = (model, limits, shared) => {
    const { root, parts } = mttt.parts("picture-column");
    const newest = mttt.newest();
    const knobs = mttt.knobs(model, limits, parts, () => later());
    let trace = null;
    let tokens = null;
    let request = null;
    let chosen = null;

    const t = () => Math.min(shared.t(), trace.probabilities.length - 1);
    const layer = () => Number(parts.layer.value);
    const heads = () => (parts.head.value === MEAN ? [...Array(model.heads).keys()] : [Number(parts.head.value)]);
    const losses = (step) => {
      const each = heads().map((head) => tokens.at(layer(), head, step));
      return each[0].map((_, token) => each.reduce((sum, one) => sum + one[token], 0) / each.length);
    };
    const steps = () => Array.from({ length: trace.steps + 1 }, (_, step) => step);

    const picture = mttt.picture(parts.picture, {
      tell(token) {
        if (!trace || !tokens || token === null) {
          parts.readout.textContent = tokens ? INVITE : "";
          return;
        }
        const { columns } = trace.grid;
        const at = (step) => mttt.number(losses(step)[token]);
        parts.readout.textContent =
          `Row ${Math.floor(token / columns) + 1}, column ${(token % columns) + 1}: loss ${at(t())} at t = ${t()}, ${at(0)} at t = 0.`;
      },
      pick(token) {
        if (!tokens || !trace.steps) return;
        chosen = token;
        paintPicture();
        inspect();
        parts.token.scrollIntoView({ block: "nearest", behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });
      },
    });
    const panel = mttt.tokenPanel(parts.token, () => {
      chosen = null;
      panel.close();
      paintPicture();
      parts.picture.focus();
    });
    const pick = (step) => shared.pick(step);
    const lossChart = mttt.chart(parts.losses, { x: "inner step t", pick });
    const distanceChart = mttt.chart(parts.distance, { x: "inner step t", pick });

    const head = () => (parts.head.value === MEAN ? 0 : Number(parts.head.value));
    // Of a token, an export may have the numbers of some steps only: the nearest one is shown.
    const question = (token) => {
      const asked = { ...request, layer: layer(), head: head(), token };
      const wanted = Math.min(t(), trace.steps - 1);
      const stored = mttt.source.stored("/api/update", asked)?.map((one) => one.t) || [];
      const far = (step) => Math.abs(step - wanted);
      return { ...asked, t: stored.length ? stored.reduce((best, step) => (far(step) < far(best) ? step : best)) : wanted };
    };
    const inspect = () => chosen !== null && panel.open(question(chosen), trace.grid.columns);

    const paintPicture = () => {
      const most = tokens ? Math.max(...steps().map((step) => mttt.largest(losses(step)))) || 1 : 1;
      // An export has the numbers of some tokens only: they are outlined.
      const known = mttt.source.stored("/api/update", { ...request, layer: layer(), head: head() })?.map((one) => one.token);
      picture.set({ input: trace.input, grid: trace.grid, losses: tokens && losses(t()), most, mix: Number(parts.mix.value), chosen, known });
      if (!tokens) return;
      const which = parts.head.value === MEAN ? "mean of heads" : `head ${Number(parts.head.value) + 1}`;
      mttt.legend(parts.legend, {
        colour: mttt.sequential, from: "0", to: mttt.number(most), label: `ℓ of each token, layer ${layer() + 1}, ${which}; the same scale at every t`,
      });
    };
    const paintPrediction = () => {
      const now = trace.probabilities[t()];
      const winner = mttt.top(now);
      const told = [`${trace.classes[winner]}`, `${mttt.percent(now[winner])}${trace.probabilities.length > 1 ? ` at t = ${t()}` : ""}`];
      const label = trace.label === null ? "" : trace.label === trace.classes[winner] ? "as labelled" : `labelled ${trace.label}`;
      parts.answer.replaceChildren(mttt.el("b", {}, told[0]), mttt.el("span", {}, told[1]), mttt.el("span.small", {}, label));
      mttt.prediction(parts.probabilities, trace, t(), pick);
    };
    const paintKey = () => {
      const entries = trace.losses.map((heads, at) => ({
        label: `layer ${at + 1}: ${mttt.number(mttt.mean(heads.map((head) => head[t()])))}`, colour: mttt.line(at, trace.losses.length),
      }));
      mttt.key(parts.layers, entries, layer(), (at) => {
        parts.layer.value = at;
        choose();
      });
    };
    const paintCharts = () => {
      const [xs, mark] = [steps(), t()];
      lossChart.set({ xs, mark, short: "t", series: lines(trace.losses, layer()), about: about("Inner loss", trace.losses) });
      distanceChart.set({ xs, mark, short: "t", series: lines(trace.distance, layer()), about: about("Distance", trace.distance) });
      paintKey();
    };
    const paint = () => {
      if (!trace) return;
      paintPicture();
      paintPrediction();
      if (tokens) paintCharts();
    };
    const choose = () => {
      paint();
      inspect();
    };

    const use = (answer, asked) => {
      trace = answer;
      request = asked;
      tokens = trace.token_losses && mttt.unpack(trace.token_losses);
      if (chosen !== null && chosen >= trace.grid.rows * trace.grid.columns) chosen = null;
      mttt.show(parts.stage, true);
      for (const node of [parts.curves, parts.pictureKnobs, parts.mixLabel, parts.legend]) mttt.show(node, tokens !== null);
      parts.pictureTitle.textContent = tokens ? "Loss of every token" : "What the model got";
      shared.ready();
      paint();
      inspect();
    };

    const standing = model.learns ? "" : "This model has no inner loop: it learns nothing from the input, and has one prediction.";
    const ask = async () => {
      const input = model.usable ? shared.asked(model) : null;
      if (!input) {
        mttt.show(parts.stage, false);
        mttt.tell(parts.note, model.usable ? `${model.no_examples ? `${model.no_examples}. ` : ""}No picture is chosen.` : `${model.why_not} Its training can be shown.`);
        return;
      }
      mttt.tell(parts.note, standing);
      const asked = knobs.asked(input);
      let done = () => {};
      try {
        const answer = await newest((signal) => {
          done = mttt.busy(parts.busy);
          return mttt.source.ask("/api/trace", asked, signal);
        });
        done();
        mttt.tell(parts.error, "");
        parts.busy.textContent = mttt.source.exported ? "" : `computed in ${mttt.duration(answer.milliseconds)}`;
        use(answer, asked);
      } catch (error) {
        done();
        if (error.name === "AbortError") return;
        mttt.tell(parts.error, error.message);
        // What is shown is of what was asked before: of another T it may stay, of another picture it may not.
        if (request && JSON.stringify(request.input) !== JSON.stringify(input)) mttt.show(parts.stage, false);
      }
    };
    const later = mttt.debounced(ask, 200);
    const laterInspect = mttt.debounced(inspect, 150);

    parts.name.textContent = mttt.modelName(model);
    parts.about.textContent = model.about;
    mttt.show(parts.stage, false);
    mttt.options(parts.layer, Array.from({ length: model.layers }, (_, at) => [at, at + 1]), 0);
    mttt.options(parts.head, [[MEAN, "mean of heads"], ...Array.from({ length: model.heads }, (_, at) => [at, at + 1])], MEAN);
    parts.layer.addEventListener("change", choose);
    parts.head.addEventListener("change", choose);
    parts.mix.addEventListener("input", () => trace && paintPicture());
    mttt.onTheme(parts.column, paint);

    return {
      root,
      ask,
      steps: () => (trace && tokens ? trace.steps : null),
      // Another t: nothing is computed, only shown.
      time() {
        if (!trace) return;
        paintPicture();
        paintPrediction();
        if (!tokens) return;
        lossChart.mark(t());
        distanceChart.mark(t());
        paintKey();
        laterInspect();
      },
    };
  };
}
