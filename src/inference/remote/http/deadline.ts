// A time that is set again whenever something came: what waits for an answer ends where nothing came for so long.
import { ServiceError } from "../../../base/domain/service-error.ts";

/** What is waited for, in the order in which it comes. */
type Wait = "connection" | "head" | "first-part" | "next-part";

const names: Readonly<Record<Wait, string>> = {
  connection: "A connection to the server that computes this model",
  head: "The head of its answer",
  "first-part": "The first part of its answer",
  "next-part": "The next part of its answer",
};

export interface Deadline {
  /** Something came: from now on for so long nothing else may be waited for. */
  set(durationMs: number, waitedFor: Wait): void;
  /** Nothing is waited for until it is set again. */
  pause(): void;
  /** As `pause`, for good. */
  clear(): void;
}

/**
 * A deadline that is not set yet. One timer serves all of its times, since streams set it with every event.
 *
 * @param onExpired called once nothing came in time, with a ServiceError `timeout`; `unavailable` where that was the connection
 */
export function createDeadline(onExpired: (error: ServiceError) => void): Deadline {
  let timer: NodeJS.Timeout | null = null;
  let timerMs = 0;
  let current: Wait | null = null;
  const expire = (): void => {
    if (current === null) return;
    const message = `${names[current]} did not come within ${timerMs / 1000} s.`;
    const code = current === "connection" ? "unavailable" : "timeout";
    onExpired(new ServiceError({ code, message }));
  };
  return {
    set: (durationMs, waitedFor) => {
      current = waitedFor;
      if (timer !== null && durationMs === timerMs) timer.refresh();
      else {
        if (timer !== null) clearTimeout(timer);
        timerMs = durationMs;
        timer = setTimeout(expire, durationMs);
      }
    },
    // The timer runs on, since it is likely to be set again soon.
    pause: () => {
      current = null;
    },
    clear: () => {
      current = null;
      if (timer !== null) clearTimeout(timer);
      timer = null;
    },
  };
}
