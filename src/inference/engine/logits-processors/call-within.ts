// Calls a function of an operator's module, and stops it when it computes for too long. Node's `vm` is used for its watchdog
// only: the function runs as it would without, and keeps its own realm. A thread is started for each call, which takes 0.1 ms.
import { createContext, Script } from "node:vm";

const holder: { call: (() => unknown) | null } = { call: null };
const context = createContext(holder);
const script = new Script("call()");

/** A function was stopped. */
export class OverdueCall extends Error {}

/**
 * Returns what the function returns. A function that never ends is stopped wherever it is, also in `Atomics.wait` and in a
 * `try`; only a system call that does not return, and work that it leaves to later tasks, are beyond reach.
 *
 * @throws OverdueCall if it was stopped; what the function throws
 */
export function callWithin(ms: number, call: () => unknown): unknown {
  let hasEnded = false;
  holder.call = () => {
    try {
      return call();
    } finally {
      // Not reached by a function that is stopped.
      hasEnded = true;
    }
  };
  try {
    return script.runInContext(context, { timeout: ms });
  } catch (error) {
    throw hasEnded ? error : new OverdueCall(`It took longer than ${ms} ms.`, { cause: error });
  } finally {
    holder.call = null;
  }
}
