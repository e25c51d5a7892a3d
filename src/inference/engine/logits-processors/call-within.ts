// Calls a function of an operator's module, and stops the function if it computes for too long. This is no sandbox: the
// function runs in the same realm as Hone, and only the watchdog of Node's `vm` limits it. Each call starts a watchdog
// thread, which takes 0.1 ms.
import { createContext, Script } from "node:vm";

const holder: { call: (() => unknown) | null } = { call: null };
const context = createContext(holder);
const script = new Script("call()");

/** Error of a function that was stopped because it exceeded its time limit. */
export class CallTimeout extends Error {}

/**
 * Calls a function and returns its result. A function that exceeds the limit is stopped anywhere, even in
 * `Atomics.wait` or in a `try`. Two things cannot be stopped: a system call that does not return, and work that the
 * function schedules for later.
 *
 * @throws CallTimeout if the function was stopped; errors of the function
 */
export function callWithin(ms: number, call: () => unknown): unknown {
  let hasEnded = false;
  holder.call = () => {
    try {
      return call();
    } finally {
      // This line is not reached if the function is stopped.
      hasEnded = true;
    }
  };
  try {
    return script.runInContext(context, { timeout: ms });
  } catch (error) {
    throw hasEnded ? error : new CallTimeout(`It took longer than ${ms} ms.`, { cause: error });
  } finally {
    holder.call = null;
  }
}
