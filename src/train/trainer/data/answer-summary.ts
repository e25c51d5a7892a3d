// Summarizes the model's answers in a job's data: their lengths, how many were cut off, and how many are equal. Warns
// about suspicious numbers. Pure.
import { createHash } from "node:crypto";
import type { Json } from "../../../base/domain/text/json.ts";
import { type Trajectory, asChoice } from "../../../base/domain/trajectory.ts";
import { answersOf } from "../../trajectories/choice-faults.ts";
import type { JobCounts } from "../../../base/domain/job.ts";
import { mean } from "../../trajectories/statistics.ts";

/** Facts about the answers of one group, which stay in memory while the rest of a job is prepared. */
export interface GroupAnswers {
  /** Lengths in tokens of the answers whose length is known. */
  readonly lengths: readonly number[];
  /** Number of answers for which a finish reason was recorded. */
  readonly endedCount: number;
  /** Number of answers that were cut off: their finish reason is `length`. */
  readonly cutCount: number;
  /** Hash of the last answer of each trajectory that has an answer. */
  readonly last: readonly string[];
}

/** Statistics of the model's answers in a job's data. */
export interface AnswerSummary {
  readonly count: number;
  readonly lengthMean: number;
  readonly lengthMax: number;
  readonly endedCount: number;
  readonly cutCount: number;
  /** Number of trajectories whose last item is an answer. */
  readonly lastCount: number;
  /** Number of trajectories with the most frequent last answer. */
  readonly sameCount: number;
}

const hashLength = 12;

export function groupAnswers(trajectories: readonly Trajectory[]): GroupAnswers {
  const answers = trajectories.flatMap(answersOf);
  const ends = answers.flatMap(({ isCut }) => isCut ?? []);
  return {
    lengths: answers.flatMap(({ tokenCount }) => tokenCount ?? []),
    endedCount: ends.length,
    cutCount: ends.filter(Boolean).length,
    last: trajectories.flatMap((trajectory) => {
      const said = lastAnswer(trajectory);
      return said === null ? [] : [createHash("sha256").update(said).digest("base64").slice(0, hashLength)];
    }),
  };
}

/** Adds up the facts about the answers of all groups, one group at a time. */
export class AnswerTally {
  readonly #last = new Map<string, number>();
  #count = 0;
  #lengthSum = 0;
  #lengthMax = 0;
  #endedCount = 0;
  #cutCount = 0;

  add({ lengths, endedCount, cutCount, last }: GroupAnswers): void {
    this.#count += lengths.length;
    for (const length of lengths) {
      this.#lengthSum += length;
      this.#lengthMax = Math.max(this.#lengthMax, length);
    }
    this.#endedCount += endedCount;
    this.#cutCount += cutCount;
    for (const hash of last) this.#last.set(hash, (this.#last.get(hash) ?? 0) + 1);
  }

  summary(): AnswerSummary {
    const counts = [...this.#last.values()];
    return {
      count: this.#count,
      lengthMean: this.#count === 0 ? 0 : this.#lengthSum / this.#count,
      lengthMax: this.#lengthMax,
      endedCount: this.#endedCount,
      cutCount: this.#cutCount,
      lastCount: counts.reduce((sum, count) => sum + count, 0),
      sameCount: counts.reduce((one, other) => Math.max(one, other), 0),
    };
  }
}

/**
 * Returns a text that is equal for equal last answers. It contains the answer's tokens, or if none were recorded, its
 * text, tool calls and reasoning. Returns null if the trajectory has no answer.
 */
function lastAnswer({ messagesAndChoices: items }: Trajectory): string | null {
  const item = items.findLast((one) => asChoice(one) !== null || one["role"] === "assistant");
  if (item === undefined) return null;
  const choice = asChoice(item);
  if (Array.isArray(choice?.["token_ids"])) return JSON.stringify(choice["token_ids"]);
  const { content, tool_calls: calls, reasoning_content: thought } = choice?.message ?? item;
  return JSON.stringify([content ?? null, callsIn(calls), thought ?? null]);
}

/** Returns the tool calls without their ids, which differ even between equal answers. */
function callsIn(calls: Json | undefined): readonly Json[] {
  if (!Array.isArray(calls)) return [];
  return (calls as readonly Json[]).map((call) =>
    typeof call === "object" && call !== null && "function" in call ? (call["function"] ?? null) : call,
  );
}

/**
 * Share of cut-off answers above which the job gets a warning. A cut-off answer has usually not reached the part that
 * earns a reward.
 */
const cutShareMax = 0.25;

/**
 * Share of equal answers from which the job gets a warning. If nearly all answers are equal, training has nothing to
 * compare.
 */
const sameShareMin = 0.9;

/** Number of answers below which the job gets no warning, because shares of so few answers mean little. */
const answersMin = 4;

export function answerWarnings(
  answers: AnswerSummary,
  rewards: readonly number[],
  counts: Pick<JobCounts, "groupsSubmitted" | "groupsTrainable">,
): readonly string[] {
  return [cutWarning(answers), spreadWarning(answers, rewards, counts)].flatMap((warning) => warning ?? []);
}

function cutWarning({ endedCount, cutCount, lengthMean }: AnswerSummary): string | null {
  if (endedCount < answersMin || cutCount <= cutShareMax * endedCount) return null;
  return (
    `${cutCount} of ${endedCount} answers (${percent(cutCount / endedCount)}) were cut off at their token limit ` +
    `(finish_reason "length"); answers have ${Math.round(lengthMean)} tokens on average. ` +
    "Raise max_completion_tokens, or reward shorter answers: a cut-off answer rarely gets its full reward."
  );
}

function spreadWarning(
  { lastCount, sameCount }: AnswerSummary,
  rewards: readonly number[],
  { groupsSubmitted, groupsTrainable }: Pick<JobCounts, "groupsSubmitted" | "groupsTrainable">,
): string | null {
  const [least, most] = rewards.reduce(
    ([low, high], reward) => [Math.min(low, reward), Math.max(high, reward)],
    [Infinity, -Infinity],
  );
  if (groupsTrainable > 0 || rewards.length < answersMin) return null;
  const earned =
    least === most
      ? `All ${rewards.length} answers got the reward ${shown(least)}, so nothing trains.`
      : `Answers got a reward of ${shown(mean(rewards))} on average, equal within each group, so nothing trains.`;
  const isSame = groupsSubmitted > 1 && sameCount >= sameShareMin * Math.max(lastCount, answersMin);
  const rest = isSame
    ? `${sameCount} of ${lastCount} answers to ${groupsSubmitted} groups are the same. Unless that is the answer you want, the policy has collapsed: go back to an earlier version (delete the newer ones), lower learning_rate, or sample at a higher temperature.`
    : "The tasks are too hard for this version, or it has learned them. Use tasks for which some answers succeed and some fail, reward partial success, or sample more answers per task at a higher temperature.";
  return `${earned} ${rest}`;
}

function percent(share: number): string {
  return `${Math.round(100 * share)} %`;
}

function shown(value: number): string {
  return String(Number(value.toPrecision(3)));
}
