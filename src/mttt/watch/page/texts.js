"use strict";
// Which text the models read: an example, or what was typed or pasted.
{
  const OWN = "";
  const encoder = new TextEncoder();

  mttt.textInputs = (changed) => {
    const [area, examples, size] = ["text", "text-example", "text-size"].map(mttt.id);
    let model = null;
    let limit = Infinity;

    const count = () => encoder.encode(area.value).length;
    const tell = () => {
      const over = count() > limit;
      size.textContent = `${count()} bytes${Number.isFinite(limit) ? ` of at most ${limit}` : ""}${over ? ": too long, take some out" : ""}`;
      size.classList.toggle("error", over);
    };
    const later = mttt.debounced(changed, 500);

    area.addEventListener("input", () => {
      examples.value = OWN;
      tell();
      later();
    });
    examples.addEventListener("change", () => {
      const one = model.examples.find((example) => example.id === examples.value);
      if (one) area.value = one.text;
      tell();
      changed();
    });

    return {
      model(next, limits) {
        const other = model?.id !== next.id;
        model = next;
        limit = limits?.text ?? Infinity;
        const stored = (one) => mttt.source.has("/api/read", { model: next.id, text: one.text });
        const shown = mttt.source.exported ? next.examples.filter(stored) : next.examples;
        const own = mttt.source.exported ? [] : [[OWN, "your own"]];
        if (!other) return;
        mttt.options(examples, [...shown.map((one) => [one.id, one.title]), ...own]);
        if (!area.value || mttt.source.exported) {
          examples.value = shown.length ? shown[0].id : OWN;
          area.value = shown.length ? shown[0].text : "";
        } else examples.value = OWN;
        area.readOnly = mttt.source.exported;
        tell();
      },
      asked: () => (count() > limit ? null : area.value || null),
    };
  };
}
