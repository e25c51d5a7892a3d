// What an operator may set of the embedded engine: defaults, ranges, one sentence each.
// Zero stands for "decide by the machine" where it is the default of a size.
import { availableParallelism, totalmem } from "node:os";
import type { SettingsOf, SettingsSchema } from "../domain/settings.ts";

export const engineSettings = {
  threads: {
    kind: "integer",
    default: 0,
    min: 0,
    max: 1024,
    about: "Threads that compute; 0 takes one for every core.",
    isEssential: true,
  },
  contextLengthMax: {
    kind: "integer",
    default: 32_768,
    min: 16,
    max: 1_048_576,
    about: "Most tokens in prompt and answer together; a model that allows fewer keeps its own limit.",
    isEssential: true,
  },
  kvCacheBytesMax: {
    kind: "integer",
    default: 0,
    min: 0,
    max: 2 ** 50,
    about: "Memory for the keys and values of running requests; 0 takes a quarter of the machine's memory.",
  },
  scheduling: {
    kind: "choice",
    default: "fcfs",
    choices: ["fcfs", "priority"],
    about:
      "In which order requests start: as they came, or the lowest priority first, which then also takes room from requests of higher ones; these wait for as long as better ones come, and go on where they were.",
  },
  waitingCountMax: {
    kind: "integer",
    default: 1024,
    min: 1,
    max: 1_000_000,
    about: "Requests that may wait; one more is refused as overloaded.",
  },
  slotCountMax: {
    kind: "integer",
    default: 128,
    min: 1,
    max: 4096,
    about: "Choices that are computed at the same time.",
  },
  tokensPerStepMax: {
    kind: "integer",
    default: 512,
    min: 1,
    max: 65_536,
    about: "Tokens computed in one step; more makes prompts faster and other streams wait longer.",
  },
  promptChunkTokens: {
    kind: "integer",
    default: 512,
    min: 16,
    max: 65_536,
    about: "A longer prompt is computed in parts of this many tokens, one a step.",
  },
  adapterCountMax: {
    kind: "integer",
    default: 16,
    min: 1,
    max: 4096,
    about: "Adapters kept in memory; the least recently used one is read again when it is needed.",
  },
  logitsProcessors: {
    kind: "list",
    default: [],
    about:
      "Logits processors that requests may name, beside those that come along: `name=file` each, the file a JavaScript module.",
  },
  eventIntervalMs: {
    kind: "integer",
    default: 20,
    min: 0,
    max: 1_000,
    about:
      "Tokens that are computed faster than this leave the engine together, so that a stream's chunk may hold several; the first of an answer and its end never wait. With more than 32 requests at once it is longer in proportion, up to four times. 0 sends every token by itself.",
  },
  startDeadlineMs: {
    kind: "integer",
    default: 120_000,
    min: 100,
    max: 3_600_000,
    about: "How long the engine's process may take to load the model.",
  },
  stepDeadlineMs: {
    kind: "integer",
    default: 300_000,
    min: 1_000,
    max: 3_600_000,
    about: "An engine with work that is silent for longer is killed and started again.",
  },
  stopDeadlineMs: {
    kind: "integer",
    default: 10_000,
    min: 0,
    max: 600_000,
    about: "How long the engine's process may take to end before it is killed.",
  },
  restartCountMax: {
    kind: "integer",
    default: 5,
    min: 0,
    max: 1000,
    about: "Restarts within ten minutes after which the engine stays down.",
  },
} as const satisfies SettingsSchema;

export type EngineSettings = SettingsOf<typeof engineSettings>;

/** The settings with every zero that means "by the machine" replaced by its number. */
export function settingsForThisMachine(settings: EngineSettings): EngineSettings {
  return {
    ...settings,
    threads: settings.threads === 0 ? availableParallelism() : settings.threads,
    kvCacheBytesMax: settings.kvCacheBytesMax === 0 ? Math.floor(totalmem() / 4) : settings.kvCacheBytesMax,
  };
}
