"use strict";
// Which picture the models get: one of the test pictures, a file, or a drawing.
{
  // changed(): another input was chosen; asked(model) gives it as a request's field.
  mttt.pictureInputs = (changed) => {
    const [examples, drop, file, invert] = ["examples", "drop", "file", "invert"].map(mttt.id);
    let model = null;
    let limit = Infinity;
    let chosen = null; // {example} | {picture} | {drawing}

    const fail = (sentence) => mttt.tell(mttt.id("input-error"), sentence);
    const mark = () => {
      for (const button of examples.children) button.setAttribute("aria-pressed", String(chosen?.example === button.dataset.example));
    };
    const choose = (input, name = "") => {
      chosen = input;
      mttt.id("file-name").textContent = name;
      fail("");
      mark();
      changed();
    };

    const take = async (blob) => {
      if (!blob) return;
      if (blob.size > limit) {
        fail(`${blob.name} has ${mttt.bytes(blob.size)}; the limit is ${mttt.bytes(limit)}. Choose a smaller picture.`);
        return;
      }
      const invertible = () => ({ picture: content, invert: invert.checked });
      const content = mttt.base64(await blob.arrayBuffer());
      choose(invertible(), blob.name);
    };

    file.addEventListener("change", () => {
      take(file.files[0]);
      file.value = ""; // so that the same file can be chosen again
    });
    invert.addEventListener("change", () => {
      if (chosen?.picture) choose({ ...chosen, invert: invert.checked }, mttt.id("file-name").textContent);
    });
    // Anywhere on the page: a file that misses the field must not replace the page.
    for (const name of ["dragover", "dragleave", "drop"]) {
      document.addEventListener(name, (event) => {
        event.preventDefault();
        drop.classList.toggle("over", name === "dragover");
        if (name === "drop" && model && !mttt.source.exported) take(event.dataTransfer.files[0]);
      });
    }
    mttt.drawing(mttt.id("pad"), mttt.id("clear"), (rows) => !mttt.source.exported && choose({ drawing: rows }));

    const thumbnail = (one) => {
      const picture = mttt.el("img", { src: one.thumbnail, alt: one.label === null ? `Picture ${one.id}` : `A ${one.label}`, width: 44, height: 44 });
      const known = !mttt.source.exported || mttt.source.stored("/api/trace", { model: model.id, input: { example: one.id } }).length > 0;
      const fields = { type: "button", disabled: !known, onclick: () => choose({ example: one.id }) };
      const button = mttt.el("button", fields, picture);
      button.dataset.example = one.id;
      return button;
    };

    return {
      model(next, limits) {
        const other = !model || model.id !== next.id;
        model = next;
        limit = limits?.upload ?? Infinity;
        mttt.show(mttt.id("drawing"), next.draws);
        examples.replaceChildren(...next.examples.map(thumbnail));
        for (const node of [file, invert, mttt.id("clear")]) node.disabled = mttt.source.exported;
        for (const node of [drop, mttt.id("pad")]) node.classList.toggle("off", mttt.source.exported);
        const gone = chosen?.example !== undefined && !next.examples.some((one) => one.id === chosen.example);
        if (!chosen || (other && gone)) {
          const first = [...examples.children].find((button) => !button.disabled);
          chosen = first ? { example: first.dataset.example } : null;
        }
        mark();
      },
      // The same picture for each model: an example of one may be another picture, or none, for the other.
      asked(other) {
        if (chosen?.example === undefined || other.id === model.id) return chosen;
        const mine = model.examples.find((one) => one.id === chosen.example);
        const same = other.examples.some((one) => one.id === chosen.example && one.thumbnail === mine.thumbnail);
        return same ? chosen : { picture: mine.thumbnail.split(",")[1], invert: false };
      },
      fail,
    };
  };
}
