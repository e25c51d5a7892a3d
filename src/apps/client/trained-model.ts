// A trained model as an object, with its names and its calls.
import type { Checkpoint, ModelCreate, ModelObject, Page, StoredTrajectory } from "./api.ts";
import type { ChatCompletion, ChatCompletionChunk, ChatCompletionRequest } from "./api.ts";
import type { Logged, TrajectoryGroup, TrainingJobCreate } from "./api.ts";
import type { CheckpointCalls } from "./calls/checkpoint-calls.ts";
import type { ChatCalls } from "./calls/generation-calls.ts";
import type { JobCalls } from "./calls/training/job-calls.ts";
import type { RolloutCalls } from "./calls/training/rollout-calls.ts";
import type { ModelCalls } from "./calls/model-calls.ts";
import type { TrajectoryCalls, TrajectoryFilter } from "./calls/trajectory-calls.ts";
import type { Connection, ConnectionOptions, RequestOptions } from "./connection.ts";
import { HoneError } from "./hone-error.ts";
import type { Pages } from "./pages.ts";
import type { Platform } from "./platform.ts";

/** The client that a model uses, such as `Hone`. */
export interface HoneCalls {
  /** Base URL without `/v1`. */
  readonly baseUrl: string;
  readonly apiKey: string | null;
  /** Function that sends requests. */
  readonly fetch: Connection["fetch"];
  readonly platform: Platform;
  readonly chat: ChatCalls;
  readonly checkpoints: CheckpointCalls;
  readonly jobs: JobCalls;
  readonly models: ModelCalls;
  readonly rollouts: RolloutCalls;
  readonly trajectories: TrajectoryCalls;
  /** Returns a client for the same server and key, with other options. */
  with(options: Pick<ConnectionOptions, "fetch" | "timeout">): HoneCalls;
}

type ChatBody = Omit<ChatCompletionRequest, "stream" | "model">;

interface VersionOptions extends RequestOptions {
  readonly step?: number;
}

export class Model {
  readonly hone: HoneCalls;
  /** The server's description of the model when it was registered or found. */
  readonly details: ModelObject;

  constructor(hone: HoneCalls, details: ModelObject) {
    this.hone = hone;
    this.details = details;
  }

  get id(): string {
    return this.details.id;
  }

  /** Model name in chat requests, `entity/project/name`, which means the newest version. */
  get name(): string {
    const { entity, project, name } = this.details;
    return `${entity}/${project}/${name}`;
  }

  /** Name of the base model. */
  get base(): string {
    return this.details.base_model;
  }

  /** Returns the name of the version at a step; without a step, the name that means the newest version. */
  at(step?: number): string {
    return step === undefined ? this.name : `${this.name}:step${step}`;
  }

  /** Returns an answer of the newest version, or of the version at `step`. */
  chat(body: ChatBody, { step, ...options }: VersionOptions = {}): Promise<ChatCompletion> {
    return this.hone.chat.create({ ...body, model: this.at(step) }, options);
  }

  /** Streams an answer of the newest version, or of the version at `step`. */
  stream(body: ChatBody, { step, ...options }: VersionOptions = {}): AsyncGenerator<ChatCompletionChunk> {
    return this.hone.chat.stream({ ...body, model: this.at(step) }, options);
  }

  /**
   * Creates a training job; `hone.jobs.wait` waits until it has made a version.
   *
   * @returns the job's id
   */
  async train(
    groups: readonly TrajectoryGroup[],
    config: TrainingJobCreate["experimental_config"] = {},
    options?: RequestOptions,
  ): Promise<string> {
    const body = { model_id: this.id, trajectory_groups: groups, experimental_config: config };
    return (await this.hone.jobs.create(body, options)).id;
  }

  /**
   * Stores trajectories under a split (`val` by default) and returns their metrics. They are stored for the version
   * `step`. Without `step`, they are stored for the final version if all trajectories name the same one, otherwise for
   * the newest version.
   */
  log(
    groups: readonly TrajectoryGroup[],
    { split, step, ...options }: RequestOptions & { readonly split?: string; readonly step?: number } = {},
  ): Promise<Logged> {
    const body = {
      trajectory_groups: groups,
      ...(split === undefined ? {} : { split }),
      ...(step === undefined ? {} : { step }),
    };
    return this.hone.trajectories.log(this.id, body, options);
  }

  /** Lists the model's stored trajectories. */
  trajectories(
    filter?: TrajectoryFilter,
    options?: RequestOptions,
  ): Pages<StoredTrajectory, Page<StoredTrajectory>> {
    return this.hone.trajectories.list(this.id, filter, options);
  }

  /** Lists the model's versions, oldest first. */
  checkpoints(options?: RequestOptions): Pages<Checkpoint, Page<Checkpoint>> {
    return this.hone.checkpoints.list(this.id, {}, options);
  }
}

/** Options for registering the model if it does not exist yet. */
export type ModelOptions = RequestOptions &
  Omit<ModelCreate, "entity" | "project" | "name" | "base_model" | "return_existing"> & {
    /** Base model to train; if omitted, the model must already exist. */
    readonly base?: string;
  };

/**
 * Registers a model, or returns an existing model of the same name.
 *
 * @param name `project/name`, or `entity/project/name`
 * @throws HoneError `not_found` if the model does not exist and no base is given, `conflict` if it has another base
 * model
 */
export async function findOrCreateModel(
  hone: HoneCalls,
  name: string,
  { base, lora_rank, lora_alpha, target_modules, from, ...options }: ModelOptions = {},
): Promise<Model> {
  const named = partsOf(name);
  if (base === undefined) return new Model(hone, await find(hone, name, options));
  const wish = { lora_rank, lora_alpha, target_modules, from };
  const body = { ...named, ...wish, base_model: base, return_existing: true };
  const details = await hone.models.create(body, options);
  if (details.base_model === base) return new Model(hone, details);
  const message = `${name} has the base model ${details.base_model}, not ${base}; give another name, or that base.`;
  throw new HoneError({ code: "conflict", param: "base", message, body: details });
}

async function find(hone: HoneCalls, name: string, options: RequestOptions): Promise<ModelObject> {
  const found = await hone.models.list(partsOf(name), options).all();
  const [details] = found;
  if (details !== undefined && found.length === 1) return details;
  if (details === undefined) {
    const message = `There is no model ${name}; give a base model to register it, such as { base: "hone-tiny" }.`;
    throw new HoneError({ code: "not_found", param: "base", message });
  }
  const message = `${name} matches ${found.length} models; write entity/project/name.`;
  throw new HoneError({ code: "invalid", param: "name", message });
}

function partsOf(text: string): {
  readonly entity?: string;
  readonly project: string;
  readonly name: string;
} {
  const [name = "", project = "", entity, ...rest] = text.split("/").toReversed();
  if (name === "" || project === "" || rest.length > 0) {
    const message = `The name is ${JSON.stringify(text)}; write project/name, or entity/project/name.`;
    throw new HoneError({ code: "invalid", param: "name", message });
  }
  return { ...(entity === undefined ? {} : { entity }), project, name };
}
