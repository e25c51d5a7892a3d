// Decides a job's next state after an attempt. Pure functions; attempt.ts stores the state.
import type { JobOutcome } from "../../base/domain/job.ts";
import { ServiceError } from "../../base/domain/service-error.ts";
import type { JobSettings } from "./settings.ts";

/**
 * Reason for interrupting an attempt: `cancel` if a client cancelled the job, `park` if the server stops, `lost` if
 * another server now owns the job.
 */
export type Interruption = "cancel" | "park" | "lost";

export type AttemptResult =
  | { readonly kind: "done"; readonly outcome: JobOutcome }
  | { readonly kind: "threw"; readonly error: unknown };

export type Ending =
  | { readonly kind: "succeed"; readonly outcome: JobOutcome }
  | { readonly kind: "end"; readonly state: "failed" | "cancelled"; readonly message: string }
  /** The job is queued again. After the wait, another attempt continues from the saved steps. */
  | { readonly kind: "retry"; readonly waitMs: number }
  /** The job is queued again and waits until the machine can run it. The attempt does not count toward the limit. */
  | { readonly kind: "wait"; readonly waitMs: number; readonly reason: string }
  /** The job is queued again because the server stops. The attempt does not count toward the limit. */
  | { readonly kind: "park" }
  /** This server writes nothing, because the job no longer belongs to it. */
  | { readonly kind: "leave" };

/** Counts of a job's latest attempts, by outcome. */
export interface EarlierAttempts {
  /** Number of consecutive attempts whose training process died before it saved more steps. */
  readonly lostCount: number;
  /** Number of consecutive attempts that ended because the machine could not run the job yet. */
  readonly waitCount: number;
}

/** Decides how an attempt ends the job, or how the job continues. */
export function endingOf(
  result: AttemptResult,
  interruption: Interruption | null,
  {
    lostCount,
    waitCount,
    hasAdvanced,
  }: EarlierAttempts & {
    /** True if this attempt saved more steps than earlier attempts. */
    readonly hasAdvanced: boolean;
  },
  settings: Pick<JobSettings, "attemptsMax" | "backoffMs" | "backoffMsMax">,
): Ending {
  if (interruption === "lost") return { kind: "leave" };
  if (interruption === "cancel") return cancelled;
  if (result.kind === "done") return { kind: "succeed", outcome: result.outcome };
  // The shutdown itself may cause the error, so the error does not count against the job.
  if (interruption === "park") return { kind: "park" };
  const { error } = result;
  if (!(error instanceof ServiceError)) {
    return {
      kind: "end",
      state: "failed",
      message: "The job ended with an internal error; the server's log has it.",
    };
  }
  if (error.obstacle !== undefined)
    return { kind: "wait", waitMs: backoffMs(waitCount, settings), reason: error.message };
  // If nobody asked to cancel the job, the code `cancelled` means that something outside the job ended the attempt.
  const isLost = error.code === "unavailable" || error.code === "cancelled";
  if (!isLost) return { kind: "end", state: "failed", message: error.message };
  // A job whose attempts each save more steps completes eventually, however often its process dies.
  if (hasAdvanced) return { kind: "retry", waitMs: backoffMs(0, settings) };
  if (lostCount + 1 >= settings.attemptsMax) {
    const message = `The job was given up after ${lostCount + 1} lost attempts. The last error: ${error.message}`;
    return { kind: "end", state: "failed", message };
  }
  return { kind: "retry", waitMs: backoffMs(lostCount, settings) };
}

/**
 * Returns the time in milliseconds to wait after an attempt, if the `earlierCount` attempts before it ended in the same
 * way.
 */
export function backoffMs(
  earlierCount: number,
  settings: Pick<JobSettings, "backoffMs" | "backoffMsMax">,
): number {
  return Math.min(settings.backoffMs * 2 ** earlierCount, settings.backoffMsMax);
}

/** Outcome of a job that a client cancelled. */
export const cancelled: Ending = { kind: "end", state: "cancelled", message: "The job was cancelled." };

/**
 * Fails a job that may be killing servers: too many died in a row while running it, and it saved no more steps. Returns
 * null if the job may continue.
 */
export function refusedStart(restartCount: number, settings: Pick<JobSettings, "startsMax">): Ending | null {
  if (restartCount < settings.startsMax) return null;
  const message = `${restartCount} servers died in a row while the job ran, and no further step was saved; it is not started again.`;
  return { kind: "end", state: "failed", message };
}
