// Files that jobs can be made of.
import type { FileObject } from "../api.ts";
import type { RequestOptions } from "../connection.ts";
import { CallGroup } from "./call-group.ts";

const all = "/v1/files";
const one = "/v1/files/{file_id}";

/** `hone.files` */
export class FileCalls extends CallGroup {
  /** The newest first unless asked. */
  readonly list = this.pages(`GET ${all}`);
  readonly get = this.call(`GET ${one}`);
  /** Jobs that were made of it keep what they train on. */
  readonly delete = this.call(`DELETE ${one}`);

  /** Conversations, one a line as JSON; the file is on disk when this resolves. */
  upload(content: Blob, name: string, options?: RequestOptions): Promise<FileObject> {
    const form = new FormData();
    form.set("purpose", "fine-tune");
    form.set("file", content, name);
    return this.calls.call(`POST ${all}`, {}, { form, ...options });
  }

  /** Its bytes, as they come. */
  content(fileId: string, options?: RequestOptions): Promise<AsyncGenerator<Uint8Array>> {
    return this.calls.bytes(`GET ${one}/content`, { path: { file_id: fileId } }, options);
  }
}
