"use strict";
// T and η of one model: trained values, others, and back.
{
  // parts: steps, rate, their labels, reset, trained; changed(): another value
  mttt.knobs = (model, limits, parts, changed) => {
    const { steps, rate } = parts;
    const trained = { steps: model.steps ?? 0, rate: model.rate };
    const named = model.rate === null ? `T = ${model.steps}` : `T = ${model.steps}, η = ${mttt.plain(model.rate)}`;

    const write = (values) => {
      steps.value = values.steps;
      if (values.rate !== null) rate.value = values.rate;
      note();
    };
    const read = () => ({ steps: Number(steps.value), rate: model.rate === null ? null : Number(rate.value) });
    const same = () => read().steps === trained.steps && read().rate === trained.rate;
    const note = () => {
      parts.trained.textContent = same() ? `as trained: ${named}` : `trained: ${named}`;
      parts.trained.classList.toggle("other", !same());
      parts.reset.hidden = same();
    };
    const valid = () => steps.value !== "" && steps.validity.valid && (model.rate === null || (rate.value !== "" && Number.isFinite(read().rate)));
    const use = () => {
      note();
      if (valid()) {
        mttt.tell(parts.error, "");
        changed();
      } else mttt.tell(parts.error, `T is a whole number from 0 to ${steps.max}, and η is a number.`);
    };

    steps.max = Math.max(limits?.steps ?? 16, trained.steps);
    if (model.rate) rate.step = String(10 ** (Math.floor(Math.log10(Math.abs(model.rate))) - (String(model.rate)[0] === "1" ? 1 : 0)));
    mttt.show(parts.knobs, model.usable && model.learns && model.steps !== null);
    mttt.show(parts.rateLabel, model.rate !== null);
    steps.addEventListener("input", use);
    rate.addEventListener("input", use);
    parts.reset.addEventListener("click", () => {
      write(trained);
      use();
    });
    write(trained);

    // An export has the values that were stored: the nearest of them.
    const stored = (input, wanted) => {
      const all = mttt.source.stored("/api/trace", { model: model.id, input }) || [];
      const [counts, rates] = [new Set(all.map((one) => one.steps)), new Set(all.map((one) => one.rate))];
      steps.disabled = counts.size < 2;
      rate.disabled = rates.size < 2;
      if (!all.length) return wanted;
      const far = (one) => Math.abs(one.steps - wanted.steps) + Math.abs(Math.log((one.rate || 1) / (wanted.rate || 1)));
      return all.reduce((best, one) => (far(one) < far(best) ? one : best));
    };

    return {
      asked(input) {
        const values = mttt.source.exported ? stored(input, read()) : read();
        write(values);
        return { model: model.id, input, steps: values.steps, rate: values.rate };
      },
    };
  };
}
