// What becomes of a job when an attempt at it is over: a pure decision. Writing it down is done in attempt.ts.
import type { JobOutcome } from "../domain/job.ts";
import { ServiceError } from "../domain/service-error.ts";
import type { JobSettings } from "./settings.ts";

/** Why an attempt was interrupted: somebody cancelled the job, the server stops, or the job is another's by now. */
export type Interruption = "cancel" | "park" | "lost";

export type AttemptResult =
  | { readonly kind: "done"; readonly outcome: JobOutcome }
  | { readonly kind: "threw"; readonly error: unknown };

export type Ending =
  | { readonly kind: "succeed"; readonly outcome: JobOutcome }
  | { readonly kind: "end"; readonly state: "failed" | "cancelled"; readonly message: string }
  /** Back in the queue; another attempt comes after the wait. */
  | { readonly kind: "retry"; readonly waitMs: number }
  /** Back in the queue as if it had not been tried. */
  | { readonly kind: "park" }
  /** Nothing is written: the job is not ours any more. */
  | { readonly kind: "leave" };

/** Decides how an attempt ends. `attemptCount` counts this attempt. */
export function endingOf(
  result: AttemptResult,
  interruption: Interruption | null,
  attemptCount: number,
  settings: Pick<JobSettings, "attemptsMax" | "backoffMs" | "backoffMsMax">,
): Ending {
  if (interruption === "lost") return { kind: "leave" };
  if (interruption === "cancel") return cancelled;
  if (result.kind === "done") return { kind: "succeed", outcome: result.outcome };
  // Whatever an attempt throws while the server stops says nothing of the job.
  if (interruption === "park") return { kind: "park" };
  const { error } = result;
  if (!(error instanceof ServiceError)) {
    return {
      kind: "end",
      state: "failed",
      message: "The job ended with an internal error; the server's log has it.",
    };
  }
  // An attempt that says "cancelled" unasked was broken off from outside: lost like one whose process died.
  const isLost = error.code === "unavailable" || error.code === "cancelled";
  if (!isLost) return { kind: "end", state: "failed", message: error.message };
  if (attemptCount >= settings.attemptsMax) {
    const message = `The job was given up after ${attemptCount} attempts; the last one was lost: ${error.message}`;
    return { kind: "end", state: "failed", message };
  }
  return {
    kind: "retry",
    waitMs: Math.min(settings.backoffMs * 2 ** (attemptCount - 1), settings.backoffMsMax),
  };
}

/** How a job ends that somebody asked to cancel. */
export const cancelled: Ending = { kind: "end", state: "cancelled", message: "The job was cancelled." };

/** How a job ends that was started too often, mostly by servers that died with it; null when it may go on. */
export function refusedStart(attemptCount: number, settings: Pick<JobSettings, "startsMax">): Ending | null {
  if (attemptCount <= settings.startsMax) return null;
  const message = `The job was started ${settings.startsMax} times and none came to an end; it is not started again.`;
  return { kind: "end", state: "failed", message };
}
