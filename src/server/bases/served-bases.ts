// The base models that are served: for each its tokenizer, chat template and defaults, and its engine, which is in memory
// while there is room for it (engine/on-demand).
import { statSync } from "node:fs";
import { unreachable } from "../../domain/assert.ts";
import type { Clock } from "../../domain/clock.ts";
import type { Engine, EngineState } from "../../domain/generation.ts";
import type { BaseEngine, BaseModel } from "../../domain/model.ts";
import type { TokenVocabulary } from "../../domain/vocabulary.ts";
import { createPromptThreads, type PromptThreads } from "../../chat/prompts/prompt-threads.ts";
import { readReplyAbilities, refuseStrangeModels, type ReplyAbilities } from "../../chat/reply-abilities.ts";
import type { ServedBase } from "../../chat/served-base.ts";
import { loadCallFormats } from "../../chat/tools/call-formats.ts";
import { readGenerationDefaults, servedContextLength } from "../../chat/served-base.ts";
import { unshownBy, type Unshown } from "../../chat/template-abilities.ts";
import type { ChatSettings } from "../../chat/settings.ts";
import type { ConstraintSettings } from "../../engine/token-masks/settings.ts";
import type { EngineSettings } from "../../engine/settings.ts";
import { createEmbeddedEngine } from "../../engine/embedded-engine.ts";
import { engineMemoryBytes } from "../../engine/on-demand/memory-need.ts";
import { ModelMemory, type MemoryObserver } from "../../engine/on-demand/model-memory.ts";
import { OnDemandEngine } from "../../engine/on-demand/on-demand-engine.ts";
import { readyAtStart } from "../../engine/on-demand/plan-room.ts";
import type { SharedMemorySettings } from "../../engine/on-demand/settings.ts";
import { licenseOfFolder } from "../../library/licenses.ts";
import { weightFilesOf } from "../../model-files/weight-files.ts";
import { readModelConfig } from "../../model/config/read-config.ts";
import { readPrecision } from "../../model/weights.ts";
import { readServedConfig } from "../../model/config/served-config.ts";
import type { EngineHealth, ListedBase } from "../../http/dependencies.ts";
import type { ModelSettings } from "../../registry/settings.ts";
import type { Logger, LogStyle } from "../../telemetry/logger.ts";
import { loadChatTemplate } from "../../tokenizer/load-chat-template.ts";
import { loadTokenizer } from "../../tokenizer/load-tokenizer.ts";
import { withToolsAsText } from "../../tokenizer/tools-as-text.ts";
import { vocabularyOf } from "../constraints/vocabularies.ts";

/** A served base whose prompts are made in threads. */
export type EngineBase = ServedBase & {
  readonly engine: OnDemandEngine;
  readonly prompts: PromptThreads;
  readonly vocabulary: TokenVocabulary;
  /** Token ids are below it. */
  readonly vocabularySize: number;
  readonly files: ListedBase["files"];
  /** In which precision its engine computes; absent for float32. */
  readonly precision?: string;
};

interface Options {
  /** Where what is computed of a model in a folder is kept. */
  readonly cacheOf: (folder: string) => string;
  readonly settings: {
    readonly chat: ChatSettings;
    readonly engine: EngineSettings;
    readonly constraints: ConstraintSettings;
    readonly models: ModelSettings;
    readonly memory: SharedMemorySettings;
  };
  readonly observer: MemoryObserver;
  readonly clock: Clock;
  readonly log: LogStyle;
  readonly logger: Logger;
}

/** Every base with the memory that they share. */
export interface ServedBases {
  readonly bases: readonly EngineBase[];
  readonly memory: ModelMemory;
}

/**
 * Checks every model folder and builds its engine, which is not started yet.
 *
 * @param models the default first
 */
export async function createServedBases(
  models: readonly BaseModel[],
  options: Options,
): Promise<ServedBases> {
  refuseStrangeModels(
    models.map(({ name }) => name),
    options.settings.chat,
  );
  const formats = await loadCallFormats(options.settings.chat.toolFormats);
  const memory = sharedMemory(options);
  const needs = models.map((model) => ({
    name: model.name,
    bytes: memoryNeeds[model.engine.kind](model, options),
  }));
  const isReady = readyAtStart(needs, memory.bytesMax);
  const bases = await Promise.all(
    models.map(async (model, index) => {
      const { settings, clock, logger } = options;
      const { endOfTextIds, vocabularySize, ...served } = readServedConfig(model.folder);
      const contextLength = Math.min(served.contextLength, settings.engine.contextLengthMax);
      const [tokenizer, { defaults, notApplied }, template] = await Promise.all([
        loadTokenizer(model.folder),
        readGenerationDefaults(model.folder, endOfTextIds),
        // Rendered in the prompt threads; loaded here too, so that a broken one ends the start.
        loadChatTemplate(model.folder, { clock }),
      ]);
      if (notApplied.length > 0) {
        logger.warn({ model: model.name, notApplied }, "generation_config.json asks for what is not applied");
      }
      const replies = readReplyAbilities(model, { template, tokenizer }, settings.chat, formats);
      const { calls, thoughts } = repliesOf(replies);
      logger.info(
        { model: model.name, contextLength, toolCalls: calls, thoughts },
        `${model.name}: context ${contextLength}, tool calls ${calls.format} (${calls.reason}), thoughts ${thoughts.areRead ? "on" : "off"} (${thoughts.reason})`,
      );
      const toolsAsText = replies.callFormat?.isTaught === true;
      const shown = toolsAsText ? withToolsAsText(template, clock) : template;
      logUnshown(unshownBy(shown), model.name, logger);
      const prompts = createPromptThreads({ folder: model.folder, toolsAsText });
      const vocabulary = vocabularyOf(tokenizer, replies.markIds);
      const engine = new OnDemandEngine({
        ...needs[index],
        make: () => engineMakers[model.engine.kind](model, vocabulary, options),
        memory,
        isReadyAtStart: isReady.has(model.name),
        isKept: index === 0 && settings.models.keepDefaultModel === "on",
        logger,
      });
      const hold: ServedBase["hold"] = (holdOptions) => engine.hold(holdOptions);
      const precision = precisions[model.engine.kind](model);
      if (precision !== undefined) {
        const text = `${model.name}: weights are computed with as ${precision}`;
        logger.info({ model: model.name, precision }, text);
      }
      const files = filesOf(model);
      const facts = { defaults, replies, contextLength, vocabularySize, precision, files };
      return { model, engine, hold, prompts, tokenizer, vocabulary, ...facts };
    }),
  );
  return { bases, memory };
}

function filesOf({ folder, license }: BaseModel): ListedBase["files"] {
  return {
    weightBytes: weightFilesOf(folder).reduce((sum, file) => sum + statSync(file).size, 0),
    license: license ?? licenseOfFolder(folder),
  };
}

/** The memory that the bases share, as the operator set it; 0 sets no limit. */
function sharedMemory({ settings, clock, observer }: Options): ModelMemory {
  const { memoryBytes, keepAliveSeconds } = settings.models;
  const { waitMs, turnMs, pauseMs } = settings.memory;
  const limits = {
    bytesMax: memoryBytes || Infinity,
    keepAliveMs: keepAliveSeconds * 1000 || Infinity,
    turnMs,
    pauseMs,
  };
  return new ModelMemory({
    limits,
    waitMs,
    waitingCountMax: settings.engine.waitingCountMax,
    clock,
    observer,
  });
}

/** How much memory of this machine an engine takes. */
const memoryNeeds: {
  readonly [Kind in BaseEngine["kind"]]: (model: BaseModel, options: Options) => number;
} = {
  embedded: ({ folder }, { settings }) => engineMemoryBytes(folder, settings.engine),
};

/** In which precision the engine of a base computes; undefined for float32. */
const precisions: {
  readonly [Kind in BaseEngine["kind"]]: (model: BaseModel) => string | undefined;
} = {
  embedded: ({ folder, engine: { quantization = "off" } }) =>
    quantization === "off" ? undefined : readPrecision(folder, readModelConfig(folder), quantization),
};

/** What makes the engine of a base, which is not started yet; each refuses a folder that it cannot serve. */
const engineMakers: {
  readonly [Kind in BaseEngine["kind"]]: (
    model: BaseModel,
    vocabulary: TokenVocabulary,
    options: Options,
  ) => Engine;
} = {
  embedded: ({ name, folder, engine }, vocabulary, { cacheOf, settings, clock, log, logger }) => {
    // Here, and not only in its process, so that a model which cannot be computed ends the start at once.
    readModelConfig(folder);
    return createEmbeddedEngine({
      modelFolder: folder,
      cacheFolder: cacheOf(folder),
      quantization: engine.quantization,
      vocabulary,
      settings: settings.engine,
      constraints: settings.constraints,
      clock,
      logger: logger.child({ model: name }),
      log,
    });
  },
};

/** What is refused is a warning; many models know no tools, and say nothing of them. */
function logUnshown(unshown: readonly Unshown[], model: string, logger: Logger): void {
  if (unshown.length === 0) return;
  const level = unshown.some(({ isRefused }) => isRefused) ? "warn" : "info";
  const text = unshown.map(({ what }) => what).join("; ");
  logger[level]({ model }, `${model}: of its chat template: ${text}`);
}

/** What lists of models say of it. */
export function listedBase(base: EngineBase): ListedBase {
  return {
    name: base.model.name,
    contextLength: servedContextLength(base),
    vocabularySize: base.vocabularySize,
    isExact: base.engine.capabilities.isExact,
    replies: repliesOf(base.replies),
    presence: presenceOf(base.engine.status().state),
    memoryBytes: base.engine.bytes,
    files: base.files,
  };
}

/** How a model's answers are read, with why, for people. */
function repliesOf({ callFormat, thinks, reasons }: ReplyAbilities): ListedBase["replies"] {
  return {
    calls: { format: callFormat?.name ?? "off", reason: reasons.calls },
    thoughts: { areRead: thinks, reason: reasons.thoughts },
  };
}

/** All engines as one: as well as the worst of them. */
export function engineHealth(bases: readonly EngineBase[]): EngineHealth {
  const order = ["ready", "unloaded", "loading", "starting", "restarting", "stopped", "failed"] as const;
  const all = bases.map(({ model, engine }) => ({ name: model.name, state: engine.status().state }));
  const { name, state } = all.reduce((one, other) =>
    order.indexOf(other.state.kind) > order.indexOf(one.state.kind) ? other : one,
  );
  const models = Object.fromEntries(
    all
      .map((one) => [one.name, presenceOf(one.state)] as const)
      .map(([of, { status, reason }]) => [of, reason === "" ? status : `${status}: ${reason}`]),
  );
  const isWell = state.kind === "ready" || state.kind === "unloaded" || state.kind === "loading";
  return isWell
    ? { state: "ready", reason: "", models }
    : { state: state.kind, reason: `${name}: ${state.reason}`, models };
}

/** Whether a base is in memory, as lists say it. */
function presenceOf(state: EngineState): ListedBase["presence"] {
  switch (state.kind) {
    case "ready":
      return { status: "loaded", reason: "" };
    case "unloaded":
    case "loading":
    case "failed":
      return { status: state.kind, reason: state.reason };
    case "starting":
    case "restarting":
      return { status: "loading", reason: state.reason };
    case "stopped":
      return { status: "unloaded", reason: state.reason };
    default:
      return unreachable(state);
  }
}
