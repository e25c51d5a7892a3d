// Decides a job's next state after an attempt. Pure; attempt.ts stores the state.
import type { JobOutcome } from "../../base/domain/job.ts";
import { ServiceError } from "../../base/domain/service-error.ts";
import type { JobSettings } from "./settings.ts";

/** Reason of an interruption: the job was cancelled, the server stops, or another server now owns the job. */
export type Interruption = "cancel" | "park" | "lost";

export type AttemptResult =
  | { readonly kind: "done"; readonly outcome: JobOutcome }
  | { readonly kind: "threw"; readonly error: unknown };

export type Ending =
  | { readonly kind: "succeed"; readonly outcome: JobOutcome }
  | { readonly kind: "end"; readonly state: "failed" | "cancelled"; readonly message: string }
  /** The job is queued again. Another attempt follows after the wait and continues from the saved steps. */
  | { readonly kind: "retry"; readonly waitMs: number }
  /** The job is queued again, without spending an attempt, until the machine can run it. */
  | { readonly kind: "wait"; readonly waitMs: number; readonly reason: string }
  /** The job is queued again without spending an attempt. */
  | { readonly kind: "park" }
  /** Nothing is written, because the job no longer belongs to this server. */
  | { readonly kind: "leave" };

/** Numbers of earlier attempts, by outcome. */
export interface EarlierAttempts {
  /** Number of consecutive attempts whose process died before they saved further steps. */
  readonly lostCount: number;
  /** Number of consecutive attempts that had to wait for the machine. */
  readonly waitCount: number;
}

/** Decides the outcome of an attempt. */
export function endingOf(
  result: AttemptResult,
  interruption: Interruption | null,
  {
    lostCount,
    waitCount,
    hasAdvanced,
  }: EarlierAttempts & {
    /** True if this attempt saved further steps. */
    readonly hasAdvanced: boolean;
  },
  settings: Pick<JobSettings, "attemptsMax" | "backoffMs" | "backoffMsMax">,
): Ending {
  if (interruption === "lost") return { kind: "leave" };
  if (interruption === "cancel") return cancelled;
  if (result.kind === "done") return { kind: "succeed", outcome: result.outcome };
  // When the server stops, an error says nothing about the job.
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
  // "cancelled" without a cancel request means that something outside the job ended the attempt, which is lost.
  const isLost = error.code === "unavailable" || error.code === "cancelled";
  if (!isLost) return { kind: "end", state: "failed", message: error.message };
  // If each attempt saves further steps, the job eventually completes, however often its process dies.
  if (hasAdvanced) return { kind: "retry", waitMs: backoffMs(0, settings) };
  if (lostCount + 1 >= settings.attemptsMax) {
    const message = `The job was given up after ${lostCount + 1} lost attempts. The last error: ${error.message}`;
    return { kind: "end", state: "failed", message };
  }
  return { kind: "retry", waitMs: backoffMs(lostCount, settings) };
}

/** Returns the wait in milliseconds after an attempt. `earlierCount` earlier ones in a row ended in the same way. */
export function backoffMs(
  earlierCount: number,
  settings: Pick<JobSettings, "backoffMs" | "backoffMsMax">,
): number {
  return Math.min(settings.backoffMs * 2 ** earlierCount, settings.backoffMsMax);
}

/** Outcome of a job that was cancelled on request. */
export const cancelled: Ending = { kind: "end", state: "cancelled", message: "The job was cancelled." };

/**
 * Returns the failure of a job that may be killing servers: too many in a row died while running it, and no further
 * steps were saved. Null if the job may continue.
 */
export function refusedStart(restartCount: number, settings: Pick<JobSettings, "startsMax">): Ending | null {
  if (restartCount < settings.startsMax) return null;
  const message = `${restartCount} servers died in a row while the job ran, and no further step was saved; it is not started again.`;
  return { kind: "end", state: "failed", message };
}
