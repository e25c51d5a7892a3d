// Calls for trained models, and for all model names that chat requests accept.
import type { ModelCreate, ModelObject, ServedModel } from "../api.ts";
import type { RequestOptions } from "../connection.ts";
import { CallGroup } from "./call-group.ts";

const all = "/v1/preview/models";
const one = "/v1/preview/models/{model_id}";

/** The call group `hone.models`, for trained models. */
export class ModelCalls extends CallGroup {
  /** Lists models, newest first by default. */
  readonly list = this.pages(`GET ${all}`);
  readonly get = this.call(`GET ${one}`);
  /** Deletes a model with its versions and trajectories, and cancels its jobs. */
  readonly delete = this.call(`DELETE ${one}`);
  /** Accepts the current weights of the base model for all versions that were trained on other weights. */
  readonly acceptBase = this.call(`POST ${one}/accept-base`, { isRepeatable: true });

  /** Registers a model to train; with `return_existing`, returns an existing model of the same name. */
  create(body: ModelCreate, options?: RequestOptions): Promise<ModelObject> {
    const isRepeatable = body.return_existing === true;
    return this.calls.call(`POST ${all}`, { body }, { isRepeatable, ...options });
  }
}

/** The call group `hone.served`, for all model names that chat requests accept. */
export class ServedCalls extends CallGroup {
  /** Returns a description of one model name. */
  readonly get = this.call("GET /v1/models/{model}");
  /** Deletes a trained model by its name, or only the version that the name ends with. */
  readonly delete = this.call("DELETE /v1/models/{model}");
  /** Lists the base models, the default model first. */
  readonly bases = this.call("GET /v1/preview/base-models");
  /** Loads a base model into the server's memory, and returns when it is loaded. Requires an admin key. */
  readonly load = this.call("POST /v1/preview/base-models/{base_model}/load", { isRepeatable: true });
  /** Frees the memory of a base model that no request uses. Requires an admin key. */
  readonly unload = this.call("POST /v1/preview/base-models/{base_model}/unload", { isRepeatable: true });

  /** Lists all model names: base models, trained models, and versions. */
  async list(options?: RequestOptions): Promise<readonly ServedModel[]> {
    return (await this.calls.call("GET /v1/models", {}, options)).data;
  }

  /** Returns at most a hundred names that contain a text: names of versions if the text has a colon. */
  async find(text: string, options?: RequestOptions): Promise<readonly ServedModel[]> {
    return (await this.calls.call("GET /v1/models", { query: { search: text, limit: 100 } }, options)).data;
  }
}
