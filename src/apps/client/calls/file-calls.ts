// Calls for files that are uploaded for training jobs.
import type { FileObject } from "../api.ts";
import type { RequestOptions } from "../connection.ts";
import { CallGroup } from "./call-group.ts";

const all = "/v1/files";
const one = "/v1/files/{file_id}";

/** The call group `hone.files`. */
export class FileCalls extends CallGroup {
  /** Lists files, newest first by default. */
  readonly list = this.pages(`GET ${all}`);
  readonly get = this.call(`GET ${one}`);
  /** Deletes a file. Jobs created from the file keep their copy of its data. */
  readonly delete = this.call(`DELETE ${one}`);

  /**
   * Uploads a file of training data, one JSON object per line. The file is on the server's disk when the promise
   * resolves.
   */
  upload(content: Blob, name: string, options?: RequestOptions): Promise<FileObject> {
    const form = new FormData();
    form.set("purpose", "fine-tune");
    form.set("file", content, name);
    return this.calls.call(`POST ${all}`, {}, { form, ...options });
  }

  /** Streams a file's bytes. */
  content(fileId: string, options?: RequestOptions): Promise<AsyncGenerator<Uint8Array>> {
    return this.calls.bytes(`GET ${one}/content`, { path: { file_id: fileId } }, options);
  }
}
