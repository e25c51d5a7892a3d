// For tests: a chat service over an engine that plays a script, and helpers that run requests against it.
import assert from "node:assert/strict";
import type { ChatRecorder } from "../../../base/domain/recordings/chat-recorder.ts";
import { systemClock } from "../../../base/domain/clock.ts";
import type { Constraint } from "../../../base/domain/constraint.ts";
import type {
  ChoiceRequest,
  Engine,
  EngineCapabilities,
  EngineFeature,
  EngineState,
  GeneratedToken,
  GenerationEvent,
  GenerationRequest,
} from "../../../base/domain/generation.ts";
import type { UsageCounter } from "../../../base/domain/keys/usage.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import type { MessageRecord } from "../../../base/domain/trajectory.ts";
import { silentLogger } from "../../../base/telemetry/testing/silent-logger.ts";
import { createMetrics } from "../../../base/telemetry/metrics.ts";
import { loadTokenizer } from "../../../lib/tokenizer/tokenizer.ts";
import { chatRequest, type RequestChanges } from "./chat-request.ts";
import { readCompletion } from "./read-completion.ts";
import { noDefaults } from "./no-defaults.ts";
import { directPrompts } from "./direct-prompts.ts";
import { servedBases } from "./served-bases.ts";
import { plainReplies } from "./plain-replies.ts";
import { createChatService } from "../complete-chat.ts";
import type { ChatService } from "../complete-chat.ts";
import type { ResolvedModel } from "../../models/registry/model-directory.ts";
import type { GenerationDefaults, ServedBase } from "../served-base.ts";

export const folder = "test/fixtures/goldens/models/qwen3";

export const tokenizer = await loadTokenizer(folder);

export const prompts = await directPrompts(folder);

export const endOfText = 2;

/** Batches of events that the engine emits. An error in place of a batch fails the generation. */
export type Script = readonly (readonly GenerationEvent[] | Error)[];

/** An engine that plays a script, batch by batch, and records its requests. */
export class ScriptedEngine implements Engine {
  capabilities: EngineCapabilities;
  readonly limits = { contextLength: 128, vocabularySize: 512 };
  /** Maximum number of tokens: index 0 for a request without beam search, index n for a search with n beams. */
  rooms: readonly number[] = [128, 128, 100, 20];
  readonly requests: GenerationRequest[] = [];
  readonly stopped: number[] = [];
  abortCount = 0;
  state: EngineState = { kind: "ready", limits: this.limits };
  refusal: ServiceError | null = null;
  script: Script;

  constructor(script: Script, features: readonly EngineFeature[] = []) {
    this.script = script;
    this.capabilities = { features: new Set(features), isExact: true, processors: ["p"] };
  }
  start(): Promise<void> {
    return Promise.resolve();
  }
  stop(): Promise<void> {
    return Promise.resolve();
  }
  roomFor(choices: ChoiceRequest): number {
    return this.rooms[choices.kind === "beam" ? choices.width : 0] ?? 0;
  }
  prepareAdapter(): Promise<void> {
    return Promise.resolve();
  }
  dropAdapter(): void {}
  status(): ReturnType<Engine["status"]> {
    return { state: this.state, runningCount: 0, waitingCount: 0, waitingCountMax: 1, gauges: () => [] };
  }
  submit(request: GenerationRequest): ReturnType<Engine["submit"]> {
    if (this.refusal !== null) throw this.refusal;
    this.requests.push(request);
    let reject: (reason: Error) => void = () => undefined;
    const aborted = new Promise<never>((_, rejectPromise) => (reject = rejectPromise));
    aborted.catch(() => undefined);
    const { script } = this;
    async function* play(): AsyncGenerator<readonly GenerationEvent[]> {
      for (const batch of script) {
        await Promise.race([aborted, new Promise((resolve) => setTimeout(resolve, 0))]);
        if (batch instanceof Error) throw batch;
        yield batch;
      }
      if (script.length === 0) await aborted;
    }
    return {
      events: play(),
      stopChoice: (choice) => void this.stopped.push(choice),
      abort: () => {
        this.abortCount += 1;
        reject(new ServiceError({ code: "cancelled", message: "aborted" }));
      },
    };
  }
}

export const prompt: GenerationEvent = { kind: "prompt-computed", cachedTokenCount: 3 };

export const finished = (
  reason: "stop" | "length",
  stopTokenId: number | null = null,
  choice = 0,
): GenerationEvent => ({
  kind: "choice-finished",
  choice,
  reason,
  stopTokenId,
});

export const tokens = (ids: readonly number[], choice = 0): GenerationEvent => ({
  kind: "tokens",
  choice,
  tokens: ids.map(token),
});

export const token = (id: number): GeneratedToken => ({
  id,
  logprob: -0.5,
  alternatives: [{ id: 37, logprob: -0.25 }],
});

export const idsOf = (text: string): readonly number[] => tokenizer.encode(text, { addSpecialTokens: false });

/** Returns a script with one batch per token. The last batch also has the end. */
export const oneByOne = (ids: readonly number[], end: GenerationEvent): Script => [
  [prompt],
  ...ids.map((id, index) => (index === ids.length - 1 ? [tokens([id]), end] : [tokens([id])])),
];

export const message = (role: string, content: string): MessageRecord => ({ role, content });

export const hello = chatRequest();

export const anyJson: Constraint = {
  kind: "json-object",
  allowsAnyWhitespace: true,
  whitespacePattern: null,
  allowsAdditionalProperties: true,
};

export const base: ResolvedModel = {
  base: "tiny",
  name: "tiny",
  fullName: "tiny",
  fingerprint: "f",
  adapter: null,
  isTrained: false,
  modelId: null,
  step: null,
  projectId: null,
};

export const trained: ResolvedModel = {
  ...base,
  name: "agent",
  adapter: { id: "m:1", folder: "/m/1" },
  isTrained: true,
  modelId: "m",
  step: 1,
  projectId: "acme/games",
};

export const caller = {
  keyId: "k",
  entity: "acme",
  role: "member",
  owner: "o",
  scopes: null,
  project: null,
} as const;

export function serve(
  engine: ScriptedEngine,
  options: Partial<Pick<ServedBase, "prompts" | "replies">> & {
    model?: ResolvedModel;
    defaults?: Partial<GenerationDefaults>;
    isDeleted?: boolean;
    recorder?: ChatRecorder;
    usage?: UsageCounter;
    features?: readonly EngineFeature[];
  } = {},
): ChatService {
  const { model = base, defaults = {} } = options;
  const served: ServedBase = {
    model: { name: "tiny", folder },
    engine,
    prompts: options.prompts ?? prompts,
    tokenizer,
    defaults: { ...noDefaults([endOfText]), ...defaults },
    replies: options.replies ?? plainReplies,
    contextLength: 4096,
  };
  return createChatService({
    directory: {
      resolve: () => Promise.resolve(model),
      adapterFault: async (_model, refusal) =>
        options.isDeleted === true ? new ServiceError({ code: "not_found", message: "deleted" }) : refusal,
    },
    bases: servedBases(served),
    recorder: options.recorder ?? null,
    usage: options.usage ?? null,
    clock: systemClock,
    metrics: createMetrics({ processMetrics: false }),
    logger: silentLogger,
  });
}

/** Runs a request over a script and collects its results. */
export async function check(
  script: Script,
  request: RequestChanges = {},
  options: Parameters<typeof serve>[1] & { readonly features?: readonly EngineFeature[] } = {},
) {
  const engine = new ScriptedEngine(script, options.features);
  const service = serve(engine, options);
  const { signal } = new AbortController();
  const read = await readCompletion(service.begin(chatRequest(request), caller, { signal }));
  assert.equal(service.runningCount, 0);
  const { deltas } = read;
  return {
    engine,
    ...read,
    finishes: deltas.flatMap((delta) =>
      delta.finish === null ? [] : [{ choice: delta.choice, ...delta.finish }],
    ),
    text: (choice = 0) =>
      deltas
        .filter((delta) => delta.choice === choice)
        .map((delta) => delta.text)
        .join(""),
    ids: (choice = 0) => deltas.filter((delta) => delta.choice === choice).flatMap((delta) => delta.tokenIds),
  };
}

/** Runs a request that must be refused before its answer begins, and returns the error. */
export async function refused(
  engine: ScriptedEngine,
  request: RequestChanges = {},
  signal = new AbortController().signal,
  options: Parameters<typeof serve>[1] = {},
): Promise<ServiceError> {
  const beginning = serve(engine, options).begin(chatRequest(request), caller, { signal });
  const error: unknown = await beginning.then(
    ({ header }) => assert.fail(`no error but ${JSON.stringify(header)}`),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof ServiceError, String(error));
  return error;
}

export const beams = (width: number): RequestChanges => ({
  output: { choices: { kind: "beam", width, lengthPenalty: 0.5 } },
});
