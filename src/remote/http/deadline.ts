// A time that is set again whenever something came: what waits for an answer ends where nothing came for so long.
import { ServiceError } from "../../domain/service-error.ts";

/** What is waited for, in the order in which it comes. */
type Wait = "connection" | "head" | "first-part" | "next-part";

const names: Readonly<Record<Wait, string>> = {
  connection: "A connection to the server that computes this model",
  head: "The head of its answer",
  "first-part": "The first part of its answer",
  "next-part": "The next part of its answer",
};

export interface Deadline {
  /** Aborts with a ServiceError `timeout` once nothing came in time; `unavailable` where that was the connection. */
  readonly signal: AbortSignal;
  /** Something came: from now on for so long nothing else may be waited for. */
  set(durationMs: number, waitedFor: Wait): void;
  /** Nothing is waited for any more. */
  clear(): void;
}

/** A deadline that is not set yet. One timer serves all of its times, since streams set it with every event. */
export function createDeadline(): Deadline {
  const expiry = new AbortController();
  let timer: NodeJS.Timeout | null = null;
  let current: { readonly durationMs: number; readonly waitedFor: Wait } = {
    durationMs: 0,
    waitedFor: "connection",
  };
  const expire = (): void => {
    const { durationMs, waitedFor } = current;
    const message = `${names[waitedFor]} did not come within ${durationMs / 1000} s.`;
    const code = waitedFor === "connection" ? "unavailable" : "timeout";
    expiry.abort(new ServiceError({ code, message }));
  };
  const clear = (): void => {
    if (timer !== null) clearTimeout(timer);
    timer = null;
  };
  return {
    signal: expiry.signal,
    set: (durationMs, waitedFor) => {
      if (timer !== null && durationMs === current.durationMs) timer.refresh();
      else {
        clear();
        timer = setTimeout(expire, durationMs);
      }
      current = { durationMs, waitedFor };
    },
    clear,
  };
}
