// Loaded before the tests of a shared process: if a test does not end, prints its name and kills the process.
// Continuing with the other tests would not help, because the open handles of the hanging test would keep the process
// alive until its deadline. A thread measures the time, because native code may block the event loop.
import { afterEach, beforeEach } from "node:test";
import { Worker } from "node:worker_threads";

/** Time limit of a test in milliseconds. It is many times longer than the longest test takes on a busy machine. */
const limitMs = Number(process.env.TEST_LIMIT_MS ?? 5 * 60_000);

/** Code of the thread: receives each test's number and name when it begins, and only the number when it ends. */
const watch = `
  const { writeSync } = require("node:fs");
  const { parentPort, workerData: limitMs } = require("node:worker_threads");
  const timers = new Map();
  parentPort.on("message", ({ id, name }) => {
    clearTimeout(timers.get(id));
    timers.delete(id);
    if (name === undefined) return;
    timers.set(id, setTimeout(() => {
      writeSync(2, JSON.stringify(name) + " has not ended within " + limitMs / 1000 + " s, so this process was killed; its other tests did not run\\n");
      process.kill(process.pid, "SIGKILL");
    }, limitMs));
  });`;
const watcher = new Worker(watch, { eval: true, workerData: limitMs, execArgv: [] });
watcher.unref();

/** Numbers of the running tests, by the context of the test. */
const running = new WeakMap();
let count = 0;

beforeEach((context) => {
  running.set(context, ++count);
  watcher.postMessage({ id: count, name: context.name }, []);
});

afterEach((context) => watcher.postMessage({ id: running.get(context) }, []));
