// The object that a rollout function gets. Any library can call the model through it, and these calls belong to one
// rollout on the server. The server records the answers with their tokens, and returns them after the function's end.
import type { OpenAICompatibleProvider } from "@ai-sdk/openai-compatible";
import type { ChatOpenAI, ChatOpenAIFields } from "@langchain/openai";
import type OpenAI from "openai";
import type { ChatCompletion, ChatCompletionRequest } from "../api.ts";
import type { RolloutFinish, RolloutTrajectories, Trajectory } from "../api.ts";
import type { RequestOptions } from "../connection.ts";
import { answeredError, HoneError } from "../hone-error.ts";
import {
  agentsModel,
  aiSdkProvider,
  langChainModel,
  type AgentsModel,
  type LibraryAccess,
} from "./libraries.ts";
import { type Fetch, type JsonObject, type Target, trajectoryFetch } from "./trajectory-fetch.ts";

export interface RecordedTrajectoryOptions {
  /** Function that sends requests. */
  readonly send: (url: string, request: RequestInit) => Promise<Response>;
  readonly server: Target;
  readonly rollout: Target & { readonly apiKey: string };
  readonly rolloutId: string;
  /** Requests to the server about the rollout. */
  readonly calls: {
    readonly read: () => Promise<RolloutTrajectories>;
    readonly finish: (outcome: RolloutFinish) => Promise<unknown>;
    readonly cancel: (options?: RequestOptions) => Promise<unknown>;
  };
  /** Model name of the version to call. */
  readonly model: string;
  /** Returns a new unique id. */
  readonly newId: () => string;
  /** Seed of the trajectory. Requests without a seed get seeds derived from it. */
  readonly seed: number;
  /** Default fields of the model's requests. */
  readonly defaults: JsonObject;
  readonly signal: AbortSignal;
  readonly openAI: (access: LibraryAccess) => OpenAI;
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

/** A conversation of a trajectory. */
export interface RecordedHistory {
  /** Messages, with a Choice in place of each answer that the model generated. */
  readonly items: readonly JsonObject[];
  readonly tools: readonly JsonObject[] | null;
}

export class RecordedTrajectory implements LibraryAccess {
  /** Name of the sub-agent; null for the trajectory itself. */
  readonly name: string | null;
  /** Id of the rollout to which the calls belong. */
  readonly rolloutId: string;
  /** Base URL with `/v1`, for any client. Every model call that is sent to this URL belongs to the rollout. */
  readonly baseURL: string;
  /** Base URL without `/v1`, for Anthropic's clients. */
  readonly anthropicBaseURL: string;
  /** Key of the rollout. It permits only calls of the model. */
  readonly apiKey: string;
  /** Name of the model. If a request names another model, the trajectory's `fetch` sends it outside of the rollout. */
  readonly model: string;
  /** A `fetch` that adds defaults and a seed to calls of the model. */
  readonly fetch: Fetch;
  /** Aborts when the rollout times out or training is stopped. */
  readonly signal: AbortSignal;
  /** Seed of this rollout, the same in every run with the same `seed` option. */
  readonly seed: number;
  readonly #options: RecordedTrajectoryOptions;
  /** Request ids of the answers that this trajectory's own `fetch` received. */
  readonly #answered = new Set<string>();
  readonly #children: RecordedTrajectory[] = [];
  readonly #logs: string[] = [];
  #openai: OpenAI | undefined;
  #trajectory: Trajectory | undefined;

  constructor(options: RecordedTrajectoryOptions, name: string | null = null) {
    const { rollout, rolloutId, model, signal, seed } = options;
    this.#options = options;
    this.name = name;
    this.rolloutId = rolloutId;
    this.baseURL = rollout.baseURL;
    this.anthropicBaseURL = rollout.baseURL.replace(/\/v1$/, "");
    this.apiKey = rollout.apiKey;
    this.model = model;
    this.signal = signal;
    this.seed = seed;
    let nextSeed = seed;
    this.fetch = trajectoryFetch({
      ...options,
      seed: () => (nextSeed = (nextSeed + seedStride) % 2 ** 31),
      onAnswer: (requestId) => void this.#answered.add(requestId),
    });
  }

  /**
   * Returns a chat completion of the model, without any library.
   *
   * @throws HoneError if the server refuses the request
   */
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

  /**
   * Returns a client of the package `openai`.
   *
   * @throws HoneError `missing_package` if the package is missing
   */
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

  /** Returns a trajectory for a sub-agent. It belongs to the same rollout, and gets its reward. */
  readonly child = (name: string): RecordedTrajectory => {
    const seed = (this.seed + 104_729 * (this.#children.length + 1)) % 2 ** 31;
    const child = new RecordedTrajectory({ ...this.#options, seed }, name);
    this.#children.push(child);
    return child;
  };

  /** Adds a readable line to the trajectory's log. */
  readonly log = (line: string): void => void this.#logs.push(line);

  /**
   * Ends the rollout, and reads its calls from the server. Further calls of the model fail. No job trains on the
   * rollout, because the caller trains on the trajectory that `toTrajectory` returns.
   *
   * @throws HoneError as `read`
   */
  async end(): Promise<void> {
    await this.cancel();
    await this.read();
  }

  /**
   * Reads the calls so far from the server.
   *
   * @throws HoneError `nothing_recorded` if the model was not called, or if the server could not keep an answer's
   * tokens
   */
  async read(): Promise<void> {
    const { trajectories, calls_without_tokens: lost } = await this.#options.calls.read();
    if (lost > 0) throw tooLarge(lost);
    const [trajectory] = trajectories;
    if (trajectory === undefined) throw nothingRecorded(this.model);
    this.#trajectory = trajectory;
  }

  /** Ends the rollout with a reward, so that a training job can name it. Further calls of the model fail. */
  async reward(outcome: RolloutFinish): Promise<void> {
    await this.#options.calls.finish(outcome);
  }

  /** Ends the rollout without a reward. Further calls of the model fail. */
  async cancel(options?: RequestOptions): Promise<void> {
    await this.#options.calls.cancel(options);
  }

  /** Histories of the trajectory and its sub-agents, as training jobs accept them; none before `read`. */
  get histories(): readonly RecordedHistory[] {
    if (this.#trajectory === undefined) return [];
    const { messages_and_choices, tools, additional_histories } = this.#trajectory;
    return [{ messages_and_choices, tools }, ...(additional_histories ?? [])].map((history) => ({
      // Safe cast: the server's list of JSON objects.
      items: (history.messages_and_choices ?? []) as readonly JsonObject[],
      tools: history.tools ?? null,
    }));
  }

  /** Number of generated tokens, including those of sub-agents; 0 before `read`. */
  get completionTokens(): number {
    const items = this.histories.flatMap((history) => history.items);
    return items.reduce((sum, { token_ids: ids }) => sum + (Array.isArray(ids) ? ids.length : 0), 0);
  }

  /** Finish reason of each answer, such as `stop` or `length`, including answers of sub-agents; none before `read`. */
  get endings(): readonly string[] {
    const items = this.histories.flatMap((history) => history.items);
    return items.flatMap(({ message, finish_reason: reason }) =>
      message !== undefined && typeof reason === "string" ? [reason] : [],
    );
  }

  /**
   * Ends the rollout, and returns the trajectory as logs and training jobs accept it.
   *
   * @throws HoneError as `end`
   */
  async finish(judged: Judged): Promise<Trajectory> {
    await this.end();
    return this.toTrajectory(judged);
  }

  /** Returns the trajectory as logs and training jobs accept it. Call `end` or `read` first. */
  toTrajectory({ reward, metrics = {}, metadata = {} }: Judged): Trajectory {
    const names = this.histories.map(({ items }) => this.#nameOf(items));
    return {
      ...this.#trajectory,
      reward,
      metrics,
      metadata: {
        rollout_id: this.rolloutId,
        ...metadata,
        ...(names.some((name) => name !== null) && { histories: names }),
      },
      logs: this.#allLogs(),
    };
  }

  /** Returns the name of the sub-agent that made the calls in `items`; null if no sub-agent made them. */
  #nameOf(items: readonly JsonObject[]): string | null {
    if (items.some(({ request_id: id }) => this.#answered.has(String(id)))) return this.name;
    return this.#children.map((child) => child.#nameOf(items)).find((name) => name !== null) ?? null;
  }

  #allLogs(): readonly string[] {
    return [...this.#logs, ...this.#children.flatMap((child) => child.#allLogs())];
  }
}

function nothingRecorded(model: string): HoneError {
  const message = `The rollout made no recorded call. Call the model by trajectory.chat, trajectory.openai, trajectory.aiSdk(), trajectory.langchain() or trajectory.agents(), or give trajectory.baseURL and apiKey to your own client, and ${JSON.stringify(model)} (trajectory.model) as the model.`;
  return new HoneError({ code: "nothing_recorded", param: "model", message });
}

function tooLarge(count: number): HoneError {
  const message = `${count} answers of the rollout were too large for the server to keep their tokens. Send shorter prompts.`;
  return new HoneError({ code: "nothing_recorded", param: "model", message });
}
