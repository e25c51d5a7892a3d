// Calls about the versions of a trained model.
import type { Checkpoint } from "../api.ts";
import type { RequestOptions } from "../connection.ts";
import type { Upload } from "../upload.ts";
import { CallGroup } from "./call-group.ts";
import type { AnswerOf } from "./calls.ts";

const all = "/v1/preview/models/{model_id}/checkpoints";
const one = "/v1/preview/models/{model_id}/checkpoints/{step}";

/** `hone.checkpoints` */
export class CheckpointCalls extends CallGroup {
  /** Lists versions, oldest first by default. */
  readonly list = this.pages(`GET ${all}`);
  readonly get = this.call(`GET ${one}`);
  /** Lists the feedback that a version was trained on, in the order of its job's groups. */
  readonly sources = this.pages(`GET ${one}/sources`);
  /** Keeps a version until it is unpinned. */
  readonly pin = this.call(`PUT ${one}/pin`);
  readonly unpin = this.call(`DELETE ${one}/pin`);

  /** Deletes versions, except pinned ones and those that a job starts from; the answer names them. */
  delete(
    modelId: string,
    steps: readonly number[],
    options?: RequestOptions,
  ): Promise<AnswerOf<`DELETE ${typeof all}`>> {
    return this.calls.call(`DELETE ${all}`, { path: { model_id: modelId }, body: { steps } }, options);
  }

  /**
   * Streams a version's files as a tar archive: a PEFT folder, or the base model with the adapter merged into its
   * weights.
   */
  export(
    modelId: string,
    step: number,
    format: "peft" | "merged",
    options?: RequestOptions,
  ): Promise<AsyncGenerator<Uint8Array>> {
    const path = { model_id: modelId, step: String(step) };
    return this.calls.bytes(`GET ${one}/export`, { path, query: { format } }, options);
  }

  /** Imports a tar archive of a PEFT folder as the model's next version. */
  import(modelId: string, archive: Upload, options?: RequestOptions): Promise<Checkpoint> {
    const upload = { type: "application/x-tar", content: archive };
    return this.calls.call(`POST ${all}`, { path: { model_id: modelId } }, { upload, ...options });
  }
}
