// The object that a rollout function gets. It gives any library access to the model, and records the model's answers.
import type { OpenAICompatibleProvider } from "@ai-sdk/openai-compatible";
import type { ChatOpenAI, ChatOpenAIFields } from "@langchain/openai";
import type OpenAI from "openai";
import type { ChatCompletion, ChatCompletionRequest, Trajectory } from "../api.ts";
import { answeredError, HoneError } from "../hone-error.ts";
import { historiesOf, withSampledTokens, type RecordedHistory } from "./histories.ts";
import {
  agentsModel,
  aiSdkProvider,
  langChainModel,
  type AgentsModel,
  type LibraryAccess,
} from "./libraries.ts";
import type { JsonObject } from "./model-request.ts";
import { recordingFetch, type Fetch, type RecordedCall } from "./recording-fetch.ts";

export interface RecordedTrajectoryOptions {
  /** Function that sends requests. */
  readonly send: (url: string, request: RequestInit) => Promise<Response>;
  /** Base URL with `/v1`. */
  readonly baseURL: string;
  readonly apiKey: string;
  /** Model name of the version to call. */
  readonly model: string;
  /** Step of the version; null if the name means the newest version. */
  readonly step: number | null;
  /** Seed of the trajectory. Requests without a seed get seeds derived from it. */
  readonly seed: number;
  /** Default fields of chat requests. */
  readonly defaults: JsonObject;
  readonly signal: AbortSignal;
  readonly openAI: (access: LibraryAccess) => OpenAI;
  /** Start time in ISO 8601. */
  readonly startedAt: string;
}

/** Result of a rollout. */
export interface Judged {
  readonly reward: number;
  readonly metrics?: Readonly<Record<string, number | boolean>>;
  readonly metadata?: JsonObject;
}

/**
 * Difference between the seeds of consecutive requests, large enough that the seeds of different trajectories rarely
 * coincide.
 */
const seedStride = 7919;

export class RecordedTrajectory implements LibraryAccess {
  /** Name of the sub-agent; null for the trajectory itself. */
  readonly name: string | null;
  /** Base URL with `/v1`, for any client. */
  readonly baseURL: string;
  readonly apiKey: string;
  /** Name of the recorded model. Calls of other models are passed on unrecorded. */
  readonly model: string;
  /** A `fetch` that records calls of the model. */
  readonly fetch: Fetch;
  /** Aborts when the rollout times out or training is stopped. */
  readonly signal: AbortSignal;
  /** Seed of this rollout, the same in every run with the same `seed` option. */
  readonly seed: number;
  readonly #options: RecordedTrajectoryOptions;
  readonly #calls: { readonly request: JsonObject; choices: readonly JsonObject[] }[] = [];
  readonly #children: RecordedTrajectory[] = [];
  readonly #logs: string[] = [];
  #openai: OpenAI | undefined;

  constructor(options: RecordedTrajectoryOptions, name: string | null = null) {
    const { baseURL, apiKey, model, signal, seed, send, defaults } = options;
    this.#options = options;
    this.name = name;
    this.baseURL = baseURL;
    this.apiKey = apiKey;
    this.model = model;
    this.signal = signal;
    this.seed = seed;
    let nextSeed = seed;
    this.fetch = recordingFetch({
      send,
      model,
      defaults,
      seed: () => (nextSeed = (nextSeed + seedStride) % 2 ** 31),
      signal,
      withSampledTokens: (request) => withSampledTokens(request, this.calls),
      onCall: (request) => {
        const call = { request, choices: [] as readonly JsonObject[] };
        this.#calls.push(call);
        return (choices) => void (call.choices = choices);
      },
    });
  }

  /** Returns a chat completion of the model, without any library. @throws HoneError if the server refuses the request */
  readonly chat = async (body: Omit<ChatCompletionRequest, "model" | "stream">): Promise<ChatCompletion> => {
    const response = await this.fetch(`${this.baseURL}/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${this.apiKey}` },
      body: JSON.stringify({ ...body, model: this.model }),
    });
    const text = await response.text();
    if (!response.ok) throw answeredError(response, text);
    // Safe cast: the server's answer to a chat request.
    return JSON.parse(text) as ChatCompletion;
  };

  /** Returns a client of the package `openai`. @throws HoneError `missing_package` if the package is missing */
  get openai(): OpenAI {
    this.#openai ??= this.#options.openAI(this);
    return this.#openai;
  }

  /** Returns a provider of `@ai-sdk/openai-compatible`: `generateText({ model: provider(trajectory.model), … })`. */
  readonly aiSdk = (): Promise<OpenAICompatibleProvider> => aiSdkProvider(this);

  /** Returns a `ChatOpenAI` of `@langchain/openai` with these additional fields. */
  readonly langchain = (fields?: ChatOpenAIFields): Promise<ChatOpenAI> => langChainModel(this, fields);

  /** Returns a model of `@openai/agents`: `new Agent({ model: await trajectory.agents(), … })`. */
  readonly agents = (): Promise<AgentsModel> => agentsModel(this);

  /** Returns a trajectory for a sub-agent. Its histories are separate, but get this trajectory's reward. */
  readonly child = (name: string): RecordedTrajectory => {
    const seed = (this.seed + 104_729 * (this.#children.length + 1)) % 2 ** 31;
    const child = new RecordedTrajectory({ ...this.#options, seed }, name);
    this.#children.push(child);
    return child;
  };

  /** Adds a readable line to the trajectory's log. */
  readonly log = (line: string): void => void this.#logs.push(line);

  /** Answered calls, without those of sub-agents, in the order in which they began. */
  get calls(): readonly RecordedCall[] {
    return this.#calls.filter(({ choices }) => choices.length > 0);
  }

  /** Histories of the trajectory and its sub-agents, in the form for training. */
  get histories(): readonly RecordedHistory[] {
    return this.#named().flatMap(({ histories }) => histories);
  }

  /** Number of generated tokens, including those of sub-agents. */
  get completionTokens(): number {
    const items = this.histories.flatMap((history) => history.items);
    return items.reduce((sum, { token_ids: ids }) => sum + (Array.isArray(ids) ? ids.length : 0), 0);
  }

  /** Finish reason of each answer, such as `stop` or `length`, including answers of sub-agents. */
  get endings(): readonly string[] {
    const items = this.histories.flatMap((history) => history.items);
    return items.flatMap(({ message, finish_reason: reason }) =>
      message !== undefined && typeof reason === "string" ? [reason] : [],
    );
  }

  #named(): readonly { readonly name: string | null; readonly histories: readonly RecordedHistory[] }[] {
    return [
      { name: this.name, histories: historiesOf(this.calls) },
      ...this.#children.flatMap((one) => one.#named()),
    ];
  }

  #allLogs(): readonly string[] {
    return [...this.#logs, ...this.#children.flatMap((child) => child.#allLogs())];
  }

  /**
   * Returns the trajectory in the form for logs and training jobs.
   *
   * @throws HoneError `nothing_recorded` if the model was not called, or if an answer has no tokens
   */
  finish({ reward, metrics = {}, metadata = {} }: Judged): Trajectory {
    const named = this.#named();
    const [main, ...others] = named.flatMap(({ histories }) => histories);
    if (main === undefined) throw nothingRecorded(this.model);
    for (const { items } of [main, ...others]) requireTokens(items, this.model);
    const { step, startedAt } = this.#options;
    const names = named.flatMap(({ name, histories }) => histories.map(() => name));
    return {
      messages_and_choices: main.items,
      tools: main.tools,
      additional_histories: others.map(({ items, tools }) => ({ messages_and_choices: items, tools })),
      reward,
      initial_policy_version: step,
      final_policy_version: step,
      metrics,
      metadata: names.some((name) => name !== null) ? { ...metadata, histories: names } : metadata,
      logs: this.#allLogs(),
      start_time: startedAt,
    };
  }
}

function nothingRecorded(model: string): HoneError {
  const message = `The rollout made no recorded call. Call the model by trajectory.chat, trajectory.openai, trajectory.aiSdk(), trajectory.langchain() or trajectory.agents(), or give trajectory.fetch, baseURL and apiKey to your own client, and ${JSON.stringify(model)} (trajectory.model) as the model.`;
  return new HoneError({ code: "nothing_recorded", param: "model", message });
}

function requireTokens(items: readonly JsonObject[], model: string): void {
  const hasTokens = (item: JsonObject): boolean =>
    !("message" in item) || (Array.isArray(item["token_ids"]) && Array.isArray(item["prompt_token_ids"]));
  if (items.every(hasTokens)) return;
  const message = `An answer of ${model} has no tokens: beam search returns none, nor does a server other than Hone.`;
  throw new HoneError({ code: "nothing_recorded", param: "model", message });
}
