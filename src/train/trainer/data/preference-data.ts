// Converts the lines of a preference job to training data, and counts dropped preferences. The same lines always give
// the same data. Tokens stay on disk until a trainer needs them.
import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { present } from "../../../base/domain/assert.ts";
import type { PreferenceLossName } from "../../../base/domain/preferences/preference-config.ts";
import type { PreferenceExample } from "../../../base/domain/preferences/preference.ts";
import type { ConversationTokenizer } from "../../trajectories/conversation-tokenizer.ts";
import type { TurnRenderer } from "../../trajectories/example-sequences.ts";
import { answerSequences } from "../../trajectories/preference-sequences.ts";
import type { TokenSequence } from "../../trajectories/sequences.ts";
import type { PreparedLine, PreparedLines } from "../prepared/token-file.ts";
import { type Drop, Drops } from "./drops.ts";
import type { PlannedSequence } from "./optimizer-batches.ts";

/** One preference in the form that a loss needs: two answers to one prompt, or for KTO a single answer. */
export interface PlannedPreference {
  /** The training sequences of all answers of the preference; each answer has at least one. */
  readonly sequences: readonly PlannedSequence[];
  /** Hash of the prompt's tokens; equal only for equal prompts. */
  readonly prompt: string;
}

export interface PreferenceData {
  /** The preferences that are trained on, in the order of the lines. */
  readonly preferences: readonly PlannedPreference[];
  /** Number of lines of the job's data. The group of a sequence is the 0-based index of its line. */
  readonly lineCount: number;
  /** Number of preferences in the job's data, including dropped ones. */
  readonly preferenceCount: number;
  /** Number of dropped preferences, by reason. */
  readonly dropped: Readonly<Record<string, number>>;
  /** For each reason why preferences were dropped, one sentence to the job's creator. */
  readonly warnings: readonly string[];
}

interface PreferenceModel {
  readonly tokenizer: TurnRenderer & ConversationTokenizer;
  readonly sequenceLengthMax: number;
  readonly loss: PreferenceLossName;
}

/** Facts about one line of the job's data, stored on disk with the line's sequences. */
interface Note {
  /** The preferences of the line: one, or for KTO one per answer. */
  readonly preferences: readonly PreferenceNote[];
}

interface PreferenceNote {
  readonly drop: Drop | null;
  /** Number of training sequences of the chosen answer; 0 if the preference has no chosen answer. */
  readonly chosenCount: number;
  readonly rejectedCount: number;
  readonly prompt: string;
}

/** Converts lines to training data. Each preference is either trained on as a whole or dropped; none is truncated. */
export async function preparePreferences(
  lines: PreparedLines<PreferenceExample>,
  model: PreferenceModel,
): Promise<PreferenceData> {
  const preferences: PlannedPreference[] = [];
  const drops = new Drops();
  let [lineCount, preferenceCount] = [0, 0];
  for await (const { note, sequences } of lines.each((line) => readLine(line, model))) {
    let start = 0;
    for (const { drop, chosenCount, rejectedCount, prompt } of note.preferences) {
      const index = preferenceCount++;
      if (drop !== null) drops.add(lineCount, drop);
      const end = start + chosenCount + rejectedCount;
      const planned = sequences.slice(start, end).map((sequence, place) => ({
        ...sequence,
        advantage: 1,
        weight: 1,
        group: lineCount,
        preference: { index, isChosen: place < chosenCount },
      }));
      if (drop === null) preferences.push({ sequences: planned, prompt });
      start = end;
    }
    lineCount += 1;
  }
  const name = model.loss === "kto" ? "answers" : "pairs";
  return {
    preferences,
    lineCount,
    preferenceCount,
    dropped: drops.counts,
    warnings: drops.warnings({ name, count: preferenceCount, field: "pairs" }),
  };
}

/** Converts one line. Drops the whole pair if one of its answers cannot be trained on. */
function readLine(line: PreferenceExample, model: PreferenceModel): PreparedLine<Note> {
  const { chosen, rejected } = line;
  const sides = model.loss === "kto" ? [{ chosen }, { rejected }] : [{ chosen, rejected }];
  const read = sides
    .filter(({ chosen: wanted = null, rejected: other = null }) => wanted !== null || other !== null)
    .map((side) => readPreference({ ...line, chosen: null, rejected: null, ...side }, model));
  return {
    note: { preferences: read.map(({ note }) => note) },
    sequences: read.flatMap(({ sequences }) => sequences),
  };
}

function readPreference(
  line: PreferenceExample,
  { tokenizer, sequenceLengthMax }: PreferenceModel,
): PreparedLine<PreferenceNote> {
  const dropped = (drop: Drop): PreparedLine<PreferenceNote> => ({
    note: { drop, chosenCount: 0, rejectedCount: 0, prompt: "" },
    sequences: [],
  });
  const sequences: TokenSequence[] = [];
  const counts = { chosen: 0, rejected: 0 };
  for (const side of ["chosen", "rejected"] as const) {
    const { [side]: answer } = line;
    if (answer === null) continue;
    const read = answerSequences(line, answer, tokenizer);
    if ("reason" in read) return dropped({ ...read, detail: `Its ${side} answer: ${read.detail}` });
    const longest = Math.max(...read.sequences.map(({ tokenIds }) => tokenIds.length));
    if (longest > sequenceLengthMax) {
      const detail = `With its ${side} answer it has ${longest} tokens; at most ${sequenceLengthMax} train.`;
      return dropped({ reason: "too_long", detail });
    }
    sequences.push(...read.sequences);
    counts[side] = read.sequences.length;
  }
  const { chosen: chosenCount, rejected: rejectedCount } = counts;
  const trained = sequences.map(({ tokenIds, mask }) => [tokenIds, mask]);
  if (isDeepStrictEqual(trained.slice(0, chosenCount), trained.slice(chosenCount)))
    return dropped({ reason: "equal_answers", detail: "Both answers have the same tokens." });
  const prompt = promptOf(present(sequences[0], "a sequence"));
  return { note: { drop: null, chosenCount, rejectedCount, prompt }, sequences };
}

/** Returns a hash of the tokens that precede the first trained token. */
function promptOf({ tokenIds, mask }: TokenSequence): string {
  const ids = tokenIds.slice(0, mask.indexOf(1));
  return createHash("sha256").update(new Uint8Array(ids.buffer)).digest("base64url").slice(0, 22);
}
