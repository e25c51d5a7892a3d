// Lets a test step the wall clock of a server's process. A file contains the number of milliseconds by which the
// process's clock is ahead.
import { readFileSync } from "node:fs";

const lookEveryMs = 20;

/** Shifts the process's time from now on by the number of milliseconds in the file; a negative number sets it back. */
export function followClockFile(file: string): void {
  const machineDate = Date;
  const read = (): number => Number(readFileSync(file, "utf8"));
  let aheadMs = read();
  setInterval(() => {
    aheadMs = read();
  }, lookEveryMs).unref();
  const now = (): number => machineDate.now() + aheadMs;
  globalThis.Date = new Proxy(machineDate, {
    construct: (target, given: unknown[]) => Reflect.construct(target, given.length === 0 ? [now()] : given),
    get: (target, name) => (name === "now" ? now : Reflect.get(target, name)),
  });
}
