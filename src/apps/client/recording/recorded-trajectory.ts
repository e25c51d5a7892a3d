// What a rollout is given: access to the model for whatever library it uses, and the record of all that is said by it.
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
  /** What requests go through. */
  readonly send: (url: string, request: RequestInit) => Promise<Response>;
  /** With `/v1`. */
  readonly baseURL: string;
  readonly apiKey: string;
  /** Name of the version that is called. */
  readonly model: string;
  /** Of that version; null where the name is of whichever is newest. */
  readonly step: number | null;
  /** Of everything random in it; requests that bring no seed get seeds that follow from it. */
  readonly seed: number;
  /** For what requests leave open. */
  readonly defaults: JsonObject;
  readonly signal: AbortSignal;
  readonly openAI: (access: LibraryAccess) => OpenAI;
  /** ISO 8601. */
  readonly startedAt: string;
}

/** How a rollout ended. */
export interface Judged {
  readonly reward: number;
  readonly metrics?: Readonly<Record<string, number | boolean>>;
  readonly metadata?: JsonObject;
}

/** Of requests that follow each other: apart from those of any other trajectory, as far as numbers go. */
const seedStride = 7919;

export class RecordedTrajectory implements LibraryAccess {
  /** Of a sub-agent; null of the trajectory itself. */
  readonly name: string | null;
  /** With `/v1`, for any client. */
  readonly baseURL: string;
  readonly apiKey: string;
  /** The name under which the model is called: calls of any other are passed on, and are no part of the record. */
  readonly model: string;
  /** Records the calls of the model that go through it. */
  readonly fetch: Fetch;
  /** Aborts when the rollout's time is over, or the training is stopped. */
  readonly signal: AbortSignal;
  /** Of everything random in this rollout; the same in a run of the same seed. */
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

  /** An answer of the model, without any library. @throws HoneError where the server refuses */
  readonly chat = async (body: Omit<ChatCompletionRequest, "model" | "stream">): Promise<ChatCompletion> => {
    const response = await this.fetch(`${this.baseURL}/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${this.apiKey}` },
      body: JSON.stringify({ ...body, model: this.model }),
    });
    const text = await response.text();
    if (!response.ok) throw answeredError(response, text);
    // What the route answers.
    return JSON.parse(text) as ChatCompletion;
  };

  /** A client of the package `openai`. @throws HoneError `missing_package` */
  get openai(): OpenAI {
    this.#openai ??= this.#options.openAI(this);
    return this.#openai;
  }

  /** A provider of `@ai-sdk/openai-compatible`: `generateText({ model: provider(trajectory.model), … })`. */
  readonly aiSdk = (): Promise<OpenAICompatibleProvider> => aiSdkProvider(this);

  /** A `ChatOpenAI` of `@langchain/openai`, made with further fields of its own. */
  readonly langchain = (fields?: ChatOpenAIFields): Promise<ChatOpenAI> => langChainModel(this, fields);

  /** A model of `@openai/agents`: `new Agent({ model: await trajectory.agents(), … })`. */
  readonly agents = (): Promise<AgentsModel> => agentsModel(this);

  /** The record of a sub-agent: histories of its own, rewarded with the trajectory that it is part of. */
  readonly child = (name: string): RecordedTrajectory => {
    const seed = (this.seed + 104_729 * (this.#children.length + 1)) % 2 ** 31;
    const child = new RecordedTrajectory({ ...this.#options, seed }, name);
    this.#children.push(child);
    return child;
  };

  /** Keeps a line with the trajectory, for people. */
  readonly log = (line: string): void => void this.#logs.push(line);

  /** The calls that were answered, in the order they began, without those of sub-agents. */
  get calls(): readonly RecordedCall[] {
    return this.#calls.filter(({ choices }) => choices.length > 0);
  }

  /** Its conversations and those of its sub-agents, as they are trained on. */
  get histories(): readonly RecordedHistory[] {
    return this.#named().flatMap(({ histories }) => histories);
  }

  /** Tokens that the model said, those of sub-agents included. */
  get completionTokens(): number {
    const items = this.histories.flatMap((history) => history.items);
    return items.reduce((sum, { token_ids: ids }) => sum + (Array.isArray(ids) ? ids.length : 0), 0);
  }

  /** How each answer of the model ended, such as `stop` or `length`; those of sub-agents included. */
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
   * The trajectory as it is logged and trained on.
   *
   * @throws HoneError `nothing_recorded` where the model was not called, or an answer did not tell its tokens
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
  const message = `The rollout made no call that was recorded. Call the model by trajectory.chat, trajectory.openai, trajectory.aiSdk(), trajectory.langchain() or trajectory.agents(), or give trajectory.fetch, baseURL and apiKey to your own client, and ${JSON.stringify(model)} (trajectory.model) as the model.`;
  return new HoneError({ code: "nothing_recorded", param: "model", message });
}

function requireTokens(items: readonly JsonObject[], model: string): void {
  const hasTokens = (item: JsonObject): boolean =>
    !("message" in item) || (Array.isArray(item["token_ids"]) && Array.isArray(item["prompt_token_ids"]));
  if (items.every(hasTokens)) return;
  const message = `An answer of ${model} did not tell its tokens: beam search does not, and neither does a server that is no Hone.`;
  throw new HoneError({ code: "nothing_recorded", param: "model", message });
}
