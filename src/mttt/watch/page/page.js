"use strict";
// The page: which models, which view, which t; everything else is asked from here.
{
  const [modelSelect, besideSelect, slider, play] = ["model", "beside", "t", "play"].map(mttt.id);
  const STEP = 700; // milliseconds of a played step
  let models = [];
  let limits = {};
  let columns = [];
  let trainings = [];
  let view = "input";
  let t = 0;
  let last = null; // the largest t that can be shown
  let playing = null;

  const model = () => models.find((one) => one.id === modelSelect.value);
  const beside = () => models.find((one) => one.id === besideSelect.value);
  const chosen = () => [model(), beside()].filter(Boolean);
  const ask = () => columns.forEach((column) => column.ask());

  const inputs = mttt.pictureInputs(ask);
  const texts = mttt.textInputs(ask);

  // ---- time
  const tell = () => {
    slider.value = t;
    mttt.id("t-value").textContent = `t = ${t} of ${last}`;
    slider.setAttribute("aria-valuetext", `after ${t} of ${last} inner steps`);
  };
  const pick = (step) => {
    t = Math.min(step, last ?? 0);
    tell();
    columns.forEach((column) => column.time());
  };
  const stop = () => {
    clearInterval(playing);
    playing = null;
    play.textContent = "▶";
    play.setAttribute("aria-label", "Play the inner steps");
  };
  const start = () => {
    if (t >= last) pick(0);
    play.textContent = "❚❚";
    play.setAttribute("aria-label", "Pause");
    playing = setInterval(() => (t < last ? pick(t + 1) : stop()), STEP);
  };
  // After a trace: who looked at the end goes on looking at the end.
  const ready = () => {
    const counts = columns.map((column) => column.steps()).filter((count) => count !== null);
    const most = counts.length ? Math.max(...counts) : null;
    const atEnd = last === null || t >= last;
    last = most;
    mttt.show(mttt.id("time"), most !== null && most > 0);
    if (most === null) return;
    slider.max = most;
    play.disabled = most === 0;
    const marks = Array.from({ length: most + 1 }, (_, at) => mttt.el("span", {}, String(at)));
    mttt.id("marks").replaceChildren(...marks);
    pick(atEnd ? most : t);
  };

  // ---- columns
  const build = () => {
    stop();
    const [first] = chosen();
    last = null;
    const pictures = first.kind === "pictures";
    mttt.show(mttt.id("picture-inputs"), pictures && first.usable);
    mttt.show(mttt.id("text-inputs"), !pictures && first.usable);
    mttt.show(mttt.id("time"), false);
    if (pictures) inputs.model(first, limits);
    else texts.model(first, limits);
    const shared = { asked: (one) => (pictures ? inputs.asked(one) : texts.asked()), pick, ready, t: () => t };
    columns = chosen().map((one) => (pictures ? mttt.pictureColumn : mttt.textColumn)(one, limits, shared));
    trainings = chosen().map((one) => mttt.trainingColumn(one));
    for (const [place, made] of [["columns", columns], ["trainings", trainings]]) {
      mttt.id(place).replaceChildren(...made.map((column) => column.root));
      mttt.id(place).classList.toggle("two", made.length > 1);
    }
    ask();
    look(first.usable ? view : "training");
  };
  const choose = () => {
    const same = models.filter((one) => one.kind === model().kind && one.id !== model().id);
    const kept = same.some((one) => one.id === besideSelect.value) ? besideSelect.value : "";
    mttt.options(besideSelect, [["", "nothing"], ...same.map((one) => [one.id, mttt.modelName(one)])], kept);
    besideSelect.disabled = same.length === 0;
    trainings.forEach((training) => training.open(false));
    build();
  };

  // ---- views
  const look = (name) => {
    view = name;
    for (const one of ["input", "training"]) {
      const tab = mttt.id(`tab-${one}`);
      tab.setAttribute("aria-selected", String(one === name));
      tab.tabIndex = one === name ? 0 : -1;
      mttt.show(mttt.id(`view-${one}`), one === name);
    }
    if (name === "training") stop();
    trainings.forEach((training) => training.open(name === "training"));
  };
  // A run that had no checkpoint may have one by now.
  const lookAgain = async () => {
    look("input");
    if (mttt.source.exported || chosen().every((one) => one.usable)) return;
    const usable = () => chosen().filter((one) => one.usable).length;
    const before = usable();
    try {
      ({ models } = await mttt.source.get("/api/models"));
      if (usable() > before && view === "input") build();
    } catch (error) {
      mttt.tell(mttt.id("page-error"), error.message);
    }
  };
  const wire = () => {
    modelSelect.addEventListener("change", choose);
    besideSelect.addEventListener("change", choose);
    slider.addEventListener("input", () => {
      stop();
      pick(Number(slider.value));
    });
    play.addEventListener("click", () => (playing ? stop() : start()));
    for (const [name, other] of [["input", "training"], ["training", "input"]]) {
      const tab = mttt.id(`tab-${name}`);
      tab.addEventListener("click", () => (name === "input" ? lookAgain() : look(name)));
      tab.addEventListener("keydown", (event) => {
        if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
        look(other);
        mttt.id(`tab-${other}`).focus();
      });
    }
  };

  const begin = async () => {
    wire();
    try {
      const answer = await mttt.source.get("/api/models");
      ({ models, limits } = answer);
      mttt.id("version").textContent = `mttt ${answer.version}`;
      if (mttt.source.exported) {
        mttt.tell(mttt.id("export-note"), "This is an exported page: it shows stored answers only, and what was not stored is switched off. mttt watch shows everything.");
      }
      if (!models.length) throw new Error("There is no model to show: train one with mttt train.");
      mttt.options(modelSelect, models.map((one) => [one.id, mttt.modelName(one)]), (models.find((one) => one.usable) || models[0]).id);
      choose();
    } catch (error) {
      mttt.tell(mttt.id("page-error"), error.message);
    }
  };
  begin();
}
