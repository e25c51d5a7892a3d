// Contract of the code that turns received bytes into a file of an entity.
import type { UploadedFile } from "../../base/domain/uploads/uploaded-file.ts";

/** Uploaded bytes that are stored, but do not belong to a file in the database yet. */
export interface ReceivedFile {
  readonly id: string;
  readonly byteCount: number;
}

export interface FileWriter {
  /**
   * Writes the chunks of an upload as they arrive.
   *
   * @throws ServiceError `too_large`, `unavailable`; errors of reading `content`
   */
  receive(content: AsyncIterable<Uint8Array>): Promise<ReceivedFile>;
  /**
   * Records an upload in the database as a file of the entity. With `lifeSeconds`, the file expires after this time.
   *
   * @param create stores the file's metadata; by default, in the store of files
   * @throws ServiceError `too_large` if the entity's quota is exhausted, `unavailable` if the bytes were removed
   * meanwhile
   */
  keep(
    received: ReceivedFile,
    about: Pick<UploadedFile, "entity" | "name" | "purpose"> & { readonly lifeSeconds?: number | null },
    create?: (file: UploadedFile, entityBytesMax: number) => Promise<void>,
  ): Promise<UploadedFile>;
  /** Removes an upload that will not become a file. */
  discard(received: ReceivedFile): Promise<void>;
}
