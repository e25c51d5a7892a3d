// A model that is trained, as a thing to work with: it knows its names, and the calls that are about it alone.
import type { Checkpoint, ModelCreate, ModelObject, Page, StoredTrajectory } from "./api.ts";
import type { ChatCompletion, ChatCompletionChunk, ChatCompletionRequest } from "./api.ts";
import type { Logged, TrajectoryGroup, TrainingJobCreate } from "./api.ts";
import type { CheckpointCalls } from "./calls/checkpoint-calls.ts";
import type { ChatCalls } from "./calls/generation-calls.ts";
import type { JobCalls } from "./calls/job-calls.ts";
import type { ModelCalls } from "./calls/model-calls.ts";
import type { TrajectoryCalls, TrajectoryFilter } from "./calls/trajectory-calls.ts";
import type { Connection, ConnectionOptions, RequestOptions } from "./connection.ts";
import { HoneError } from "./hone-error.ts";
import type { Pages } from "./pages.ts";
import type { Platform } from "./platform.ts";

/** The client that a model is reached by; a `Hone` is one. */
export interface HoneCalls {
  /** Without `/v1`. */
  readonly baseUrl: string;
  readonly apiKey: string | null;
  /** What every request goes through. */
  readonly fetch: Connection["fetch"];
  readonly platform: Platform;
  readonly chat: ChatCalls;
  readonly checkpoints: CheckpointCalls;
  readonly jobs: JobCalls;
  readonly models: ModelCalls;
  readonly trajectories: TrajectoryCalls;
  /** Returns a client of the same server and key with these options in place of its own. */
  with(options: Pick<ConnectionOptions, "fetch" | "timeout">): HoneCalls;
}

type ChatBody = Omit<ChatCompletionRequest, "stream" | "model">;

interface VersionOptions extends RequestOptions {
  readonly step?: number;
}

export class Model {
  readonly hone: HoneCalls;
  /** As the server answered it when the model was registered or found. */
  readonly details: ModelObject;

  constructor(hone: HoneCalls, details: ModelObject) {
    this.hone = hone;
    this.details = details;
  }

  get id(): string {
    return this.details.id;
  }

  /** `entity/project/name`, which a chat takes as its model: the newest version. */
  get name(): string {
    const { entity, project, name } = this.details;
    return `${entity}/${project}/${name}`;
  }

  /** The name of its base model. */
  get base(): string {
    return this.details.base_model;
  }

  /** The name of one version; without a step of the newest, whichever that is. */
  at(step?: number): string {
    return step === undefined ? this.name : `${this.name}:step${step}`;
  }

  /** An answer of its newest version, or of another one. */
  chat(body: ChatBody, { step, ...options }: VersionOptions = {}): Promise<ChatCompletion> {
    return this.hone.chat.create({ ...body, model: this.at(step) }, options);
  }

  /** The same as it is made. */
  stream(body: ChatBody, { step, ...options }: VersionOptions = {}): AsyncGenerator<ChatCompletionChunk> {
    return this.hone.chat.stream({ ...body, model: this.at(step) }, options);
  }

  /** Creates a training job; `hone.jobs.wait` waits for its version. @returns its id */
  async train(
    groups: readonly TrajectoryGroup[],
    config: TrainingJobCreate["experimental_config"] = {},
    options?: RequestOptions,
  ): Promise<string> {
    const body = { model_id: this.id, trajectory_groups: groups, experimental_config: config };
    return (await this.hone.jobs.create(body, options)).id;
  }

  /**
   * Stores trajectories under a split (`val` unless given); the answer has the metrics of them. They belong to the version
   * `step`, else to the one that all of them name as their final one, else to the newest.
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

  /** Its stored trajectories, one by one. */
  trajectories(
    filter?: TrajectoryFilter,
    options?: RequestOptions,
  ): Pages<StoredTrajectory, Page<StoredTrajectory>> {
    return this.hone.trajectories.list(this.id, filter, options);
  }

  /** Its versions, the oldest first. */
  checkpoints(options?: RequestOptions): Pages<Checkpoint, Page<Checkpoint>> {
    return this.hone.checkpoints.list(this.id, {}, options);
  }
}

/** How a model is registered where it is not there yet. */
export type ModelOptions = RequestOptions &
  Omit<ModelCreate, "entity" | "project" | "name" | "base_model" | "return_existing"> & {
    /** The base model that is trained; without one the model has to be there. */
    readonly base?: string;
  };

/**
 * Registers a model, or finds it where there is one of the name.
 *
 * @param name `project/name`, or `entity/project/name`
 * @throws HoneError `not_found` where there is none and no base was given, `conflict` where it is over another base
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
  const message = `${name} is over the base model ${details.base_model}, not ${base}; give another name, or that base.`;
  throw new HoneError({ code: "conflict", param: "base", message, body: details });
}

async function find(hone: HoneCalls, name: string, options: RequestOptions): Promise<ModelObject> {
  const found = await hone.models.list(partsOf(name), options).all();
  const [details] = found;
  if (details !== undefined && found.length === 1) return details;
  if (details === undefined) {
    const message = `There is no model ${name}; give its base model to have it registered, such as { base: "hone-tiny" }.`;
    throw new HoneError({ code: "not_found", param: "base", message });
  }
  const message = `${name} fits ${found.length} models; give entity/project/name.`;
  throw new HoneError({ code: "invalid", param: "name", message });
}

function partsOf(text: string): {
  readonly entity?: string;
  readonly project: string;
  readonly name: string;
} {
  const [name = "", project = "", entity, ...rest] = text.split("/").toReversed();
  if (name === "" || project === "" || rest.length > 0) {
    const message = `The name is ${JSON.stringify(text)}; give project/name, or entity/project/name.`;
    throw new HoneError({ code: "invalid", param: "name", message });
  }
  return { ...(entity === undefined ? {} : { entity }), project, name };
}
