// Models: those that are trained, and every name that a chat takes.
import type { ModelCreate, ModelObject, ServedModel } from "../api.ts";
import type { RequestOptions } from "../connection.ts";
import { CallGroup } from "./call-group.ts";

const all = "/v1/preview/models";
const one = "/v1/preview/models/{model_id}";

/** `hone.models`: the models that are trained. */
export class ModelCalls extends CallGroup {
  /** The newest first unless asked. */
  readonly list = this.pages(`GET ${all}`);
  readonly get = this.call(`GET ${one}`);
  /** With its versions and trajectories; its jobs are cancelled. */
  readonly delete = this.call(`DELETE ${one}`);
  /** Has versions that were trained over other weights of the model's base answer over those of now. */
  readonly acceptBase = this.call(`POST ${one}/accept-base`, { isRepeatable: true });

  /** Registers a model to train; with `return_existing` it may be there. */
  create(body: ModelCreate, options?: RequestOptions): Promise<ModelObject> {
    const isRepeatable = body.return_existing === true;
    return this.calls.call(`POST ${all}`, { body }, { isRepeatable, ...options });
  }
}

/** `hone.served`: every name that a chat takes as its model. */
export class ServedCalls extends CallGroup {
  /** What a name stands for. */
  readonly get = this.call("GET /v1/models/{model}");
  /** The names of the base models, the default first. */
  readonly bases = this.call("GET /v1/preview/base-models");

  /** All of them: base models, trained ones, and their versions. */
  async list(options?: RequestOptions): Promise<readonly ServedModel[]> {
    return (await this.calls.call("GET /v1/models", {}, options)).data;
  }
}
