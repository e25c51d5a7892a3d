// Files that jobs can be made of.
import type { FileObject, Page } from "../api.ts";
import type { RequestOptions } from "../connection.ts";
import type { Pages } from "../pages.ts";
import { CallGroup } from "./call-group.ts";
import type { AnswerOf, QueryOf } from "./calls.ts";

const all = "/v1/files";
const one = "/v1/files/{file_id}";

/** `hone.files` */
export class FileCalls extends CallGroup {
  /** Conversations, one a line as JSON; the file is on disk when this resolves. */
  upload(content: Blob, name: string, options?: RequestOptions): Promise<FileObject> {
    const form = new FormData();
    form.set("purpose", "fine-tune");
    form.set("file", content, name);
    return this.calls.value(`POST ${all}`, {}, { form, ...options });
  }

  /** The newest first unless asked. */
  list(
    query: QueryOf<`GET ${typeof all}`> = {},
    options?: RequestOptions,
  ): Pages<FileObject, Page<FileObject>> {
    return this.calls.pages(`GET ${all}`, { query }, options);
  }

  get(fileId: string, options?: RequestOptions): Promise<FileObject> {
    return this.calls.value(`GET ${one}`, { path: { file_id: fileId } }, options);
  }

  /** Jobs that were made of it keep what they train on. */
  delete(fileId: string, options?: RequestOptions): Promise<AnswerOf<`DELETE ${typeof one}`>> {
    return this.calls.value(`DELETE ${one}`, { path: { file_id: fileId } }, options);
  }

  /** Its bytes, as they come. */
  content(fileId: string, options?: RequestOptions): Promise<AsyncGenerator<Uint8Array>> {
    return this.calls.bytes(`GET ${one}/content`, { path: { file_id: fileId } }, options);
  }
}
