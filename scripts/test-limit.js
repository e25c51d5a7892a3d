// Loaded before the tests of a shared process: if a test does not end, prints its name and ends the process.
// Continuing with the other tests would not help, because the open handles of the hanging test would keep the process
// alive until its deadline.
import { afterEach, beforeEach } from "node:test";

/** Time limit of a test in milliseconds. It is many times longer than the longest test takes on a busy machine. */
const limitMs = Number(process.env.TEST_LIMIT_MS ?? 5 * 60_000);
/** Timers of the running tests, by the context of the test. */
const running = new WeakMap();

beforeEach((context) => {
  const onLimit = () => {
    process.stderr.write(
      `"${context.name}" has not ended within ${limitMs / 1000} s; what comes after it has not run\n`,
    );
    process.exit(1);
  };
  running.set(context, setTimeout(onLimit, limitMs).unref());
});

afterEach((context) => clearTimeout(running.get(context)));
