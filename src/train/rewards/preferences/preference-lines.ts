// Writes planned preferences as a job's training data: one JSON line per preference. A recorded answer is written with
// its recorded tokens, a correction as chat messages.
import type { CompletionStore } from "../../../base/domain/recordings/completion-store.ts";
import type {
  RecordedCompletion,
  RecordedPrompt,
} from "../../../base/domain/recordings/recorded-completion.ts";
import type { FeedbackRecord } from "../../../base/domain/feedback.ts";
import type { AnswerMessages, PreferenceExample } from "../../../base/domain/preferences/preference.ts";
import { answerId, feedbackMark, type TrainingSource } from "../../../base/domain/rewards/training-source.ts";
import { foldedLine } from "../../../base/domain/text/folded-lines.ts";
import type { Json, JsonObject } from "../../../base/domain/text/json.ts";
import { previewText } from "../answer-texts.ts";
import { type LeftOut, leftOutAnswer, type LeftOutReason, type PlanInput } from "../groups/judge-answers.ts";
import { choiceRecord, messagesOf } from "../../trajectories/choice-record.ts";
import { personOf } from "../scoring/opinions.ts";
import type { FeedbackPreference, PreferenceSide } from "./plan-preferences.ts";

/** One side of a preference, with the beginning of its text for display. */
export interface ShownSide extends PreferenceSide {
  readonly text: string;
}

export interface WrittenPreference {
  readonly promptHash: string;
  readonly chosen: ShownSide | null;
  readonly rejected: ShownSide | null;
}

export interface PreferenceLines {
  /**
   * Data lines of the job, one per preference; a long line is folded into several parts
   * (`base/domain/text/folded-lines.ts`).
   */
  readonly lines: readonly string[];
  /** The preferences that are in the lines. */
  readonly preferences: readonly WrittenPreference[];
  /** For each answer in the lines, the feedback from which its preferences were made. */
  readonly sources: readonly TrainingSource[];
  readonly leftOut: readonly LeftOut[];
}

/** Limits on the size of one job. The first preference is included even if it exceeds them. */
export interface PreferenceLimits {
  readonly preferencesMax: number;
  /** Maximum size of the job's data lines in bytes. */
  readonly bytesMax: number;
}

/** Reads the recordings of the preferences' answers, one prompt at a time to save memory, and writes the data lines. */
export async function writePreferences(
  completions: Pick<CompletionStore, "find">,
  planned: readonly FeedbackPreference[],
  { model, trainedOn }: Pick<PlanInput, "model" | "trainedOn">,
  { preferencesMax, bytesMax }: PreferenceLimits,
): Promise<PreferenceLines> {
  const lines: string[] = [];
  const written: WrittenPreference[] = [];
  const leftOut: LeftOut[] = [];
  let [byteCount, isFull] = [0, false];
  const recordings = new RecordingsOfPrompt(completions, model.projectId);
  for (const preference of planned) {
    isFull ||= written.length >= preferencesMax;
    const read = isFull ? "later_job" : await readPreference(preference, recordings);
    const line = typeof read === "string" ? "" : JSON.stringify(read.example);
    isFull ||= written.length > 0 && byteCount + line.length > bytesMax;
    if (typeof read === "string" || isFull) {
      const reason = typeof read === "string" ? read : "later_job";
      leftOut.push(...leftOutSides(preference, reason, model));
      continue;
    }
    byteCount += line.length;
    lines.push(...foldedLine(line));
    written.push(read.shown);
  }
  return { lines, preferences: written, sources: sourcesOf(written, trainedOn), leftOut };
}

/** Cache of the recordings of one prompt, so that each recorded call is read only once. */
class RecordingsOfPrompt {
  readonly #completions: Pick<CompletionStore, "find">;
  readonly #projectId: string;
  #promptHash = "";
  readonly #found = new Map<string, RecordedCompletion | null>();

  constructor(completions: Pick<CompletionStore, "find">, projectId: string) {
    this.#completions = completions;
    this.#projectId = projectId;
  }

  /** Returns the recording of a call; null if it no longer exists. */
  async find(promptHash: string, requestId: string): Promise<RecordedCompletion | null> {
    if (promptHash !== this.#promptHash) this.#found.clear();
    this.#promptHash = promptHash;
    const found = this.#found.get(requestId);
    if (found !== undefined) return found;
    const completion = await this.#completions.find({ projectId: this.#projectId, requestId });
    this.#found.set(requestId, completion);
    return completion;
  }
}

interface ReadPreference {
  readonly example: PreferenceExample;
  readonly shown: WrittenPreference;
}

async function readPreference(
  { promptHash, chosen, rejected }: FeedbackPreference,
  recordings: RecordingsOfPrompt,
): Promise<ReadPreference | LeftOutReason> {
  const sides: Record<"chosen" | "rejected", ReadSide | null> = { chosen: null, rejected: null };
  for (const [name, side] of Object.entries({ chosen, rejected }) as readonly [
    keyof typeof sides,
    PreferenceSide | null,
  ][]) {
    if (side === null) continue;
    const read = readSide(side, await recordings.find(promptHash, side.requestId));
    if (typeof read === "string") return read;
    sides[name] = read;
  }
  const prompt = (sides.chosen ?? sides.rejected)?.prompt;
  if (prompt === undefined) return "no_recording";
  return {
    example: {
      messages: messagesOf(prompt),
      tools: prompt.kind === "conversation" ? prompt.tools : null,
      chosen: sides.chosen?.answer ?? null,
      rejected: sides.rejected?.answer ?? null,
      extra: promptExtra(prompt),
    },
    shown: {
      promptHash,
      chosen: chosen && { ...chosen, text: previewText(sides.chosen?.text ?? "") },
      rejected: rejected && { ...rejected, text: previewText(sides.rejected?.text ?? "") },
    },
  };
}

interface ReadSide {
  readonly prompt: RecordedPrompt;
  readonly answer: AnswerMessages;
  readonly text: string;
}

function readSide(
  { choice: index, correctedText }: PreferenceSide,
  completion: RecordedCompletion | null,
): ReadSide | LeftOutReason {
  const content = completion?.content ?? null;
  const choice = content?.choices[index];
  if (content === null || choice === undefined) return "no_recording";
  const { prompt, promptTokenIds } = content;
  if (correctedText === null) {
    const { logprobs: _sampled, ...recorded } = choiceRecord(choice, index, promptTokenIds);
    return { prompt, answer: [recorded], text: choice.text };
  }
  if (prompt.kind !== "conversation") return "no_conversation";
  if (correctedText === choice.text) return "unchanged";
  return { prompt, answer: [{ role: "assistant", content: correctedText }], text: correctedText };
}

/**
 * Returns the options of the recorded request, without messages and tools, under their names in the API. The job needs
 * them to render the correction's prompt as it was rendered for the recorded answer.
 */
export function promptExtra(prompt: RecordedPrompt): JsonObject {
  if (prompt.kind !== "conversation") return {};
  const { documents, templateArguments, reasoningEffort, addGenerationPrompt, continueFinalMessage } = prompt;
  const fields: Readonly<Record<string, Json>> = {
    documents,
    chat_template_kwargs: Object.keys(templateArguments).length === 0 ? null : templateArguments,
    reasoning_effort: reasoningEffort,
    add_generation_prompt: addGenerationPrompt ? null : false,
    continue_final_message: continueFinalMessage || null,
    add_special_tokens: prompt.addSpecialTokens || null,
    chat_template: prompt.template,
    truncate_prompt_tokens: prompt.truncation,
  };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
}

function leftOutSides(
  { chosen, rejected }: FeedbackPreference,
  reason: LeftOutReason,
  model: PlanInput["model"],
): readonly LeftOut[] {
  const sides = [chosen, rejected].flatMap((side) => (side === null ? [] : [side]));
  // A record with a correction counts as feedback on the answer that it corrects, so each answer is listed once.
  const answers = new Map(sides.map((side) => [answerId(side), side]));
  return [...answers.values()].map((side) => leftOutAnswer({ model }, side, reason, side));
}

/** Returns, for each answer, all feedback from which its preferences were made. */
function sourcesOf(
  preferences: readonly WrittenPreference[],
  trainedOn: PlanInput["trainedOn"],
): readonly TrainingSource[] {
  const answers = new Map<
    string,
    { readonly sides: PreferenceSide[]; readonly records: Set<FeedbackRecord> }
  >();
  for (const side of preferences.flatMap(({ chosen, rejected }) => [chosen, rejected])) {
    if (side === null) continue;
    const answer = answers.get(answerId(side)) ?? { sides: [], records: new Set() };
    answers.set(answerId(side), answer);
    answer.sides.push(side);
    for (const record of side.feedback) answer.records.add(record);
  }
  return [...answers.values()].map(({ sides, records }) => {
    const [{ requestId, choice, step }] = sides;
    const known = trainedOn({ requestId, choice });
    const feedback = [...records].map(({ id, contentHash }) => ({
      id,
      contentHash,
      isNew: !known.has(feedbackMark({ id, contentHash })),
    }));
    return {
      requestId,
      choice,
      step,
      reward: sides.find(({ reward }) => reward !== null)?.reward ?? null,
      peopleCount: new Set([...records].map(personOf)).size,
      feedback,
      use: feedback.some(({ isNew }) => isNew) ? "trained" : "compared",
    };
  });
}
