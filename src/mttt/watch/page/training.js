"use strict";
// The training of one run: what its metrics say, again every two seconds while it runs.
{
  const EVERY = 2000;

  const column = (records, field) => records.map((record) => record[field] ?? null);

  // Records of two kinds have different steps: one common axis, with gaps.
  const joined = (one, two, field) => {
    const at = (records) => new Map(records.map((record) => [record.step, record[field] ?? null]));
    const [a, b] = [at(one), at(two)];
    const xs = [...new Set([...a.keys(), ...b.keys()])].sort((x, y) => x - y);
    return { xs, first: xs.map((x) => a.get(x) ?? null), second: xs.map((x) => b.get(x) ?? null) };
  };

  mttt.trainingColumn = (model) => {
    const { root, parts } = mttt.parts("training-column");
    const x = "outer step";
    const charts = {
      loss: mttt.chart(parts.loss, { x, floor: null }),
      accuracy: mttt.chart(parts.accuracy, { x, top: 100 }),
      inner: mttt.chart(parts.inner, { x }),
      speed: mttt.chart(parts.speed, { x }),
    };
    let answer = null;
    let timer = null;
    let open = false;

    const both = (chart, key, train, evaluation, field, factor, name) => {
      const { xs, first, second } = joined(train, evaluation, field);
      const scaled = (values) => values.map((value) => (value === null ? null : factor * value));
      const series = [
        { label: "training", values: scaled(first), colour: mttt.variable("--soft"), width: 1 },
        { label: answer.evaluation_name, values: scaled(second), colour: mttt.variable("--accent"), width: 2 },
      ];
      mttt.key(key, series);
      chart.set({ xs, series, short: "step", about: `${name} against the outer step, in training and on ${answer.evaluation_name}.` });
    };
    const inner = (evaluation) => {
      const known = evaluation.filter((record) => record.inner_losses);
      mttt.show(parts.innerFigure, known.length > 0);
      if (!known.length) return;
      const layers = known[0].inner_losses.length;
      const series = [];
      for (let layer = 0; layer < layers; layer += 1) {
        const colour = mttt.line(layer, layers);
        const each = known.map((record) => record.inner_losses[layer]);
        series.push({ values: each.map((one) => one[0]), colour, width: 1, dash: [5, 4] });
        series.push({ label: `layer ${layer + 1}`, values: each.map((one) => one[one.length - 1]), colour, width: 2 });
      }
      charts.inner.set({ xs: column(known, "step"), series, short: "step", about: "Inner losses by layer against the outer step, before and after the inner steps." });
      mttt.key(parts.layers, Array.from({ length: layers }, (_, at) => ({ label: `layer ${at + 1}`, colour: mttt.line(at, layers) })));
    };
    const paint = () => {
      if (!answer) return;
      const of = (kind) => answer.metrics.filter((record) => record.kind === kind);
      const [train, evaluation] = [of("train"), of("evaluation")];
      both(charts.loss, parts.lossKey, train, evaluation, "loss", 1, "Loss");
      both(charts.accuracy, parts.accuracyKey, train, evaluation, "accuracy", 100, "Accuracy");
      inner(evaluation);
      const timed = train.filter((record) => record.examples_per_second);
      const series = [{ label: "training", values: column(timed, "examples_per_second"), colour: mttt.variable("--accent") }];
      charts.speed.set({ xs: column(timed, "step"), series, short: "step", about: "Speed of training against the outer step." });
    };
    const progress = () => {
      const { step, steps, running, result, metrics } = answer;
      parts.progress.max = Math.max(1, steps);
      parts.progress.value = step;
      const state = running ? "training now" : result ? "finished" : "not finished, and not running";
      const last = metrics.filter((record) => record.kind === "evaluation").pop();
      const told = last ? ` On ${answer.evaluation_name}: accuracy ${mttt.percent(last.accuracy)}, loss ${mttt.number(last.loss)} after step ${last.step}.` : "";
      parts.progressText.textContent = `Step ${step} of ${steps}, ${state}.${told}`;
      mttt.show(parts.charts, metrics.length > 0);
    };
    const look = async () => {
      clearTimeout(timer);
      if (!open || !model.has_training) return;
      let again = false;
      try {
        const before = answer && JSON.stringify(answer);
        answer = await mttt.source.get("/api/training", { model: model.id });
        again = answer.running;
        mttt.tell(parts.error, "");
        progress();
        if (JSON.stringify(answer) !== before) paint();
      } catch (error) {
        again = answer?.running ?? false;
        mttt.tell(parts.error, error.message);
      }
      if (again && open) timer = setTimeout(look, EVERY);
    };

    parts.name.textContent = mttt.modelName(model);
    parts.about.textContent = model.about;
    parts.lossUnit.textContent = model.kind === "text" ? "nats a byte" : "cross entropy, nats";
    parts.speedUnit.textContent = model.kind === "text" ? "windows of text a second" : "images/s";
    mttt.show(parts.charts, false);
    mttt.show(parts.progress, model.has_training);
    if (!model.has_training) parts.progressText.textContent = "Nothing is recorded about the training of this model.";
    mttt.onTheme(parts.column, paint);

    return {
      root,
      open(visible) {
        open = visible;
        if (visible) look();
        else clearTimeout(timer);
      },
    };
  };
}
