// Environment variables of processes that run ONNX Runtime: one that a parent must set before it starts the process, and
// one that the process sets itself before its first session.
import { isMainThread } from "node:worker_threads";
import { assert } from "../../base/domain/assert.ts";

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
 * Turns off ONNX Runtime's telemetry. Since 1.29 its builds for Linux and macOS otherwise report each process and session
 * to Microsoft, with a lasting id of the machine, and keep what they have not sent in the home folder. The variable is read
 * once, before the first session, from the process's own environment: a thread has a copy of it, so this must be called
 * before threads are started that compute.
 */
export function silenceRuntime(): void {
  if (isMainThread) process.env[telemetrySwitch] = "1";
  assert(
    process.env[telemetrySwitch] === "1",
    "the main thread silenced the runtime before it started this one",
  );
}
