// Environment variables for processes that run ONNX Runtime. The parent sets `computeEnvironment` before it starts such
// a process; the process itself turns off telemetry before its first session.
import { isMainThread } from "node:worker_threads";
import { assert } from "../../base/domain/assert.ts";

/**
 * Makes the C library put weights and caches into huge pages (glibc 2.35 or newer; other C libraries ignore the
 * variable).
 *
 * The variable is read when a process starts, so the parent must set it for a child process that runs sessions. Reading
 * packed weights on one thread of an AMD Zen 4 virtual machine is 19–21 GB/s with it, and 15–16 GB/s without (measured
 * interleaved).
 */
export const computeEnvironment: Readonly<Record<string, string>> = {
  GLIBC_TUNABLES: "glibc.malloc.hugetlb=1",
};

/** Environment variable that turns off ONNX Runtime's telemetry; see its docs/Privacy.md. */
const telemetrySwitch = "ORT_DISABLE_TELEMETRY";

/**
 * Turns off ONNX Runtime's telemetry. Otherwise its builds for Linux and macOS, since 1.29, report each process and
 * session to Microsoft with a persistent machine id, and keep unsent reports in the home folder.
 * * The runtime reads the variable once, before the first session, from the environment of the process.
 * * Worker threads have only a copy of that environment, so this function must be called before they start.
 */
export function silenceRuntime(): void {
  if (isMainThread) process.env[telemetrySwitch] = "1";
  assert(
    process.env[telemetrySwitch] === "1",
    "the main thread silenced the runtime before it started this one",
  );
}
