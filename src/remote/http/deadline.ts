// A time that is set again whenever something came: what waits for an answer ends where nothing came for so long.
import { ServiceError } from "../../domain/service-error.ts";

export interface Deadline {
  /** Aborts with a ServiceError `timeout` once nothing came in time. */
  readonly signal: AbortSignal;
  /** Something came: from now on for so long nothing else may be waited for. */
  set(durationMs: number, waitedFor: string): void;
  /** Nothing is waited for any more. */
  clear(): void;
}

/** A deadline that is not set yet. One timer serves all of its times, since streams set it with every event. */
export function createDeadline(): Deadline {
  const expiry = new AbortController();
  let timer: NodeJS.Timeout | null = null;
  let current = { durationMs: 0, waitedFor: "" };
  const expire = (): void => {
    const { durationMs, waitedFor } = current;
    const message = `${waitedFor} did not come within ${durationMs / 1000} s.`;
    expiry.abort(new ServiceError({ code: "timeout", message }));
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
