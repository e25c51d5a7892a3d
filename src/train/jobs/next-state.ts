// Decides the next state of a job when an attempt at it is over. Pure; attempt.ts stores it.
import type { JobOutcome } from "../../base/domain/job.ts";
import { ServiceError } from "../../base/domain/service-error.ts";
import type { JobSettings } from "./settings.ts";

/** Why an attempt was interrupted: somebody cancelled the job, the server stops, or the job is another's by now. */
export type Interruption = "cancel" | "park" | "lost";

export type AttemptResult =
  | { readonly kind: "done"; readonly outcome: JobOutcome }
  | { readonly kind: "threw"; readonly error: unknown };

export type Ending =
  | { readonly kind: "succeed"; readonly outcome: JobOutcome }
  | { readonly kind: "end"; readonly state: "failed" | "cancelled"; readonly message: string }
  /** Back in the queue; another attempt comes after the wait, and goes on behind what this one kept. */
  | { readonly kind: "retry"; readonly waitMs: number }
  /** Back in the queue as if it had not been tried, until the machine lets it run. */
  | { readonly kind: "wait"; readonly waitMs: number; readonly reason: string }
  /** Back in the queue as if it had not been tried. */
  | { readonly kind: "park" }
  /** Nothing is written: the job is not ours any more. */
  | { readonly kind: "leave" };

/** How often a job was tried before, by how it ended. */
export interface EarlierAttempts {
  /** Lost with their process, one after the other until now, without having kept further steps. */
  readonly lostCount: number;
  /** One after the other until now, that met an obstacle. */
  readonly waitCount: number;
}

/** Decides how an attempt ends. */
export function endingOf(
  result: AttemptResult,
  interruption: Interruption | null,
  {
    lostCount,
    waitCount,
    hasAdvanced,
  }: EarlierAttempts & {
    /** Whether the attempt itself kept further steps. */
    readonly hasAdvanced: boolean;
  },
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
  if (error.obstacle !== undefined)
    return { kind: "wait", waitMs: backoffMs(waitCount, settings), reason: error.message };
  // An attempt that says "cancelled" unasked was broken off from outside: lost like one whose process died.
  const isLost = error.code === "unavailable" || error.code === "cancelled";
  if (!isLost) return { kind: "end", state: "failed", message: error.message };
  // However often a process dies, a job ends that keeps more steps each time.
  if (hasAdvanced) return { kind: "retry", waitMs: backoffMs(0, settings) };
  if (lostCount + 1 >= settings.attemptsMax) {
    const message = `The job was given up after ${lostCount + 1} attempts that were lost, the last one so: ${error.message}`;
    return { kind: "end", state: "failed", message };
  }
  return { kind: "retry", waitMs: backoffMs(lostCount, settings) };
}

/** The wait after the attempt that `earlierCount` of its kind came before, in milliseconds. */
export function backoffMs(
  earlierCount: number,
  settings: Pick<JobSettings, "backoffMs" | "backoffMsMax">,
): number {
  return Math.min(settings.backoffMs * 2 ** earlierCount, settings.backoffMsMax);
}

/** How a job ends that somebody asked to cancel. */
export const cancelled: Ending = { kind: "end", state: "cancelled", message: "The job was cancelled." };

/**
 * How a job ends whose servers died too often while it ran, one after the other and without keeping further steps: it
 * may be what ends them; null when it may go on.
 */
export function refusedStart(restartCount: number, settings: Pick<JobSettings, "startsMax">): Ending | null {
  if (restartCount < settings.startsMax) return null;
  const message = `The job was started ${restartCount} times by servers that died while it ran, and kept no further step; it is not started again.`;
  return { kind: "end", state: "failed", message };
}
