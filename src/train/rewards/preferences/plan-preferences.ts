// Plans preferences from recorded answers and corrections, and gives the reason for each excluded answer. Does no I/O.
import { setImmediate as nextTurn } from "node:timers/promises";
import type { FeedbackRecord } from "../../../base/domain/feedback.ts";
import type { PreferenceOrder } from "../../../base/domain/rewards/preference-order.ts";
import { type AnswerKey, answerId, feedbackMark } from "../../../base/domain/rewards/training-source.ts";
import {
  callFault,
  judgeAnswers,
  type JudgedAnswer,
  type LeftOut,
  leftOutAnswer,
  type LeftOutReason,
  type PlannedAnswer,
  type PlanInput,
} from "../groups/judge-answers.ts";
import { rewardResolution } from "../groups/plan-groups.ts";
import { type Correction, correctionsIn } from "./corrections.ts";
import { pairAnswers } from "./pair-answers.ts";

/** One side of a preference: a recorded answer, or a person's correction of that answer. */
export interface PreferenceSide extends AnswerKey {
  /** Number of the version that generated the answer. */
  readonly step: number;
  /** Reward of the answer; null if the answer was corrected but not rated. */
  readonly reward: number | null;
  /** Number of people whose feedback put the answer on this side. `feedback` contains their records. */
  readonly peopleCount: number;
  readonly feedback: readonly FeedbackRecord[];
  /** Text of the correction; null if this side is the recorded answer. */
  readonly correctedText: string | null;
}

/** A pair of a preferred and a rejected answer, or, for KTO, a single answer labelled as good or bad. */
export interface FeedbackPreference {
  readonly promptHash: string;
  readonly chosen: PreferenceSide | null;
  readonly rejected: PreferenceSide | null;
}

export interface PreferencePlan {
  /** Planned preferences, grouped by prompt; prompts are in the order of their first feedback. */
  readonly preferences: readonly FeedbackPreference[];
  readonly leftOut: readonly LeftOut[];
}

/** The job's options for making preferences from answers with rewards. */
type Order = Omit<PreferenceOrder, "rule">;

/**
 * Plans those preferences in which at least one answer has new feedback. Yields to the event loop between prompts,
 * because there may be many thousand answers.
 */
export async function planPreferences(input: PlanInput, order: Order): Promise<PreferencePlan> {
  const { prompts, leftOut: elsewhere } = judgeAnswers(input);
  const leftOut = [...elsewhere];
  const preferences: FeedbackPreference[] = [];
  for (const { promptHash, answers } of prompts) {
    const plan = planPrompt(input, order, answers);
    preferences.push(...plan.sides.map((sides) => ({ promptHash, ...sides })));
    leftOut.push(...plan.leftOut);
    await nextTurn();
  }
  return { preferences, leftOut };
}

type Sides = Omit<FeedbackPreference, "promptHash">;

interface PromptPlan {
  readonly sides: readonly Sides[];
  readonly leftOut: readonly LeftOut[];
}

function planPrompt(input: PlanInput, order: Order, answers: readonly JudgedAnswer[]): PromptPlan {
  const { comparison } = order;
  const planned = answers.flatMap((answer) => (typeof answer.planned === "string" ? [] : [answer.planned]));
  const rated =
    comparison.kind === "pairs"
      ? ratedPairs(planned, comparison.marginMin)
      : verdictsOn(planned, comparison.threshold);
  const trained = answersIn(rated);
  const sides = [...rated];
  const leftOut: LeftOut[] = [];
  for (const answer of answers) {
    const isJudged = trained.has(answerId(answer));
    const corrected = correctedSides(input, order, answer, { isJudged });
    sides.push(...corrected.sides);
    const isInOne = isJudged || corrected.sides.length > 0;
    // Reports an unused answer only if there is feedback on this answer itself. Some answers are in the list only
    // because feedback says that another answer is better.
    if (isInOne || answer.score.feedback.length + answer.records.length === 0) continue;
    const reason = corrected.fault ?? ratingFault(answer, planned, order);
    leftOut.push(leftOutAnswer(input, answer, reason, answer.score, answer.records.length));
  }
  return { sides, leftOut };
}

function ratedPairs(answers: readonly PlannedAnswer[], marginMin: number): readonly Sides[] {
  return pairAnswers(answers, marginMin)
    .filter((pair) => pair.some(({ use }) => use === "trained"))
    .map(([preferred, other]) => ({ chosen: sideOf(preferred), rejected: sideOf(other) }));
}

/** Labels each answer that has new feedback as chosen or rejected, by comparing its reward with the threshold. */
function verdictsOn(answers: readonly PlannedAnswer[], threshold: number): readonly Sides[] {
  return answers.flatMap((answer): readonly Sides[] => {
    const margin = answer.reward - threshold;
    if (answer.use !== "trained" || Math.abs(margin) <= rewardResolution) return [];
    const side = sideOf(answer);
    return [margin > 0 ? { chosen: side, rejected: null } : { chosen: null, rejected: side }];
  });
}

/**
 * Makes a preference from each correction of an answer, in which the correction is preferred to the answer. If none can
 * be trained on, returns the reason.
 */
function correctedSides(
  input: PlanInput,
  { corrections: term, comparison }: Order,
  answer: JudgedAnswer,
  { isJudged }: { readonly isJudged: boolean },
): { readonly sides: readonly Sides[]; readonly fault: LeftOutReason | null } {
  const corrections = correctionsIn(term, answer.records);
  if (corrections.length === 0) return { sides: [], fault: null };
  const fault = callFault(input, answer.call);
  if (fault !== null) return { sides: [], fault };
  const known = input.trainedOn(answer);
  const fresh = corrections.filter(({ feedback }) =>
    feedback.some((record) => !known.has(feedbackMark(record))),
  );
  if (fresh.length === 0) return { sides: [], fault: "already_trained" };
  const sides = fresh.flatMap((correction, index): readonly Sides[] => {
    const chosen = correctedSide(answer, correction, correction.text);
    const rejected = correctedSide(answer, correction, null);
    if (comparison.kind === "pairs") return [{ chosen, rejected }];
    // The corrected answer is labelled as rejected only once, even if it has several corrections.
    const isJudgedHere = index === 0 && !isJudged;
    return [{ chosen, rejected: null }, ...(isJudgedHere ? [{ chosen: null, rejected }] : [])];
  });
  return { sides, fault: null };
}

function correctedSide(
  { requestId, choice, call, score }: JudgedAnswer,
  { feedback }: Correction,
  correctedText: string | null,
): PreferenceSide {
  const reward = correctedText === null ? score.reward : null;
  return {
    requestId,
    choice,
    step: call.step,
    reward,
    peopleCount: feedback.length,
    feedback,
    correctedText,
  };
}

function sideOf({ requestId, choice, step, reward, peopleCount, feedback }: PlannedAnswer): PreferenceSide {
  return { requestId, choice, step, reward, peopleCount, feedback, correctedText: null };
}

/** Returns the reason why an answer is in no planned preference. */
function ratingFault(
  { planned }: JudgedAnswer,
  rated: readonly PlannedAnswer[],
  { comparison }: Order,
): LeftOutReason {
  if (typeof planned === "string") return planned;
  if (planned.use === "compared") return "already_trained";
  if (comparison.kind === "verdicts") return "no_verdict";
  if (rated.length === 1) return "single_answer";
  const { reward } = planned;
  const isAlone = rated.some((other) => Math.abs(other.reward - reward) > rewardResolution);
  return isAlone ? "near_rewards" : "equal_rewards";
}

/** Returns the keys of the recorded answers on the given sides. */
function answersIn(sides: readonly Sides[]): ReadonlySet<string> {
  return new Set(
    sides.flatMap(({ chosen, rejected }) =>
      [chosen, rejected].flatMap((side) => (side === null ? [] : [answerId(side)])),
    ),
  );
}
