// What commands share that have a model trained on the lines of a file: the upload, which is gone again when the job is there,
// and the flags of its steps.
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

/** The flags as a configuration spells them; what was not given is the server's to say. */
export function stepOptions({ batchSize, learningRate, epochs, shuffle }: StepFlags) {
  return {
    ...(batchSize === undefined ? {} : { batch_size: batchSize }),
    ...(learningRate === undefined ? {} : { learning_rate: learningRate }),
    ...(epochs === undefined ? {} : { epochs }),
    shuffle,
  };
}

/** Uploads a file for as long as `create` takes: a job has what it trains on, and a refused file is no use to anybody. */
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

/** Read from the disk as it is sent. */
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

/** For a flag of a command. */
export function positiveNumber(text: string): number {
  const value = Number(text);
  if (Number.isFinite(value) && value > 0) return value;
  throw new InvalidArgumentError("It must be a number above 0.");
}
