/**
 * A client of your own for the `rest` family, which wraps Node's `fetch`: `boundary-bench run --family rest --client examples/rest-client.mjs`
 * measures it next to the clients of the package.
 */
export default {
  /** Connects to the server of the run. Each thread of a cell has one of these, which may use this number of connections. */
  async connect(url, { headers, connections }) {
    const waiting = [];
    let free = connections;
    return {
      async post(path, body) {
        if (free === 0) await new Promise((resolve) => waiting.push(resolve));
        else free -= 1;
        try {
          const response = await fetch(url + path, { method: 'POST', headers, body });
          return { status: response.status, text: await response.text() };
        } finally {
          if (waiting.length > 0) waiting.shift()();
          else free += 1;
        }
      },
      async close() {},
    };
  },
};
