"use strict";
// Arrays as the server packs them: {"shape": […], "float32": "<base64, little endian>"}.
{
  const octets = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));

  const floats = (text) => {
    const raw = octets(text);
    const view = new DataView(raw.buffer);
    return Float32Array.from({ length: raw.length / 4 }, (_, at) => view.getFloat32(4 * at, true));
  };

  // {shape, values, at(i, j, …): the part of the values that these first indices choose}
  mttt.unpack = (packed) => {
    const { shape } = packed;
    const values = floats(packed.float32);
    const at = (...indices) => {
      let size = values.length;
      let start = 0;
      indices.forEach((index, axis) => {
        size /= shape[axis];
        start += index * size;
      });
      return values.subarray(start, start + size);
    };
    return { shape, values, at };
  };

  mttt.octets = octets;

  mttt.base64 = (buffer) => {
    const raw = new Uint8Array(buffer);
    let text = "";
    for (let from = 0; from < raw.length; from += 8192) text += String.fromCharCode(...raw.subarray(from, from + 8192));
    return btoa(text);
  };

  // The largest size of any value, for colour scales; unknown values do not count.
  mttt.largest = (...arrays) => {
    let most = 0;
    for (const array of arrays) for (const x of array) if (Math.abs(x) > most && Number.isFinite(x)) most = Math.abs(x);
    return most;
  };

  mttt.mean = (numbers) => {
    const known = Array.from(numbers).filter((x) => x !== null && !Number.isNaN(x));
    return known.length ? known.reduce((sum, x) => sum + x, 0) / known.length : NaN;
  };
}
