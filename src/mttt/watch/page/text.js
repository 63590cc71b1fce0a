"use strict";
// One language model and one text: the loss of every byte, with W learning and with W₀ frozen.
{
  const TOP = 5; // nats; a uniform guess among 256 bytes costs 5.5
  const SPREAD = 2; // nats of difference
  const WHICH = [["loss", "W learning"], ["frozen", "W₀ frozen"], ["difference", "difference"]];
  const bits = (nats) => mttt.number(nats / Math.LN2);
  let columns = 0;

  mttt.textColumn = (model, limits, shared) => {
    const { root, parts } = mttt.parts("text-column");
    const newest = mttt.newest();
    const group = `which-${(columns += 1)}`;
    let reading = null;
    let which = "loss";

    const difference = (at) => reading.loss[at] - reading.frozen[at];
    const unknown = (at) => reading.loss[at] === null || (which !== "loss" && reading.frozen[at] === null);
    const colour = (at) => {
      if (unknown(at)) return null;
      return which === "difference" ? mttt.diverging(difference(at) / SPREAD) : mttt.sequential(reading[which][at] / TOP);
    };
    const text = mttt.byteText(parts.bytes, (at) => {
      const [byte, loss] = [reading.bytes[at], reading.loss[at]];
      if (loss === null) {
        mttt.expected(parts.expected, `Byte ${at}: ${mttt.byteName(byte)}. Nothing comes before it, so it has no loss.`, [], byte);
        return;
      }
      const frozen = reading.frozen ? `, ${mttt.number(reading.frozen[at])} with W₀ frozen` : "";
      const sentence = `Byte ${at}: ${mttt.byteName(byte)}, loss ${mttt.number(loss)} nats${frozen}. Expected before it came:`;
      mttt.expected(parts.expected, sentence, reading.likely[at] || [], byte);
    });
    const chart = mttt.chart(parts.distance, { x: "bytes read" });

    const legend = () => {
      if (which === "difference") {
        const label = "learning − frozen, nats: blue where learning made the byte cheaper";
        mttt.legend(parts.legend, { colour: (share) => mttt.diverging(2 * share - 1), from: `−${SPREAD}`, middle: "0", to: `+${SPREAD}`, label });
      } else {
        const label = "loss, nats; a uniform guess among 256 bytes costs 5.5";
        mttt.legend(parts.legend, { colour: mttt.sequential, from: "0", to: `${TOP} and more`, label });
      }
    };
    const means = () => {
      const one = (name, values) => {
        const mean = mttt.mean(values);
        return mttt.el("span", {}, `${name} `, mttt.el("b", {}, mttt.number(mean)), ` nats (${bits(mean)} bits)`);
      };
      const told = [one(reading.frozen ? "Mean loss of a byte: W learning" : "Mean loss of a byte:", reading.loss)];
      if (reading.frozen) told.push(one("W₀ frozen", reading.frozen));
      parts.means.replaceChildren(...told);
    };
    const distances = () => {
      mttt.show(parts.distanceFigure, reading.distance !== null);
      if (!reading.distance) return;
      const { positions, values } = reading.distance;
      const unpacked = mttt.unpack(values);
      const [layers, heads] = unpacked.shape;
      const series = [];
      for (let layer = 0; layer < layers; layer += 1) {
        const colour = mttt.line(layer, layers);
        const each = Array.from({ length: heads }, (_, head) => Array.from(unpacked.at(layer, head)));
        if (heads > 1) for (const one of each) series.push({ values: one, colour, width: 0.5, dash: [4, 3] });
        const mean = positions.map((_, at) => mttt.mean(each.map((one) => one[at])));
        series.push({ label: `layer ${layer + 1}`, values: mean, colour, width: 2 });
      }
      chart.set({ xs: positions, short: "bytes", series, about: `Distance of W from its start, along ${positions[positions.length - 1]} bytes of text.` });
      const named = series.filter((one) => one.label).map(({ label, colour }) => ({ label, colour }));
      mttt.key(parts.layers, [...named, ...(heads > 1 ? [{ label: "each head", colour: mttt.variable("--soft"), dash: true }] : [])]);
    };
    const paint = () => {
      if (!reading) return;
      text.paint(colour);
      legend();
      distances();
    };
    const use = (answer) => {
      reading = answer;
      if (!reading.frozen) which = "loss";
      mttt.show(parts.which, reading.frozen !== null);
      mttt.show(parts.reading, true);
      parts.expected.replaceChildren(mttt.el("p.small", {}, "Click a byte to see what the model expected there."));
      text.set(reading.bytes);
      means();
      const grows = reading.state_grows ? "and it grows with the text" : "for a text of any length";
      parts.state.textContent = `What the model keeps to read on: ${mttt.bytes(reading.state_bytes)}, ${grows}.`;
      paint();
    };

    const ask = async () => {
      const asked = shared.asked();
      const missing = asked ? "" : model.no_examples;
      mttt.tell(parts.note, model.usable ? missing : `${model.why_not} Its training can be shown.`);
      mttt.show(parts.writing, model.usable);
      if (!model.usable || !asked) {
        mttt.show(parts.reading, false);
        return;
      }
      let done = () => {};
      try {
        const answer = await newest((signal) => {
          done = mttt.busy(parts.busy);
          return mttt.source.ask("/api/read", { model: model.id, text: asked }, signal);
        });
        done();
        mttt.tell(parts.error, "");
        parts.busy.textContent = mttt.source.exported ? "" : `computed in ${mttt.duration(answer.milliseconds)}`;
        use(answer);
      } catch (error) {
        done();
        if (error.name !== "AbortError") mttt.tell(parts.error, error.message);
      }
    };

    parts.name.textContent = mttt.modelName(model);
    parts.about.textContent = model.about;
    parts.which.replaceChildren(
      ...WHICH.map(([value, label]) => {
        const radio = mttt.el("input", { type: "radio", name: group, value, checked: value === which });
        radio.addEventListener("change", () => {
          which = value;
          paint();
        });
        return mttt.el("label", {}, radio, mttt.el("span", {}, label));
      }),
    );
    mttt.writing(model, parts, () => shared.asked() || "");
    mttt.onTheme(parts.column, paint);
    return { root, ask, steps: () => null, time() {} };
  };
}
