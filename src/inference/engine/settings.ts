// Settings of the embedded engine: those that the operator can change, and constants that are the same on every server.
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
    about:
      "Number of compute threads for serving, and the same number for training; 0 uses one thread per core.",
    isEssential: true,
    byMachine: ({ coreCount }) => coreCount,
  },
  contextLengthMax: {
    kind: "integer",
    default: 32_768,
    min: 16,
    max: 1_048_576,
    about:
      "Maximum length of prompt and answer together, in tokens. A model with a shorter context keeps its own limit.",
    isEssential: true,
  },
  kvCacheBytesMax: {
    kind: "integer",
    default: 0,
    min: 0,
    max: 2 ** 50,
    about:
      "Maximum size of each base model's KV cache in bytes. 0 allows a quarter of the machine's memory, or of `models.memoryBytes` if that is less.",
    byMachine: ({ memoryBytes, modelBytes = Infinity }) => Math.floor(Math.min(memoryBytes, modelBytes) / 4),
  },
  prefixCachePercent: {
    kind: "integer",
    default: 50,
    min: 0,
    max: 100,
    about:
      "Maximum percentage of the KV cache for the prefix cache, which keeps computed prompts for later requests with the same prefix. Running requests take this memory back when they need it. 0 disables the prefix cache.",
  },
  scheduling: {
    kind: "choice",
    default: "fcfs",
    choices: ["fcfs", "priority"],
    about:
      "Scheduling policy. `fcfs` runs requests in the order of arrival. `priority` runs requests with lower `priority` values first; they also preempt requests with higher values, which resume later where they stopped. With both policies, among requests of the same priority, those of the entity with the smallest share run first. An entity's share is its part of the engine's slots or of the KV cache, whichever is larger. A request preempts one of another entity only if afterwards the other entity's share is still at least as large. vLLM servers must use the same `--scheduling-policy`.",
  },
  waitingCountMax: {
    kind: "integer",
    default: 1024,
    min: 1,
    max: 1_000_000,
    about:
      "Maximum number of requests in the queue of a base model; further requests are refused as overloaded.",
  },
  logitsProcessors: {
    kind: "list",
    default: [],
    about:
      "Additional logits processors that requests can use, each as `name=file`, where the file is a JavaScript module.",
  },
} as const satisfies SettingsSchema;

const fixed = {
  /**
   * Maximum number of draft tokens per row and step; drafts are used only while one or two rows decode. Longer drafts
   * are seldom right; 0 disables drafts.
   */
  draftTokensMax: 7,
  /** Compute device. The server sets another device if it is configured and usable (`device/choose-device.ts`). */
  device: "cpu" as Device,
  /** True if idle work prepares sessions that only some requests need; false if each is prepared at its first use. */
  preparesAhead: true,
  /**
   * Maximum number of choices that are computed at the same time. More would not raise the throughput, because a step
   * already reads the weights only once for all choices.
   */
  slotCountMax: 128,
  /**
   * Maximum number of tokens that one step computes. A higher limit would speed up prompts but delay running streams.
   */
  tokensPerStepMax: 512,
  /**
   * Maximum number of tokens of one prompt that one step computes; longer prompts are computed in parts of this size.
   */
  promptChunkTokens: 512,
  /**
   * Maximum number of adapters in memory. If there are more, the least recently used one is evicted; reading it again
   * takes milliseconds.
   */
  adapterCountMax: 16,
  /**
   * Interval in milliseconds at which the tokens of several steps are sent together, because no reader needs fifty
   * chunks a second. The first token of an answer and its end are sent immediately. With more than 32 requests, the
   * interval is up to four times as long.
   */
  eventIntervalMs: 20,
  /**
   * Deadline in milliseconds for loading the model in the engine's process, in addition to the time for reading its
   * files.
   */
  startDeadlineMs: 120_000,
  /**
   * Deadline in milliseconds. An engine that is busy and reports nothing for this long is killed and restarted; no step
   * takes nearly as long.
   */
  stepDeadlineMs: 300_000,
  /** Time in milliseconds that the engine's process gets to end before it is killed. */
  stopDeadlineMs: 10_000,
  /**
   * Maximum number of restarts within ten minutes. After that the engine stays down, because the fault is not
   * transient.
   */
  restartCountMax: 5,
};

/**
 * Derives a default: prompts that are transferred between servers may take a quarter of the memory for keys and values,
 * per base model.
 */
const following = ({ kvCacheBytesMax }: Pick<SettingsOf<typeof schema>, "kvCacheBytesMax">) => ({
  transferBytesMax: Math.floor(kvCacheBytesMax / 4),
});

export const engineSettings = section(schema, fixed, following);

export type EngineSettings = SettingsIn<typeof engineSettings>;
