// Imported before the tests of a process that many files share: one that does not end is named, and ends the process. To let
// the others go on would be of little use, since what it left open keeps the process from ending until its whole time is over.
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
