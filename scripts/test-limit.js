// Preloaded before the tests of a shared process: names a test that does not end and ends the process. Other tests
// could not continue usefully, because the hanging test's open handles would keep the process alive until its
// deadline.
import { afterEach, beforeEach } from "node:test";

/** Many times longer than the longest test takes on a busy machine. */
const limitMs = Number(process.env.TEST_LIMIT_MS ?? 5 * 60_000);
/** By the context of each test. */
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
