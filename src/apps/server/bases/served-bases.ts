// The served base models. Facts about each base come from the small files in its folder. Its engine is loaded on use
// if it fits in memory (inference/engine/model-swapping), and its text components are opened on use (base-texts).
import { existsSync } from "node:fs";
import { join } from "node:path";
import { present } from "../../../base/domain/assert.ts";
import type { Clock } from "../../../base/domain/clock.ts";
import type { Engine } from "../../../base/domain/generation.ts";
import {
  everyKernel,
  kernelsText,
  type IntegerKernels,
} from "../../../base/domain/kernels/integer-kernels.ts";
import type {
  BaseEngine,
  BaseModel,
  ComputingPlace,
  DeviceChoice,
  EngineOf,
} from "../../../base/domain/model.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { createPromptThreads } from "../../../inference/chat/prompts/prompt-threads.ts";
import {
  readReplyAbilities,
  refuseUnknownModels,
  withMarkIds,
  type TemplateReplies,
} from "../../../inference/chat/reply-abilities.ts";
import {
  readGenerationDefaults,
  type GenerationDefaults,
  type ServedBase,
  type ServedBases,
} from "../../../inference/chat/served-base.ts";
import type { CallFormat } from "../../../inference/chat/tools/call-format.ts";
import { loadCallFormats } from "../../../inference/chat/tools/call-formats.ts";
import { findTemplateGaps } from "../../../inference/chat/template-gaps.ts";
import type { ChatSettings } from "../../../inference/chat/settings.ts";
import type { ConstraintSettings } from "../../../inference/engine/token-masks/settings.ts";
import type { EngineSettings } from "../../../inference/engine/settings.ts";
import { createEmbeddedEngine } from "../../../inference/engine/embedded-engine.ts";
import { machineKernels } from "../../../inference/engine/device/machine-kernels.ts";
import { engineMemory, type EngineMemory } from "../../../inference/engine/model-swapping/memory-need.ts";
import { ModelMemory, type MemoryObserver } from "../../../inference/engine/model-swapping/model-memory.ts";
import { OnDemandEngine } from "../../../inference/engine/model-swapping/on-demand-engine.ts";
import { readyAtStart } from "../../../inference/engine/model-swapping/plan-room.ts";
import type { ListedBase } from "../../../api/wire/models/served-model.ts";
import { RemoteEngine } from "../../../inference/vllm/remote-engine.ts";
import type { RemoteSettings } from "../../../inference/vllm/settings.ts";
import { readModelConfig } from "../../../inference/architectures/config/read-config.ts";
import { mayBeRounded, readPrecision } from "../../../inference/architectures/weights.ts";
import { readServedConfig } from "../../../inference/architectures/config/served-config.ts";
import type { NamedBase } from "../../../inference/models/registry/named-base.ts";
import type { ModelSettings } from "../../../inference/models/registry/settings.ts";
import type { Logger, LogStyle } from "../../../base/telemetry/logger.ts";
import { loadChatTemplate } from "../../../inference/chat-templates/load-chat-template.ts";
import { loadTokenizer } from "../../../lib/tokenizer/tokenizer.ts";
import { withToolsAsText } from "../../../inference/chat-templates/tools-as-text.ts";
import { vocabularyOf } from "../constraints/vocabularies.ts";
import { describeFiles } from "./describe-files.ts";
import { logBase } from "./log-base.ts";
import { createBaseTexts, type BaseTexts } from "./base-texts.ts";
import { failedBase, failedBaseError, type FailedBase } from "./failed-bases.ts";

/** A base model, with everything that is known before its engine and tokenizer are loaded. */
export interface EngineBase {
  readonly model: BaseModel;
  readonly engine: OnDemandEngine;
  readonly texts: BaseTexts;
  readonly defaults: GenerationDefaults;
  readonly replies: TemplateReplies;
  readonly contextLength: number;
  /** Size of the vocabulary: each token id is less than this. */
  readonly vocabularySize: number;
  /** Maximum size of the engine's KV cache in bytes. */
  readonly keyValueBytes: number;
  readonly files: NonNullable<ListedBase["files"]>;
  /** Precision that the engine computes with; absent for float32 on the CPU. */
  readonly precision?: string;
  readonly device: ComputingPlace;
}

interface Options {
  /** Returns the cache folder that belongs to a model's folder. */
  readonly cacheOf: (folder: string) => string;
  readonly settings: {
    readonly chat: ChatSettings;
    readonly engine: EngineSettings;
    readonly constraints: ConstraintSettings;
    readonly models: ModelSettings;
    readonly remote: RemoteSettings;
  };
  /** Device for models computed in float32. */
  readonly device: DeviceChoice;
  readonly observer: MemoryObserver;
  readonly clock: Clock;
  readonly log: LogStyle;
  readonly logger: Logger;
}

interface MeasuredOptions extends Options {
  readonly kernels: IntegerKernels;
}

/** All bases, and the accounting of the memory that they share. */
export interface EngineBases {
  readonly bases: readonly EngineBase[];
  /** Bases that cannot be served. */
  readonly failed: readonly FailedBase[];
  readonly memory: ModelMemory;
}

/**
 * Checks each model folder and creates the base's engine without starting it. A base with broken files is logged and
 * listed as failed.
 *
 * @param models default first
 * @throws ServiceError if settings name models that are not served
 */
export async function createServedBases(
  models: readonly NamedBase[],
  options: Options,
): Promise<EngineBases> {
  refuseUnknownModels(
    models.map(({ name }) => name),
    options.settings.chat,
  );
  const formats = await loadCallFormats(options.settings.chat.toolFormats);
  const memory = sharedMemory(options);
  const failed: FailedBase[] = [];
  const fail = (model: NamedBase, error: unknown): void => {
    const failure = failedBase(model, error);
    options.logger.error({ err: error, model: model.name }, failure.reason);
    failed.push(failure);
  };
  /** Calls `read` for each model that has not failed yet. A model for which it throws is marked as failed. */
  const readEach = <Made>(read: (model: NamedBase) => Made): readonly Made[] =>
    models.flatMap((model) => {
      if (failed.some(({ name }) => name === model.name)) return [];
      try {
        if (model.fault !== undefined) throw model.fault;
        return [read(model)];
      } catch (error) {
        fail(model, error);
        return [];
      }
    });
  const rounded = readEach((model) => ({ model, isRounded: isRounded(model) }));
  const kernels = await kernelsFor(
    rounded.filter((one) => one.isRounded).map(({ model }) => model),
    options,
  );
  const measured = { ...options, kernels };
  const needs = readEach((model) => ({
    model,
    name: model.name,
    ...kindOf(model).memoryNeed(model, measured),
  }));
  const isReady = readyAtStart(needs, memory.bytesMax);
  const make = baseMaker(measured, { memory, formats });
  const bases = await Promise.all(
    needs.map(async ({ model, bytes, keyValueBytes }) => {
      const isDefault = model === models[0];
      try {
        return await make(model, {
          bytes,
          keyValueBytes,
          isReadyAtStart: isReady.has(model.name),
          isDefault,
        });
      } catch (error) {
        fail(model, error);
        return null;
      }
    }),
  );
  return { bases: bases.filter((base) => base !== null), failed, memory };
}

function isRounded({ folder, engine }: BaseModel): boolean {
  return engine.kind === "embedded" && mayBeRounded(folder, engine.quantization ?? "off");
}

/** Measures this machine's kernels and logs them in one line, if any model has quantized weights. */
async function kernelsFor(
  rounded: readonly BaseModel[],
  { cacheOf, logger }: Options,
): Promise<IntegerKernels> {
  if (rounded.length === 0) return everyKernel;
  const kernels = await machineKernels(cacheOf(rounded[0].folder));
  logger.info({ kernels }, `this machine ${kernelsText(kernels)}`);
  return kernels;
}

/** Memory that a base model needs, and its role in the accounting of the memory that all base models share. */
interface Share extends EngineMemory {
  readonly isReadyAtStart: boolean;
  readonly isDefault: boolean;
}

/** Returns a function that creates a base from its folder, without its tokenizer. */
function baseMaker(
  options: MeasuredOptions,
  { memory, formats }: { readonly memory: ModelMemory; readonly formats: readonly CallFormat[] },
): (model: BaseModel, share: Share) => Promise<EngineBase> {
  const { settings, clock, logger } = options;
  return async (model, { bytes, keyValueBytes, isReadyAtStart, isDefault }) => {
    const { endOfTextIds, vocabularySize, ...served } = readServedConfig(model.folder);
    const contextLength = Math.min(served.contextLength, kindOf(model).contextLengthMax(options));
    const [{ defaults, notApplied }, template] = await Promise.all([
      readGenerationDefaults(model.folder, endOfTextIds),
      // Only the prompt threads render templates. The template is loaded here too, so that a broken one is found at
      // the start.
      loadChatTemplate(model.folder, { clock }),
      requireTokenizer(model.folder),
    ]);
    const replies = readReplyAbilities(model, template, settings.chat, formats);
    const toolsAsText = replies.callFormat?.isTaught === true;
    const shown = toolsAsText ? withToolsAsText(template, clock) : template;
    const { weights, device } = kindOf(model).computing(model, options);
    // For a device other than the CPU, reports the device instead of the precision, because the device affects the
    // numbers just as a precision does.
    const precision = device.device === "cpu" ? weights : device.device;
    const unshown = findTemplateGaps(shown);
    logBase(model, { contextLength, precision, device, replies, notApplied, unshown }, logger);
    const texts = createBaseTexts({
      open: async () => {
        const tokenizer = await loadTokenizer(model.folder);
        const allReplies = withMarkIds(replies, tokenizer);
        const vocabulary = vocabularyOf(tokenizer, allReplies.markIds);
        const prompts = createPromptThreads({ folder: model.folder, toolsAsText });
        return { tokenizer, replies: allReplies, vocabulary, prompts };
      },
      refusal: (error) => failedBaseError(failedBase(model, error).reason),
      isOpenAtStart: isReadyAtStart,
      isLoaded: () => engine.isLoaded,
      clock,
    });
    const engine = new OnDemandEngine({
      name: model.name,
      bytes,
      make: () => kindOf(model).make(model, texts, { ...options, vocabularySize }),
      memory,
      isReadyAtStart,
      // Models computed by other servers take no memory on this machine, so evicting them would gain nothing.
      isKept: model.engine.kind !== "embedded" || isDefault,
      onUnloaded: () => texts.letGo(),
      logger,
    });
    const files = describeFiles(model, weights);
    const facts = {
      defaults,
      replies,
      contextLength,
      vocabularySize,
      precision,
      device,
      keyValueBytes,
      files,
    };
    return { model, engine, texts, ...facts };
  };
}

/**
 * Returns the device that computes a model: the requested one if the weights are float32, otherwise the CPU, because
 * other devices compute only float32.
 */
function deviceOf(precision: string | undefined, wanted: DeviceChoice): DeviceChoice {
  if (wanted.device === "cpu" || precision === undefined) return wanted;
  return { device: "cpu", reason: `only the processor computes weights in ${precision}` };
}

/** Checks at the start that a tokenizer exists, because the base reads the tokenizer only at its first use. */
async function requireTokenizer(folder: string): Promise<void> {
  if (existsSync(join(folder, "tokenizer.json"))) return;
  const message = `The model folder ${folder} has no tokenizer.json.`;
  throw new ServiceError({ code: "unsupported", message });
}

/** Returns the bases in the form that requests use. A failed base refuses each request with the reason. */
export function servedBases({ bases, failed }: Pick<EngineBases, "bases" | "failed">): ServedBases {
  return {
    use: async (name) => {
      const { texts: textsOfBase, ...base } = findBase({ bases, failed }, name);
      const { texts, release } = await textsOfBase.use();
      const hold: ServedBase["hold"] = (options) => base.engine.hold(options);
      return { base: { ...base, ...texts, hold }, release };
    },
  };
}

/**
 * Returns the base with this name.
 *
 * @throws ServiceError `unavailable` for a failed base
 */
export function findBase({ bases, failed }: Pick<EngineBases, "bases" | "failed">, name: string): EngineBase {
  const failure = failed.find((one) => one.name === name);
  if (failure !== undefined) throw failedBaseError(failure.reason);
  return present(
    bases.find(({ model }) => model.name === name),
    "the directory names base models of this server only",
  );
}

/** Creates the accounting of the shared memory with the operator's limit; 0 means unlimited. */
function sharedMemory({ settings, clock, observer }: Options): ModelMemory {
  const { memoryBytes, keepAliveSeconds, roomWaitMs, turnMs, pauseMs } = settings.models;
  const limits = {
    bytesMax: memoryBytes || Infinity,
    keepAliveMs: keepAliveSeconds * 1000 || Infinity,
    turnMs,
    pauseMs,
  };
  return new ModelMemory({
    limits,
    waitMs: roomWaitMs,
    waitingCountMax: settings.engine.waitingCountMax,
    clock,
    observer,
  });
}

/** Operations that depend on the kind of a base's engine. */
interface EngineKind<Kind extends BaseEngine["kind"]> {
  /** Returns the memory that the engine needs on this machine. */
  readonly memoryNeed: (base: BaseOf<Kind>, options: MeasuredOptions) => EngineMemory;
  /**
   * Returns the configured maximum number of tokens in prompt and answer; the model's own limit is applied separately.
   */
  readonly contextLengthMax: (options: Options) => number;
  /** Returns the device, and the precision of the weights (undefined for float32). */
  readonly computing: (
    base: BaseOf<Kind>,
    options: MeasuredOptions,
  ) => { readonly weights?: string | undefined; readonly device: ComputingPlace };
  /** Creates the engine without starting it. Call `memoryNeed` first: it throws for a model that cannot be computed. */
  readonly make: (base: BaseOf<Kind>, texts: BaseTexts, options: MakeOptions) => Engine;
}

type BaseOf<Kind extends BaseEngine["kind"]> = BaseModel & { readonly engine: EngineOf<Kind> };

interface MakeOptions extends MeasuredOptions {
  readonly vocabularySize: number;
}

const engineKinds: { readonly [Kind in BaseEngine["kind"]]: EngineKind<Kind> } = {
  embedded: {
    memoryNeed: ({ folder, engine: { quantization = "off" } }, { settings, kernels }) =>
      engineMemory({ folder, quantization, kernels }, settings.engine),
    contextLengthMax: ({ settings }) => settings.engine.contextLengthMax,
    computing: (base, { device, kernels }) => {
      const weights = precisionOf(base, kernels);
      return { weights, device: deviceOf(weights, device) };
    },
    make: (base, texts, { cacheOf, settings, device, kernels, clock, log, logger }) =>
      createEmbeddedEngine({
        modelFolder: base.folder,
        cacheFolder: cacheOf(base.folder),
        quantization: base.engine.quantization,
        vocabulary: async () => {
          const { texts: used, release } = await texts.use();
          release();
          return used.vocabulary;
        },
        settings: { ...settings.engine, device: deviceOf(precisionOf(base, kernels), device).device },
        constraints: settings.constraints,
        clock,
        logger: logger.child({ model: base.name }),
        log,
      }),
  },
  vllm: {
    memoryNeed: () => ({ bytes: 0, keyValueBytes: 0 }),
    contextLengthMax: () => Infinity,
    computing: () => ({ device: { device: "vllm", reason: "" } }),
    make: ({ name, engine: { urls } }, _texts, { settings, vocabularySize, clock, logger }) =>
      new RemoteEngine({
        urls,
        vocabularySize,
        settings: settings.remote,
        waitingCountMax: settings.engine.waitingCountMax,
        clock,
        logger: logger.child({ model: name }),
      }),
  },
};

/** Safe cast: the operations match the kind of the base's engine, which the type cannot express. */
function kindOf(model: BaseModel): EngineKind<BaseEngine["kind"]> {
  return engineKinds[model.engine.kind] as EngineKind<BaseEngine["kind"]>;
}

function precisionOf(
  { folder, engine: { quantization = "off" } }: Pick<BaseOf<"embedded">, "folder" | "engine">,
  kernels: IntegerKernels,
): string | undefined {
  return readPrecision(folder, readModelConfig(folder), { quantization, kernels });
}
