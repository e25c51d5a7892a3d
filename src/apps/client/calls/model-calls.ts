// Models: those that are trained, and every name that a chat takes.
import type { ModelCreate, ModelObject, Page, ServedModel } from "../api.ts";
import type { RequestOptions } from "../connection.ts";
import type { Pages } from "../pages.ts";
import { CallGroup } from "./call-group.ts";
import type { AnswerOf, QueryOf } from "./calls.ts";

const all = "/v1/preview/models";
const one = "/v1/preview/models/{model_id}";

/** `hone.models`: the models that are trained. */
export class ModelCalls extends CallGroup {
  /** Registers a model to train; with `return_existing` it may be there. */
  create(body: ModelCreate, options?: RequestOptions): Promise<ModelObject> {
    const isRepeatable = body.return_existing === true;
    return this.calls.value(`POST ${all}`, { body }, { isRepeatable, ...options });
  }

  /** The newest first unless asked. */
  list(
    query: QueryOf<`GET ${typeof all}`> = {},
    options?: RequestOptions,
  ): Pages<ModelObject, Page<ModelObject>> {
    return this.calls.pages(`GET ${all}`, { query }, options);
  }

  get(modelId: string, options?: RequestOptions): Promise<ModelObject> {
    return this.calls.value(`GET ${one}`, { path: { model_id: modelId } }, options);
  }

  /** With its versions and trajectories; its jobs are cancelled. */
  delete(modelId: string, options?: RequestOptions): Promise<AnswerOf<`DELETE ${typeof one}`>> {
    return this.calls.value(`DELETE ${one}`, { path: { model_id: modelId } }, options);
  }

  /** Has versions that were trained over other weights of the model's base answer over those of now. */
  acceptBase(modelId: string, options?: RequestOptions): Promise<AnswerOf<`POST ${typeof one}/accept-base`>> {
    const input = { path: { model_id: modelId } };
    return this.calls.value(`POST ${one}/accept-base`, input, { isRepeatable: true, ...options });
  }
}

/** `hone.served`: every name that a chat takes as its model. */
export class ServedCalls extends CallGroup {
  /** All of them: base models, trained ones, and their versions. */
  async list(options?: RequestOptions): Promise<readonly ServedModel[]> {
    return (await this.calls.value("GET /v1/models", {}, options)).data;
  }

  /** What a name stands for. */
  get(name: string, options?: RequestOptions): Promise<ServedModel> {
    return this.calls.value("GET /v1/models/{model}", { path: { model: name } }, options);
  }

  /** The names of the base models, the default first. */
  bases(options?: RequestOptions): Promise<readonly string[]> {
    return this.calls.value("GET /v1/preview/base-models", {}, options);
  }
}
