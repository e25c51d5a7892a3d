// What the environment of a process that computes should say; the process that starts it passes it on, or it says so itself.
import { isMainThread } from "node:worker_threads";
import { assert } from "../domain/assert.ts";

/**
 * Lets the C library put weights and caches into huge pages (glibc 2.35 or newer, ignored elsewhere).
 *
 * It is read when a process starts, so it goes into the environment of a child that runs sessions.
 * Reading packed weights on one thread of an AMD Zen 4 virtual machine, interleaved: 15–16 GB/s
 * without, 19–21 GB/s with it.
 */
export const computeEnvironment: Readonly<Record<string, string>> = {
  GLIBC_TUNABLES: "glibc.malloc.hugetlb=1",
};

/** ONNX Runtime's own switch, see its docs/Privacy.md. */
const telemetrySwitch = "ORT_DISABLE_TELEMETRY";

/**
 * Has ONNX Runtime keep to itself what this process computes. Since 1.29 its builds for Linux and macOS otherwise tell
 * Microsoft of each process and session, with a lasting id of the machine, and keep what they have not sent in the home
 * folder. It reads this once, before the first session, and only of the process: a thread's environment is a copy, so
 * whoever starts threads that compute calls this first.
 */
export function silenceRuntime(): void {
  if (isMainThread) process.env[telemetrySwitch] = "1";
  assert(
    process.env[telemetrySwitch] === "1",
    "the main thread silenced the runtime before it started this one",
  );
}
