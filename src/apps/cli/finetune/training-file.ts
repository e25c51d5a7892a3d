// Code shared by commands that train on a file: a temporary upload of the file, and the flags for optimizer steps.
import { openAsBlob } from "node:fs";
import { basename } from "node:path";
import { InvalidArgumentError } from "commander";
import type { Hone } from "../../client/hone.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";

export interface StepFlags {
  readonly batchSize?: number;
  readonly learningRate?: number;
  readonly epochs?: number;
  readonly shuffle: boolean;
}

/** Converts flags to the fields of a job's configuration. The server supplies the defaults for omitted fields. */
export function stepOptions({ batchSize, learningRate, epochs, shuffle }: StepFlags) {
  return {
    ...(batchSize === undefined ? {} : { batch_size: batchSize }),
    ...(learningRate === undefined ? {} : { learning_rate: learningRate }),
    ...(epochs === undefined ? {} : { epochs }),
    shuffle,
  };
}

/**
 * Uploads a file, calls `create` with its id, and deletes the upload. The upload is deleted even if the server refused
 * the job. A created job does not need it, because it has a copy of the data.
 */
export async function withUpload<Result>(
  client: Hone,
  path: string,
  create: (fileId: string) => Promise<Result>,
): Promise<Result> {
  const file = await client.files.upload(await contentOf(path), basename(path));
  try {
    return await create(file.id);
  } finally {
    await client.files.delete(file.id);
  }
}

/** Returns a Blob with a file's content. The file is read only while the Blob is sent. */
async function contentOf(path: string): Promise<Blob> {
  try {
    return await openAsBlob(path);
  } catch (cause) {
    throw new ServiceError({
      code: "invalid",
      message: `${path} cannot be read; check that the file exists.`,
      cause,
    });
  }
}

/** Parses a flag's value as a positive number. */
export function positiveNumber(text: string): number {
  const value = Number(text);
  if (Number.isFinite(value) && value > 0) return value;
  throw new InvalidArgumentError("It must be a number above 0.");
}
