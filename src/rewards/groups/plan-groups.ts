// Which recorded answers train, in which groups and with which rewards, by the feedback on them; and which do not, with the
// reason of each. Pure: whoever has the records and the recordings asks.
import type { FeedbackRecord } from "../../domain/feedback.ts";
import { callReference, readCallReference } from "../../domain/recordings/call-reference.ts";
import type { RewardRule } from "../../domain/rewards/reward-rule.ts";
import { type AnswerKey, answerId, feedbackMark } from "../../domain/rewards/training-source.ts";
import { type AnswerScore, scoreAnswers } from "../scoring/score-answers.ts";
import { worseReference } from "../scoring/term-value.ts";

/** What is known of a recorded completion here. */
export interface RecordedCall {
  readonly requestId: string;
  readonly modelId: string;
  readonly step: number;
  /** Equal for prompts of the same tokens. */
  readonly promptHash: string;
  readonly choiceCount: number;
  /** Of the prompt and one choice together, the mean of these. */
  readonly tokenCount: number;
  /** Whether its tokens were recorded. */
  readonly isWhole: boolean;
}

export const leftOutReasons = {
  no_recording: "The call was not recorded, or its recording is gone.",
  no_tokens: "The recording holds no tokens: the answer was larger than recordings may be.",
  other_model: "The call was answered by another model.",
  no_choice: "The answer has several choices and the reference names none, or one that there is not.",
  no_value: "The rule reads none of the feedback.",
  other_prompt: "It is said to be better than an answer that was not recorded, or is to another prompt.",
  too_old: "It was answered by a version that is older than asked for.",
  too_long: "Prompt and answer have more tokens than train.",
  already_trained:
    "No feedback has come since it was trained; its reward counts where others of its prompt are compared.",
  single_answer: "No other answer to its prompt has a reward.",
  equal_rewards: "All answers to its prompt have the same reward.",
  later_job: "The job is full; the next one takes it.",
} as const;
export type LeftOutReason = keyof typeof leftOutReasons;

export interface PlannedAnswer extends AnswerKey, AnswerScore {
  readonly reward: number;
  readonly step: number;
  readonly tokenCount: number;
  readonly use: "trained" | "compared";
}

/** Answers to one prompt of differing rewards, at least one of which trains. */
export interface PlannedGroup {
  readonly promptHash: string;
  readonly answers: readonly PlannedAnswer[];
}

/** An answer, or where none was found what feedback names. */
export interface LeftOut {
  readonly reference: string;
  readonly reason: LeftOutReason;
  readonly reward: number | null;
  readonly peopleCount: number;
  readonly feedbackCount: number;
}

export interface GroupPlan {
  /** In the order in which their first feedback stands. */
  readonly groups: readonly PlannedGroup[];
  readonly leftOut: readonly LeftOut[];
}

export interface PlanInput {
  readonly rule: RewardRule;
  readonly model: { readonly id: string; readonly projectId: string };
  /** The oldest first. */
  readonly records: readonly FeedbackRecord[];
  /** The recording of a request; undefined where there is none. */
  readonly callOf: (requestId: string) => RecordedCall | undefined;
  /** What of an answer was trained on before, by the marks of records. */
  readonly trainedOn: (answer: AnswerKey) => ReadonlySet<string>;
  /** Answers of older versions do not train. */
  readonly stepMin: number;
  /** Tokens of a sequence. */
  readonly sequenceLengthMax: number;
}

/** An answer with what was said of it. */
interface JudgedAnswer extends AnswerKey {
  readonly call: RecordedCall;
  readonly records: FeedbackRecord[];
}

export function planGroups(input: PlanInput): GroupPlan {
  const { prompts, leftOut } = findAnswers(input);
  const groups: PlannedGroup[] = [];
  for (const [promptHash, answers] of prompts) {
    const { answers: planned, leftOut: others } = planPrompt(input, [...answers.values()]);
    leftOut.push(...others);
    if (planned.length > 0) groups.push({ promptHash, answers: planned });
  }
  return { groups, leftOut };
}

/** The newest so many count: one answer cannot make a job's sources endless. */
const recordsOfAnswerMax = 1000;

type Prompts = ReadonlyMap<string, ReadonlyMap<string, JudgedAnswer>>;

/** The answers that feedback is on, by prompt, and what is on none. */
function findAnswers(input: PlanInput): { readonly prompts: Prompts; readonly leftOut: LeftOut[] } {
  const prompts = new Map<string, Map<string, JudgedAnswer>>();
  const nowhere = new Map<string, LeftOut>();
  const place = (call: RecordedCall, choice: number): JudgedAnswer => {
    const answers = prompts.get(call.promptHash) ?? new Map<string, JudgedAnswer>();
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

/** Null where the record compares with no answer. */
function worseAnswerOf(input: PlanInput, record: FeedbackRecord): Found | LeftOutReason | null {
  for (const term of input.rule.terms) {
    const reference = term.kind === "preference" ? worseReference(term, record) : null;
    if (reference !== null) return answerOf(input, reference);
  }
  return null;
}

interface PromptPlan {
  /** Empty where none trains. */
  readonly answers: readonly PlannedAnswer[];
  readonly leftOut: readonly LeftOut[];
}

function planPrompt(input: PlanInput, judged: readonly JudgedAnswer[]): PromptPlan {
  const scores = scoreAnswers(
    input.rule,
    judged.map(({ records }) => records),
    positionsAmong(input, judged),
  );
  const leftOut: LeftOut[] = [];
  const leave = (answer: AnswerKey, reason: LeftOutReason, score: AnswerScore, recordCount = 0): void => {
    const { reward, peopleCount, feedback } = score;
    const key = { projectId: input.model.projectId, requestId: answer.requestId };
    const feedbackCount = Math.max(feedback.length, recordCount);
    leftOut.push({
      reference: callReference(key, answer.choice),
      reason,
      reward,
      peopleCount,
      feedbackCount,
    });
  };
  const answers: PlannedAnswer[] = [];
  judged.forEach((answer, index) => {
    const score = scores[index];
    const planned = plannedAnswer(input, answer, score);
    if (typeof planned !== "string") answers.push(planned);
    // What was only compared with, and is in no rule's words, is nobody's question.
    else if (score.feedback.length + answer.records.length > 0)
      leave(answer, planned, score, answer.records.length);
  });
  const fault = groupFault(answers);
  if (fault === null) return { answers, leftOut };
  for (const answer of answers) leave(answer, answer.use === "compared" ? "already_trained" : fault, answer);
  return { answers: [], leftOut };
}

/** Which of the answers a reference names; null for none of them. */
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

/** Why an answer can be in no group, or how it is in one. */
function plannedAnswer(
  { stepMin, sequenceLengthMax, trainedOn }: PlanInput,
  { requestId, choice, call }: JudgedAnswer,
  score: AnswerScore,
): PlannedAnswer | LeftOutReason {
  const { reward } = score;
  if (reward === null) return "no_value";
  if (call.step < stepMin) return "too_old";
  const { tokenCount } = call;
  if (tokenCount > sequenceLengthMax) return "too_long";
  const known = trainedOn({ requestId, choice });
  const isNew = score.feedback.some((record) => !known.has(feedbackMark(record)));
  return {
    requestId,
    choice,
    step: call.step,
    ...score,
    reward,
    tokenCount,
    use: isNew ? "trained" : "compared",
  };
}

/** Rewards nearer to each other than this count as equal, as in training: what is left is rounding. */
const rewardResolution = 1e-12;

/** Why the answers to a prompt teach nothing; null where they do. */
function groupFault(answers: readonly PlannedAnswer[]): LeftOutReason | null {
  if (answers.every(({ use }) => use === "compared")) return "already_trained";
  if (answers.length === 1) return "single_answer";
  const [{ reward: first }] = answers;
  return answers.some(({ reward }) => Math.abs(reward - first) > rewardResolution) ? null : "equal_rewards";
}
