// The versions of a trained model.
import type { Checkpoint, Page, TrainingSource } from "../api.ts";
import type { RequestOptions } from "../connection.ts";
import type { Pages } from "../pages.ts";
import type { Upload } from "../upload.ts";
import { CallGroup } from "./call-group.ts";
import type { AnswerOf, QueryOf } from "./calls.ts";

const all = "/v1/preview/models/{model_id}/checkpoints";
const one = "/v1/preview/models/{model_id}/checkpoints/{step}";

/** `hone.checkpoints` */
export class CheckpointCalls extends CallGroup {
  /** The oldest first unless asked. */
  list(
    modelId: string,
    query: QueryOf<`GET ${typeof all}`> = {},
    options?: RequestOptions,
  ): Pages<Checkpoint, Page<Checkpoint>> {
    return this.calls.pages(`GET ${all}`, { path: { model_id: modelId }, query }, options);
  }

  get(modelId: string, step: number, options?: RequestOptions): Promise<Checkpoint> {
    return this.calls.value(`GET ${one}`, versionAt(modelId, step), options);
  }

  /** The feedback behind a version that comes from it, in the order of its job's groups. */
  sources(
    modelId: string,
    step: number,
    query: QueryOf<`GET ${typeof one}/sources`> = {},
    options?: RequestOptions,
  ): Pages<TrainingSource, Page<TrainingSource>> {
    return this.calls.pages(`GET ${one}/sources`, { ...versionAt(modelId, step), query }, options);
  }

  /** Those that are pinned, or that a job starts from, stay; the answer says which. */
  delete(
    modelId: string,
    steps: readonly number[],
    options?: RequestOptions,
  ): Promise<AnswerOf<`DELETE ${typeof all}`>> {
    return this.calls.value(`DELETE ${all}`, { path: { model_id: modelId }, body: { steps } }, options);
  }

  /** Keeps a version until it is unpinned. */
  pin(modelId: string, step: number, options?: RequestOptions): Promise<Checkpoint> {
    return this.calls.value(`PUT ${one}/pin`, versionAt(modelId, step), options);
  }

  unpin(modelId: string, step: number, options?: RequestOptions): Promise<Checkpoint> {
    return this.calls.value(`DELETE ${one}/pin`, versionAt(modelId, step), options);
  }

  /** A version's files as a tar archive, as it comes: a PEFT folder, or the base model with the adapter in its weights. */
  export(
    modelId: string,
    step: number,
    format: "peft" | "merged",
    options?: RequestOptions,
  ): Promise<AsyncGenerator<Uint8Array>> {
    return this.calls.bytes(`GET ${one}/export`, { ...versionAt(modelId, step), query: { format } }, options);
  }

  /** Makes a PEFT folder, as a tar archive, the model's next version. */
  import(modelId: string, archive: Upload, options?: RequestOptions): Promise<Checkpoint> {
    const upload = { type: "application/x-tar", content: archive };
    return this.calls.value(`POST ${all}`, { path: { model_id: modelId } }, { upload, ...options });
  }
}

function versionAt(modelId: string, step: number) {
  return { path: { model_id: modelId, step: String(step) } };
}
