// The closing sentence of a run, which says what was learned, or why nothing was. Pure.
import type { Best } from "./progress.ts";
import { mean, type RoundReport } from "./round-report.ts";

interface RunEnd {
  /** Step of the newest version. */
  readonly step: number;
  readonly model: string;
  /** Number of rounds requested, including those of earlier calls. */
  readonly rounds: number;
  readonly endedBy: "rounds" | "patience";
  readonly best: Best | null;
}

/**
 * Minimum change of the mean reward that counts as learning, as a share of the reward range; smaller changes may be
 * noise.
 */
const noise = 0.02;

/**
 * Returns the closing sentence of a run.
 *
 * @param reports reports of the rounds in this call
 */
export function summaryOf(reports: readonly RoundReport[], end: RunEnd): string {
  const { model, rounds, endedBy, best } = end;
  if (reports.length === 0) return nothingToDo(end);
  const rewarded = reports.flatMap(({ reward }) => reward ?? []);
  const why = endedBy === "patience" ? ", stopped because validations did not improve" : "";
  const took = `${count(reports.length, "round")}${reports.length < rounds ? ` of ${rounds}` : ""}${why}`;
  if (rewarded.length === 0)
    return `Nothing was learned in ${took}: no rollout completed${mostFrequent(reports)}.`;
  const trained = reports.filter(({ training }) => training !== null);
  if (trained.length === 0) return `Nothing was learned in ${took}: ${explainNoSpread(reports, rewarded)}.`;
  const [first, last] = [rewarded[0], rewarded[rewarded.length - 1]];
  const change = last - first;
  const range = Math.max(...rewarded) - Math.min(...rewarded);
  const kept =
    best === null ? "" : `; the best validation is ${best.reward.toFixed(3)}, of version ${best.step}`;
  const numbers = `mean reward ${first.toFixed(3)} in the first round, ${last.toFixed(3)} in the last`;
  const trainedCount = `${trained.length} of ${count(reports.length, "round")} had something to train`;
  if (rewarded.length === 1)
    return `One round was trained, which sampled a mean reward of ${first.toFixed(3)}: ${model} is the new version${kept}.`;
  if (change > noise * Math.max(1, range))
    return `Learned in ${took}: ${numbers}. ${model} is the newest version${kept}.`;
  const verdict = change < -noise * Math.max(1, range) ? "It got worse" : "Little was learned";
  return (
    `${verdict} in ${took}: ${numbers} (${trainedCount}). ` +
    `Look at the warnings, and at learning_rate and groupSize; ${model} is the newest version${kept}.`
  );
}

function nothingToDo({ rounds, model, endedBy }: RunEnd): string {
  if (rounds === 0) return `No rounds were asked for; ${model} is the newest version.`;
  if (endedBy === "patience")
    return `Nothing was done: validations of earlier rounds did not improve for as long as patience allows. ${model} is the newest version.`;
  return `Nothing was done: all ${count(rounds, "round")} of this run were done before, and ${model} is the newest version. Ask for more rounds, name another run, or use a new model.`;
}

function mostFrequent(reports: readonly RoundReport[]): string {
  const [reason] = reports.flatMap(({ failureReasons }) => failureReasons);
  return reason === undefined ? "" : ` (${reason.message.replace(/\.$/, "")})`;
}

function explainNoSpread(reports: readonly RoundReport[], rewarded: readonly number[]): string {
  const least = Math.min(...reports.map(({ rewardMin }) => rewardMin ?? Infinity));
  const most = Math.max(...reports.map(({ rewardMax }) => rewardMax ?? -Infinity));
  const withSpread = reports.some(({ groups, groupsWithoutSpread }) => groupsWithoutSpread < groups);
  if (withSpread) return "rewards differed, but no answer was trainable (see the warnings)";
  if (least === most)
    return `every answer earned ${least}. The tasks are too hard, or already solved: take others, or reward partial success`;
  return `all answers to a task earned the same, ${mean(rewarded).toFixed(3)} on average. Take tasks of which some answers succeed and some fail, or sample at a higher temperature`;
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}
