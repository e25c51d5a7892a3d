// Metadata of uploads that arrive in parts, as in OpenAI's API, and the contract of the store for it. The parts' bytes
// are artifacts.
import { ServiceError } from "../service-error.ts";
import type { UploadedFile } from "./uploaded-file.ts";

export type UploadState = "pending" | "completed" | "cancelled";

export interface UploadPart {
  readonly id: string;
  readonly byteCount: number;
  readonly createdAt: Date;
}

export interface Upload {
  readonly id: string;
  readonly entity: string;
  /** Name of the file that the upload becomes. */
  readonly name: string;
  readonly purpose: string;
  /** Size of the whole file in bytes, as the client announced it. */
  readonly byteCount: number;
  readonly state: UploadState;
  /** Parts in the order in which they were added. */
  readonly parts: readonly UploadPart[];
  readonly createdAt: Date;
  /** From this time on, a pending upload takes no parts and cannot be completed. */
  readonly expiresAt: Date;
}

/** Limits of the parts of uploads. */
export interface PartLimits {
  /** Maximum number of parts of an upload. */
  readonly countMax: number;
  /** Maximum size in bytes of an upload's parts together. */
  readonly bytesMax: number;
  /** Maximum size in bytes of an entity's files and the parts of its pending uploads together. */
  readonly entityBytesMax: number;
}

export interface UploadStore {
  /** @throws ServiceError `overloaded` if the entity has `pendingMax` pending uploads */
  create(upload: Upload, pendingMax: number): Promise<void>;
  find(id: string): Promise<Upload | null>;
  /**
   * Adds a part to a pending upload, durably.
   *
   * @throws ServiceError `conflict` if the upload is not pending, `too_large` if a limit would be exceeded
   */
  addPart(id: string, part: UploadPart, limits: PartLimits): Promise<void>;
  /**
   * Ends a pending upload and stores the file that it has become, in one transaction.
   *
   * @throws ServiceError `conflict` if the upload is not pending, `too_large` in the same case as for
   * `FileStore.create`
   */
  complete(id: string, file: UploadedFile, entityBytesMax: number): Promise<void>;
  /** @throws ServiceError `conflict` if the upload is not pending at this time */
  cancel(id: string, at: Date): Promise<void>;
  /** Deletes uploads of every state that expired before this time. */
  deleteExpired(before: Date): Promise<void>;
}

/** Returns the error for an upload that no longer takes parts. */
export function notPendingError(upload: Upload | null): ServiceError {
  const state = upload === null ? "deleted" : upload.state === "pending" ? "expired" : upload.state;
  const message = `The upload is ${state}; only a pending upload can be continued or cancelled. Create another upload.`;
  return new ServiceError({ code: "conflict", message });
}
