// Assigns feedback to the recorded answers that it judges, groups the answers by prompt, and scores each answer by a
// rule. If no answer is found, reports the feedback with the reason. Pure: the caller supplies records and recordings.
import type { FeedbackRecord } from "../../../base/domain/feedback.ts";
import { callReference, readCallReference } from "../../../base/domain/recordings/call-reference.ts";
import type { RewardRule } from "../../../base/domain/rewards/reward-rule.ts";
import { type AnswerKey, answerId, feedbackMark } from "../../../base/domain/rewards/training-source.ts";
import { type AnswerScore, scoreAnswers } from "../scoring/score-answers.ts";
import { worseReference } from "../scoring/term-value.ts";

/** The fields of a recorded completion that planning a job needs. */
export interface RecordedCall {
  readonly requestId: string;
  readonly modelId: string;
  readonly step: number;
  /** Hash of the prompt's tokens; equal for equal prompts. */
  readonly promptHash: string;
  readonly choiceCount: number;
  /** Mean length in tokens of the call's sequences. A sequence is the prompt followed by one choice. */
  readonly tokenCount: number;
  /** Mean length in tokens of the call's choices. */
  readonly answerTokenCount: number;
  /** True if the recording includes the call's token ids. Without them, the call cannot be trained on. */
  readonly isWhole: boolean;
}

export const leftOutReasons = {
  no_recording: "The call was not recorded, or its recording is gone.",
  no_tokens: "The recording holds no tokens: the answer was larger than recordings may be.",
  other_model: "The call was answered by another model.",
  no_choice: "The answer has several choices and the reference names none, or one that does not exist.",
  no_value: "The rule reads none of the feedback.",
  other_prompt: "It is said to be better than an answer that was not recorded, or is to another prompt.",
  too_old: "It was answered by a version that is older than asked for.",
  too_long: "Prompt and answer have more tokens than train.",
  already_trained:
    "No feedback has come since it was trained; its reward counts where others of its prompt are compared.",
  single_answer: "No other answer to its prompt has a reward.",
  equal_rewards: "All answers to its prompt have the same reward.",
  near_rewards: "No other answer to its prompt has a reward that differs as much as was asked for.",
  no_verdict: "Its reward is the threshold: people neither wanted it nor did not.",
  unchanged: "It was corrected to what it says.",
  no_conversation: "Its prompt was no conversation, behind which a correction would be an answer.",
  later_job: "The job is full; the next one takes it.",
} as const;
export type LeftOutReason = keyof typeof leftOutReasons;

export interface PlannedAnswer extends AnswerKey, AnswerScore {
  readonly reward: number;
  readonly step: number;
  readonly tokenCount: number;
  readonly answerTokenCount: number;
  readonly use: "trained" | "compared";
}

/** An answer that planning excluded from training, or a feedback reference for which it found no answer. */
export interface LeftOut {
  readonly reference: string;
  readonly reason: LeftOutReason;
  readonly reward: number | null;
  readonly peopleCount: number;
  readonly feedbackCount: number;
}

export interface PlanInput {
  readonly rule: RewardRule;
  readonly model: { readonly id: string; readonly projectId: string };
  /** Feedback records, oldest first. */
  readonly records: readonly FeedbackRecord[];
  /** Returns the recorded call with this request id; undefined if there is none. */
  readonly callOf: (requestId: string) => RecordedCall | undefined;
  /** Returns the marks (`feedbackMark`) of this answer's feedback records that earlier jobs used for training. */
  readonly trainedOn: (answer: AnswerKey) => ReadonlySet<string>;
  /** Number of the oldest version whose answers may be trained on. */
  readonly stepMin: number;
  /** Maximum length of a training sequence in tokens. */
  readonly sequenceLengthMax: number;
}

/** An answer, the feedback on it, and its score under the rule. */
export interface JudgedAnswer extends AnswerKey {
  readonly call: RecordedCall;
  /** The newest thousand feedback records on this answer, oldest first. */
  readonly records: readonly FeedbackRecord[];
  readonly score: AnswerScore;
  /** The answer as part of a group, or the reason why it cannot be part of one. */
  readonly planned: PlannedAnswer | LeftOutReason;
}

export interface JudgedPrompt {
  readonly promptHash: string;
  readonly answers: readonly JudgedAnswer[];
}

/**
 * Returns the prompts in the order of their first feedback, and the feedback for which no answer was found. A prompt's
 * answers are scored only when the iteration reaches the prompt.
 */
export function judgeAnswers(input: PlanInput): {
  readonly prompts: Iterable<JudgedPrompt>;
  readonly leftOut: readonly LeftOut[];
} {
  const { prompts, leftOut } = findAnswers(input);
  return { prompts: judgedPrompts(input, prompts), leftOut };
}

function* judgedPrompts(input: PlanInput, prompts: Prompts): Generator<JudgedPrompt> {
  for (const [promptHash, found] of prompts)
    yield { promptHash, answers: judged(input, [...found.values()]) };
}

function judged(input: PlanInput, answers: readonly FoundAnswer[]): readonly JudgedAnswer[] {
  const scores = scoreAnswers(
    input.rule,
    answers.map(({ records }) => records),
    positionsAmong(input, answers),
  );
  return answers.map((answer, index) => {
    const score = scores[index];
    return { ...answer, score, planned: plannedAnswer(input, answer, score) };
  });
}

/** Returns an excluded answer in the form that users see. */
export function leftOutAnswer(
  { model }: Pick<PlanInput, "model">,
  { requestId, choice }: AnswerKey,
  reason: LeftOutReason,
  { reward, peopleCount, feedback }: Pick<AnswerScore, "reward" | "peopleCount" | "feedback">,
  recordCount = 0,
): LeftOut {
  const reference = callReference({ projectId: model.projectId, requestId }, choice);
  return { reference, reason, reward, peopleCount, feedbackCount: Math.max(feedback.length, recordCount) };
}

/** Returns the reason why no answer of a call can be trained on with any feedback; null if some answer can. */
export function callFault(
  { stepMin, sequenceLengthMax }: Pick<PlanInput, "stepMin" | "sequenceLengthMax">,
  { step, tokenCount }: Pick<RecordedCall, "step" | "tokenCount">,
): LeftOutReason | null {
  if (step < stepMin) return "too_old";
  return tokenCount > sequenceLengthMax ? "too_long" : null;
}

/**
 * Maximum number of feedback records that count for one answer, the newest first. It limits how many records a job
 * stores for one answer.
 */
const recordsOfAnswerMax = 1000;

type FoundAnswer = Found & AnswerKey & { readonly records: FeedbackRecord[] };
type Prompts = ReadonlyMap<string, ReadonlyMap<string, FoundAnswer>>;

/**
 * Finds the answers that feedback judges, grouped by prompt. Also returns the feedback for which no answer was found.
 */
function findAnswers(input: PlanInput): { readonly prompts: Prompts; readonly leftOut: readonly LeftOut[] } {
  const prompts = new Map<string, Map<string, FoundAnswer>>();
  const nowhere = new Map<string, LeftOut>();
  const place = (call: RecordedCall, choice: number): FoundAnswer => {
    const answers = prompts.get(call.promptHash) ?? new Map<string, FoundAnswer>();
    prompts.set(call.promptHash, answers);
    const key = { requestId: call.requestId, choice };
    const answer = answers.get(answerId(key)) ?? { ...key, call, records: [] };
    answers.set(answerId(key), answer);
    return answer;
  };
  for (const record of input.records) {
    const found = answerOf(input, record.vendorRef);
    if (typeof found === "string") {
      addLeftOut(nowhere, record.vendorRef, found);
      continue;
    }
    const worse = worseAnswerOf(input, record);
    if (typeof worse === "string" || (worse !== null && worse.call.promptHash !== found.call.promptHash)) {
      addLeftOut(nowhere, record.vendorRef, "other_prompt");
      continue;
    }
    const { records } = place(found.call, found.choice);
    records.push(record);
    if (records.length > recordsOfAnswerMax) records.shift();
    if (worse !== null) place(worse.call, worse.choice);
  }
  return { prompts, leftOut: [...nowhere.values()] };
}

function addLeftOut(leftOut: Map<string, LeftOut>, reference: string, reason: LeftOutReason): void {
  const key = `${reason} ${reference}`;
  const feedbackCount = (leftOut.get(key)?.feedbackCount ?? 0) + 1;
  leftOut.set(key, { reference, reason, reward: null, peopleCount: 0, feedbackCount });
}

interface Found {
  readonly call: RecordedCall;
  readonly choice: number;
}

function answerOf({ model, callOf }: PlanInput, reference: string): Found | LeftOutReason {
  const part = readCallReference(reference);
  const call = part?.projectId === model.projectId ? callOf(part.requestId) : undefined;
  if (part === null || call === undefined) return "no_recording";
  if (call.modelId !== model.id) return "other_model";
  if (!call.isWhole) return "no_tokens";
  const { choiceCount } = call;
  const choice = part.choice ?? (choiceCount === 1 ? 0 : choiceCount);
  return choice < choiceCount ? { call, choice } : "no_choice";
}

/**
 * If a record says that its answer is better than another answer, returns that worse answer, or the reason why the
 * worse answer is unusable. Returns null if the record compares nothing.
 */
function worseAnswerOf(input: PlanInput, record: FeedbackRecord): Found | LeftOutReason | null {
  for (const term of input.rule.terms) {
    const reference = term.kind === "preference" ? worseReference(term, record) : null;
    if (reference !== null) return answerOf(input, reference);
  }
  return null;
}

/**
 * Returns a function that finds the position of an answer by its reference. The function returns null for an unknown
 * reference.
 */
function positionsAmong(
  input: PlanInput,
  answers: readonly AnswerKey[],
): (reference: string) => number | null {
  const positions = new Map(answers.map((answer, position) => [answerId(answer), position]));
  return (reference) => {
    const found = answerOf(input, reference);
    if (typeof found === "string") return null;
    return positions.get(answerId({ requestId: found.call.requestId, choice: found.choice })) ?? null;
  };
}

/** Returns the answer as part of a group, or the reason why it cannot be part of one. */
function plannedAnswer(
  input: PlanInput,
  { requestId, choice, call }: FoundAnswer,
  score: AnswerScore,
): PlannedAnswer | LeftOutReason {
  const { reward } = score;
  if (reward === null) return "no_value";
  const fault = callFault(input, call);
  if (fault !== null) return fault;
  const known = input.trainedOn({ requestId, choice });
  const isNew = score.feedback.some((record) => !known.has(feedbackMark(record)));
  return {
    requestId,
    choice,
    step: call.step,
    ...score,
    reward,
    tokenCount: call.tokenCount,
    answerTokenCount: call.answerTokenCount,
    use: isNew ? "trained" : "compared",
  };
}
