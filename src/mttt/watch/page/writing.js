"use strict";
// Generation, byte by byte: what was written, how surprising it was, and what else was expected.
{
  const TOP = 8; // bits: a uniform guess among 256 bytes

  mttt.writing = (model, parts, prompt) => {
    let lines = [];
    let stopping = null;
    let drawn = true;

    const text = mttt.byteText(parts.written, (at) => {
      const { byte, surprise, likely } = lines[at];
      const sentence = `Byte ${at}: ${mttt.byteName(byte)}, surprise ${mttt.number(surprise)} bits. Expected at its place:`;
      mttt.expected(parts.writtenExpected, sentence, likely, byte);
    });
    const colour = (at) => mttt.sequential(lines[at].surprise / TOP);
    const paint = () => {
      drawn = true;
      text.set(lines.map((line) => line.byte));
      text.paint(colour);
    };
    // At most one drawing for each frame, however fast bytes come.
    const soon = () => {
      if (drawn) requestAnimationFrame(paint);
      drawn = false;
    };
    const legend = () =>
      mttt.legend(parts.writtenLegend, { colour: mttt.sequential, from: "0", to: `${TOP} and more`, label: "surprise of the written byte, bits" });

    // An export writes what was stored, if anything was.
    const [stored] = mttt.source.stored("/api/generate", { model: model.id }) || [];
    const asked = () => stored || ({
      model: model.id,
      prompt: prompt(),
      count: Number(parts.count.value),
      temperature: Number(parts.temperature.value),
      top: parts.top.value === "" ? null : Number(parts.top.value),
      seed: Number(parts.seed.value),
    });
    const take = (line) => {
      if (line.error) throw new Error(line.error);
      if (line.done) parts.writtenNote.textContent = `${lines.length} bytes, ${mttt.number(line.tokens_per_second)} bytes/s. Click a byte to see what was expected there.`;
      else {
        lines.push(line);
        soon();
      }
    };
    const write = async () => {
      stopping = new AbortController();
      [parts.write.disabled, parts.stop.disabled] = [true, false];
      lines = [];
      mttt.tell(parts.writeError, "");
      mttt.show(parts.writtenBox, true);
      parts.writtenExpected.replaceChildren();
      parts.writtenNote.textContent = "";
      legend();
      soon();
      let done = mttt.busy(parts.writtenNote);
      try {
        for await (const line of mttt.source.lines("/api/generate", asked(), stopping.signal)) {
          done();
          take(line);
          if (!line.done) done = mttt.busy(parts.writtenNote); // the next byte may take long, too
        }
      } catch (error) {
        done();
        if (error.name === "AbortError") parts.writtenNote.textContent = `Stopped after ${lines.length} bytes.`;
        else mttt.tell(parts.writeError, error.message);
      } finally {
        done();
        [parts.write.disabled, parts.stop.disabled] = [false, true];
      }
    };

    parts.writing.addEventListener("submit", (event) => {
      event.preventDefault();
      write();
    });
    parts.stop.addEventListener("click", () => stopping?.abort());
    mttt.onTheme(parts.writing, () => {
      if (!lines.length) return;
      legend();
      paint();
    });

    if (!mttt.source.exported) return;
    for (const name of ["count", "temperature", "top", "seed"]) {
      if (stored) parts[name].value = stored[name] ?? "";
      parts[name].disabled = true;
    }
    parts.write.disabled = !stored;
    if (stored) parts.writeTitle.textContent = `Let it go on after “… ${stored.prompt.slice(-30).trim()}”`;
  };
}
