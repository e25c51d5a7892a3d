// What the embedded engine goes by: what an operator sets, and what is the same on every server.
import type { Device } from "../../base/domain/model.ts";
import {
  section,
  type SettingsIn,
  type SettingsOf,
  type SettingsSchema,
} from "../../base/domain/settings.ts";

const schema = {
  threads: {
    kind: "integer",
    default: 0,
    min: 0,
    max: 1024,
    about: "Threads that compute, in serving and in training each; 0 takes one for every core.",
    isEssential: true,
    byMachine: ({ coreCount }) => coreCount,
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
    about:
      "Memory for the keys and values of a base model's requests, in bytes; 0 takes a quarter of the machine's memory, and of `models.memoryBytes` where that is less.",
    byMachine: ({ memoryBytes, modelBytes = Infinity }) => Math.floor(Math.min(memoryBytes, modelBytes) / 4),
  },
  prefixCachePercent: {
    kind: "integer",
    default: 50,
    min: 0,
    max: 100,
    about:
      "Percent of that memory that may keep what was computed of prompts, for later ones that begin alike; running requests take it back where they need it. 0 keeps nothing.",
  },
  scheduling: {
    kind: "choice",
    default: "fcfs",
    choices: ["fcfs", "priority"],
    about:
      "In which order requests start, at vLLM servers as these were started (`--scheduling-policy`): as they came, or the lowest priority first, which then also takes room from requests of higher ones; these wait for as long as better ones come, and go on where they were. Among requests of one priority entities share: who holds least is next, and may take room from one who then still holds as much.",
  },
  waitingCountMax: {
    kind: "integer",
    default: 1024,
    min: 1,
    max: 1_000_000,
    about: "Requests that may wait; one more is refused as overloaded.",
  },
  logitsProcessors: {
    kind: "list",
    default: [],
    about:
      "Logits processors that requests may name, beside those that come along: `name=file` each, the file a JavaScript module.",
  },
} as const satisfies SettingsSchema;

const fixed = {
  /** Most tokens that are drafted for a row and step where one or two rows decode; more are seldom right. 0 drafts nothing. */
  draftTokensMax: 7,
  /** What computes; the server says where that is to be another (`device/usable-device.ts`). */
  device: "cpu" as Device,
  /** Whether what only some requests need is prepared in the first quiet moments; without, at its first use. */
  preparesAhead: true,
  /** Choices that are computed at the same time; more gain nothing where weights are read once for all of them. */
  slotCountMax: 128,
  /** Tokens computed in one step. More would make prompts faster, and other streams wait longer. */
  tokensPerStepMax: 512,
  /** A longer prompt is computed in parts of so many tokens, one a step. */
  promptChunkTokens: 512,
  /** Adapters kept in memory; the least recently used one is read again when it is needed, in milliseconds. */
  adapterCountMax: 16,
  /**
   * Tokens that are computed faster than this leave together: a stream's chunk may hold several, and nobody reads fifty in a
   * second. The first of an answer and its end never wait. With more than 32 requests it is up to four times as long.
   */
  eventIntervalMs: 20,
  /** How long the engine's process may take to load the model, beside the time that reading its files takes. */
  startDeadlineMs: 120_000,
  /** An engine with work that is silent for longer is killed and started again: far above any step. */
  stepDeadlineMs: 300_000,
  /** How long the process may take to end before it is killed. */
  stopDeadlineMs: 10_000,
  /** Restarts within ten minutes after which the engine stays down: what is wrong is then not over by itself. */
  restartCountMax: 5,
};

/** Memory for prompts on their way between servers, of each base model: a quarter of that for keys and values. */
const following = ({ kvCacheBytesMax }: Pick<SettingsOf<typeof schema>, "kvCacheBytesMax">) => ({
  transferBytesMax: Math.floor(kvCacheBytesMax / 4),
});

export const engineSettings = section(schema, fixed, following);

export type EngineSettings = SettingsIn<typeof engineSettings>;
