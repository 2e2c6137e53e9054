/** The built command line, whose lines about what is under way come every second. */
const usual = globalThis.setInterval;
globalThis.setInterval = (work, ms, ...words) => usual(work, Math.min(ms, 1000), ...words);

await import('../../dist/cli/main.js');
