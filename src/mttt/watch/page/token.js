"use strict";
// One token and one update: what the inner model is asked, what it answers before and after, and the arithmetic of its weights.
{
  const STEPS = { token: "the token itself", value: "the token's value v" };

  // Enough decimals to see what was subtracted.
  const decimals = (...numbers) => {
    const least = Math.min(...numbers.map(Math.abs).filter((x) => x > 0));
    return Number.isFinite(least) ? Math.min(9, Math.max(4, 2 - Math.floor(Math.log10(least)))) : 4;
  };

  const scaled = (most) => (value) => mttt.diverging(most ? value / most : 0);
  const minus = (a, b) => a.map((x, at) => x - b[at]);

  mttt.tokenPanel = (place, closed) => {
    const { root, parts } = mttt.parts("token-panel");
    place.replaceChildren(root);
    const newest = mttt.newest();
    let request = null;
    let update = null;
    let chosen = null; // {part, index}: the entry that is written out

    const strip = (symbol, meaning, values, most) => {
      const heat = mttt.heat({
        values, rows: 1, columns: values.length, colour: scaled(most), strip: true, label: `${symbol}, ${meaning}: ${values.length} numbers`,
        tell: (at) => {
          parts.stripReadout.textContent = at === null ? "" : `${symbol}, number ${at}: ${mttt.number(values[at], 4)}`;
          heat.mark(at);
        },
      });
      const name = mttt.el("div.stripname", {}, mttt.el("b", {}, symbol), ` ${meaning}`);
      return mttt.el("div.striprow", {}, name, heat.box, mttt.el("div.size", {}, `± ${mttt.number(most)}`));
    };

    const strips = () => {
      const { phi, answer_before, answer_after, target, before, after } = update;
      const [from, to] = [mttt.below(request.t), mttt.below(request.t + 1)];
      const inside = mttt.largest(answer_before, answer_after);
      const outside = mttt.largest(target, before, after);
      const wrong = [minus(before, target), minus(after, target)];
      const error = mttt.largest(...wrong);
      parts.strips.replaceChildren(
        strip("φ(x)", "what f is asked", phi, mttt.largest(phi)),
        strip(`f(φ; W${from})`, "its answer before the step", answer_before, inside),
        strip(`f(φ; W${to})`, "its answer after the step", answer_after, inside),
        strip("target", STEPS[update.space] || update.space, target, outside),
        strip(`y${from}`, "answer before, in the target's space", before, outside),
        strip(`y${to}`, "answer after", after, outside),
        strip(`y${from} − target`, `error before: loss ${mttt.number(update.loss_before, 4)}`, wrong[0], error),
        strip(`y${to} − target`, `error after: loss ${mttt.number(update.loss_after, 4)}`, wrong[1], error),
      );
    };

    // The entry of an array, at a place in the rows that the heat map shows.
    const place2d = (shape) => {
      const columns = shape.length ? shape[shape.length - 1] : 1;
      return { columns, rows: shape.reduce((a, b) => a * b, 1) / columns };
    };
    const indices = (shape, at) => {
      const found = [];
      for (let axis = shape.length - 1; axis >= 0; axis -= 1) {
        found.unshift(at % shape[axis]);
        at = Math.floor(at / shape[axis]);
      }
      return found;
    };
    const flat = (shape, index) => index.reduce((at, i, axis) => at * shape[axis] + i, 0);

    const sum = (part, at) => {
      const [before, gradient, after] = [part.before, part.gradient, part.after].map((array) => array.values[at]);
      const places = decimals(gradient, gradient * update.rate);
      const write = (x) => mttt.fixed(x, places);
      // The gradient has so many more that the product has them all.
      const steep = mttt.fixed(Math.abs(gradient), Math.min(12, places + Math.max(0, Math.ceil(Math.log10(Math.abs(update.rate) || 1)))));
      const index = indices(part.shape, at).join(", ");
      const name = (t) => `W${mttt.below(t)}[${index}]`;
      const sign = gradient < 0 ? "+" : "−";
      parts.sum.textContent =
        `${name(request.t + 1)}: ${write(before)} ${sign} ${mttt.plain(update.rate)} · ${steep} = ${write(after)}`;
      parts.sumNote.textContent =
        `${part.name}: ${name(request.t + 1)} = ${name(request.t)} − η · gradient. Click a cell for another entry; counted from 0.` +
        (update.exact ? "" : " This run's inner optimizer does more than that, so the sum does not have to come out.");
    };

    const matrices = () => {
      const part = update.parts[Number(parts.part.value)];
      const { rows, columns } = place2d(part.shape);
      const change = part.after.values.map((x, at) => x - part.before.values[at]);
      const weights = mttt.largest(part.before.values, part.after.values);
      const gradients = mttt.largest(part.gradient.values);
      const maps = [];
      const write = (values) => (at) => {
        for (const one of maps) one.tellAt(at);
        return values;
      };
      const pick = (at) => {
        chosen = { part: part.name, at };
        for (const { heat } of maps) heat.mark(at);
        sum(part, at);
      };
      const one = (symbol, meaning, values, most) => {
        const number = mttt.el("span.value");
        const heat = mttt.heat({ values, rows, columns, colour: scaled(most), label: `${symbol}, ${meaning}`, tell: write(values), pick, strip: rows === 1 });
        const tellAt = (at) => {
          number.textContent = at === null ? `± ${mttt.number(most)}` : `[${indices(part.shape, at).join(", ")}] ${mttt.number(values[at], 4)}`;
        };
        tellAt(null);
        maps.push({ heat, tellAt });
        return mttt.el("figure", {}, mttt.el("figcaption", {}, mttt.el("b", {}, symbol), ` ${meaning} `, number), heat.box);
      };
      const [from, to] = [mttt.below(request.t), mttt.below(request.t + 1)];
      parts.shape.textContent = `${part.shape.join(" × ")} numbers`;
      parts.matrices.replaceChildren(
        one(`W${from}`, "before", part.before.values, weights),
        one("∂ℓ/∂W", "gradient of this step", part.gradient.values, gradients),
        one(`W${to}`, "after", part.after.values, weights),
        one(`W${to} − W${from}`, "change", change, mttt.largest(change)),
        ...(part.own ? [one("∂ℓₓ/∂W", "this token's share of the gradient", part.own.values, mttt.largest(part.own.values))] : []),
      );
      const { sample } = update;
      if (chosen && chosen.part === part.name) pick(chosen.at);
      else pick(sample && sample.part === part.name ? flat(part.shape, sample.index) : 0);
    };

    const paint = () => {
      if (!update) return;
      strips();
      matrices();
    };

    const title = ({ layer, head, token, t }, columns) => {
      const [row, column] = [Math.floor(token / columns) + 1, (token % columns) + 1];
      parts.title.textContent = `Token in row ${row}, column ${column} · layer ${layer + 1}, head ${head + 1} · step W${mttt.below(t)} → W${mttt.below(t + 1)}`;
    };

    parts.close.addEventListener("click", () => closed());
    parts.part.addEventListener("change", () => {
      chosen = null;
      matrices();
    });
    mttt.onTheme(place, paint);

    return {
      // asked: an update request; columns: of the grid of tokens
      async open(asked, columns) {
        mttt.show(place, true);
        title(asked, columns);
        mttt.tell(parts.error, "");
        try {
          const answer = await newest((signal) => mttt.source.ask("/api/update", asked, signal));
          if (request && (asked.layer !== request.layer || asked.head !== request.head || asked.token !== request.token)) chosen = null;
          request = asked;
          const unpacked = ({ own, ...part }) => ({
            ...part, before: mttt.unpack(part.before), gradient: mttt.unpack(part.gradient), after: mttt.unpack(part.after), own: own && mttt.unpack(own),
          });
          update = { ...answer, parts: answer.parts.map(unpacked) };
          const first = Math.max(0, update.parts.findIndex((part) => part.name === (chosen || update.sample || {}).part));
          mttt.options(parts.part, update.parts.map((part, at) => [at, part.name]), first);
          parts.explained.textContent =
            `This head's inner model f, with weights W, is asked φ(x) and should answer ${STEPS[update.space] || "the target"}. ` +
            `One gradient step on all tokens of the step takes this token's loss from ${mttt.number(update.loss_before, 4)} to ${mttt.number(update.loss_after, 4)}.`;
          mttt.show(parts.body, true);
          paint();
        } catch (error) {
          if (error.name === "AbortError") return;
          mttt.show(parts.body, false);
          mttt.tell(parts.error, error.message);
        }
      },
      close() {
        mttt.show(place, false);
        request = null;
        chosen = null;
        mttt.show(parts.body, false);
      },
    };
  };
}
