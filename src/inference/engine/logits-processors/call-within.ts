// Calls a function of an operator's module, and stops it if it computes for too long. Uses only the watchdog of Node's
// `vm`; the function runs in its usual realm. Each call starts a thread, which takes 0.1 ms.
import { createContext, Script } from "node:vm";

const holder: { call: (() => unknown) | null } = { call: null };
const context = createContext(holder);
const script = new Script("call()");

/** Error of a stopped function. */
export class CallTimeout extends Error {}

/**
 * Returns the function's result. A function that does not end is stopped anywhere, even in `Atomics.wait` or in a
 * `try`. A system call that does not return cannot be stopped, nor can work that the function leaves to later tasks.
 *
 * @throws CallTimeout if it was stopped; errors of the function
 */
export function callWithin(ms: number, call: () => unknown): unknown {
  let hasEnded = false;
  holder.call = () => {
    try {
      return call();
    } finally {
      // Not reached if the function is stopped.
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
