// Formats learning models and their cycles as text.
import type { Learning, LearningCycle } from "../../client/api.ts";

/** Returns the lines that describe a learning model and its newest cycle. */
export function learningLines({ settings, status, explanation, fault, cycle }: Learning): readonly string[] {
  const { signals, signals_min: least, held_out_share: share, margin, judge } = settings;
  return [
    `on; signals ${signals.join(", ")}; at least ${least} new ones per job`,
    `${Math.round(share * 100)} % of the conversations held out; evaluated by ${judge === null ? "log-probabilities" : judge.model}; margin ${margin}`,
    `${status}: ${explanation}`,
    ...(fault === null ? [] : [`the last check failed: ${fault}`]),
    ...(cycle === null ? [] : ["", ...cycleLines(cycle)]),
  ];
}

function cycleLines(cycle: LearningCycle): readonly string[] {
  const { stage, created_at: at, reason, waiting_for: waiting, learned } = cycle;
  return [
    `cycle of ${at}: ${stage}, ${versionsOf(cycle)}`,
    ...learned.map(
      (one) => `  ${one.count} ${one.kind} from ${one.creator ?? one.owner} (key of ${one.owner})`,
    ),
    ...(scoreOf(cycle) === "" ? [] : [`  score ${scoreOf(cycle)}`]),
    ...[reason, waiting].filter((one) => one !== null).map((one) => `  ${one}`),
  ];
}

/** Returns a row of the list of cycles. */
export function cycleRow(cycle: LearningCycle): Readonly<Record<string, unknown>> {
  const people = new Set(cycle.learned.map(({ creator, owner }) => creator ?? owner));
  return {
    began: cycle.created_at,
    stage: cycle.stage,
    versions: versionsOf(cycle),
    signals: cycle.learned.reduce((sum, { count }) => sum + count, 0),
    people: [...people].join(", "),
    score: scoreOf(cycle),
    reason: cycle.reason ?? cycle.waiting_for ?? "",
  };
}

function versionsOf({ current_version: current, candidate_version: candidate }: LearningCycle): string {
  return candidate === null ? "no candidate yet" : `${current ?? 0} -> ${candidate}`;
}

function scoreOf({ evaluation }: LearningCycle): string {
  if (evaluation === null) return "";
  const { current, candidate, method } = evaluation;
  return `${current.score.toFixed(3)} -> ${candidate.score.toFixed(3)} (${method})`;
}
