// Calls for the versions of a trained model.
import type { Checkpoint } from "../api.ts";
import type { RequestOptions } from "../connection.ts";
import type { Upload } from "../upload.ts";
import { CallGroup } from "./call-group.ts";
import type { AnswerOf, CallOptions, QueryOf } from "./calls.ts";

const all = "/v1/preview/models/{model_id}/checkpoints";
const one = "/v1/preview/models/{model_id}/checkpoints/{step}";

type ExportQuery = QueryOf<`GET ${typeof one}/export`>;

/** The call group `hone.checkpoints`. */
export class CheckpointCalls extends CallGroup {
  /** Lists a model's versions, oldest first by default. */
  readonly list = this.pages(`GET ${all}`);
  readonly get = this.call(`GET ${one}`);
  /** Lists the feedback records that a version was trained on, in the order of the job's groups. */
  readonly sources = this.pages(`GET ${one}/sources`);
  /** Protects a version from deletion until it is unpinned. */
  readonly pin = this.call(`PUT ${one}/pin`);
  readonly unpin = this.call(`DELETE ${one}/pin`);

  /**
   * Deletes versions, except pinned ones and those that an unfinished job started from. The answer lists the versions
   * that were kept.
   */
  delete(
    modelId: string,
    steps: readonly number[],
    options?: RequestOptions,
  ): Promise<AnswerOf<`DELETE ${typeof all}`>> {
    return this.calls.call(`DELETE ${all}`, { path: { model_id: modelId }, body: { steps } }, options);
  }

  /**
   * Streams a version's files as a tar archive: a PEFT folder, the base model with the adapter merged into its weights,
   * or either of them as a GGUF file.
   *
   * @param choice name of the format, or the route's query, which can also choose the number type of a GGUF file
   */
  export(
    modelId: string,
    step: number,
    choice: ExportQuery["format"] | ExportQuery,
    options?: RequestOptions & Pick<CallOptions, "onByteCount">,
  ): Promise<AsyncGenerator<Uint8Array>> {
    const path = { model_id: modelId, step: String(step) };
    const query = typeof choice === "string" ? { format: choice } : choice;
    return this.calls.bytes(`GET ${one}/export`, { path, query }, options);
  }

  /** Imports a PEFT folder, given as a tar archive, as the model's next version. */
  import(modelId: string, archive: Upload, options?: RequestOptions): Promise<Checkpoint> {
    const upload = { type: "application/x-tar", content: archive };
    return this.calls.call(`POST ${all}`, { path: { model_id: modelId } }, { upload, ...options });
  }
}
