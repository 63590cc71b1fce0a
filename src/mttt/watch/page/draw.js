"use strict";
// A square to draw in, light on dark, with mouse, pen or finger. What leaves it is rows of 0…255.
{
  const SENT = 64; // rows and columns; the server scales them like a picture

  mttt.drawing = (canvas, clear, changed) => {
    const context = canvas.getContext("2d", { willReadFrequently: true });
    let last = null;

    const empty = () => {
      context.fillStyle = "#000";
      context.fillRect(0, 0, canvas.width, canvas.height);
    };
    const place = (event) => {
      const box = canvas.getBoundingClientRect();
      return [((event.clientX - box.left) * canvas.width) / box.width, ((event.clientY - box.top) * canvas.height) / box.height];
    };
    const stroke = (to) => {
      Object.assign(context, { strokeStyle: "#fff", lineWidth: canvas.width / 9, lineCap: "round", lineJoin: "round" });
      context.beginPath();
      context.moveTo(...last);
      context.lineTo(...to);
      context.stroke();
      last = to;
    };
    const rows = () => {
      const small = mttt.el("canvas", { width: SENT, height: SENT }).getContext("2d");
      small.imageSmoothingQuality = "high";
      small.drawImage(canvas, 0, 0, SENT, SENT);
      const { data } = small.getImageData(0, 0, SENT, SENT);
      return Array.from({ length: SENT }, (_, row) => Array.from({ length: SENT }, (_, column) => data[4 * (row * SENT + column)]));
    };
    const later = mttt.debounced(() => changed(rows()), 200);

    canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      canvas.setPointerCapture(event.pointerId);
      last = place(event);
      stroke(last);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!last) return;
      for (const one of event.getCoalescedEvents?.() || [event]) stroke(place(one));
      later();
    });
    const lift = () => {
      if (!last) return;
      last = null;
      later();
    };
    canvas.addEventListener("pointerup", lift);
    canvas.addEventListener("pointercancel", lift);
    clear.addEventListener("click", empty);
    empty();
  };
}
