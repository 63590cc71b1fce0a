"use strict";
// Where answers come from: the server, or those stored in an exported page. Both have the same questions and answers.
{
  const canonical = (value) => {
    if (Array.isArray(value)) return value.map(canonical);
    if (value === null || typeof value !== "object") return value;
    return Object.fromEntries(Object.keys(value).sort().map((key) => [key, canonical(value[key])]));
  };
  const key = (path, request) => `${path} ${JSON.stringify(canonical(request))}`;

  const GONE = "The server does not answer. Is mttt watch still running?";

  const failure = async (response) => {
    const told = await response.json().catch(() => ({}));
    return new Error(told.error || `The server answered with status ${response.status}, and without a reason.`);
  };

  const send = async (path, fields) => {
    try {
      return await fetch(path, fields);
    } catch (error) {
      throw error.name === "AbortError" ? error : new Error(GONE);
    }
  };

  const post = async (path, request, signal) => {
    const headers = { "Content-Type": "application/json" };
    const response = await send(path, { method: "POST", headers, body: JSON.stringify(request), signal });
    if (!response.ok) throw await failure(response);
    return response;
  };

  const live = {
    exported: false,
    stored: () => null, // anything can be asked
    has: () => true,
    async get(path, query = {}) {
      const words = new URLSearchParams(query).toString();
      const response = await send(words ? `${path}?${words}` : path, {});
      if (!response.ok) throw await failure(response);
      return response.json();
    },
    ask: async (path, request, signal) => (await post(path, request, signal)).json(),
    async *lines(path, request, signal) {
      const reader = (await post(path, request, signal)).body.pipeThrough(new TextDecoderStream()).getReader();
      let rest = "";
      try {
        for (;;) {
          const { done, value } = await reader.read();
          const whole = (rest + (value || "")).split("\n");
          rest = whole.pop();
          for (const line of whole) if (line.trim()) yield JSON.parse(line);
          if (done) return;
        }
      } catch (error) {
        throw error.name === "AbortError" || error instanceof SyntaxError ? error : new Error(GONE);
      }
    },
  };

  const exported = (data) => {
    const answers = new Map(data.answers.map(({ path, request, answer }) => [key(path, request), answer]));
    const find = (path, request) => {
      if (!answers.has(key(path, request))) throw new Error("This exported page has no stored answer for that.");
      return answers.get(key(path, request));
    };
    return {
      exported: true,
      // The stored questions that agree with these fields.
      stored: (path, fields) =>
        data.answers
          .filter((one) => one.path === path)
          .map((one) => one.request)
          .filter((request) => Object.keys(fields).every((name) => key("", request[name]) === key("", fields[name]))),
      has: (path, request) => answers.has(key(path, request)),
      get: async (path, query = {}) => (path === "/api/models" ? data.models : find(path, query)),
      ask: async (path, request) => find(path, request),
      async *lines(path, request) {
        yield* find(path, request);
      },
    };
  };

  const data = JSON.parse(mttt.id("mttt-source").textContent);
  mttt.source = data.mode === "export" ? exported(data) : live;
  mttt.exportedVersion = data.version;

  // Runs an action and shows what the server does in the meantime. The newest action of a place cancels the one before.
  mttt.newest = () => {
    let running = null;
    return async (action) => {
      if (running) running.abort();
      const mine = new AbortController();
      running = mine;
      try {
        return await action(mine.signal);
      } finally {
        if (running === mine) running = null;
      }
    };
  };

  mttt.busy = (place) => {
    let over = false;
    const begun = performance.now();
    const look = async () => {
      if (over || mttt.source.exported) return;
      const { busy } = await live.get("/api/status").catch(() => ({ busy: null }));
      if (over) return;
      const seconds = Math.round((performance.now() - begun) / 1000);
      place.textContent = `${busy || "computing"} … ${seconds ? `${seconds} s` : ""}`;
      setTimeout(look, 500);
    };
    const timer = setTimeout(look, 250);
    return () => {
      if (over) return; // what was written there since stays
      over = true;
      clearTimeout(timer);
      place.textContent = "";
    };
  };
}
