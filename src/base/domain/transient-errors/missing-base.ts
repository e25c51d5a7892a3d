// Errors for a missing base model, and for a version that was trained with other weights than the base model has now.
// To serve such a version would change its answers.
import { type ModelVersion, type RecordedBase, shownBase } from "../model.ts";
import { ServiceError } from "../service-error.ts";

/** Returns the error of a job that waits until a server has its base model. */
export function missingBaseError(baseModel: string): ServiceError {
  return missing(
    `The base model ${JSON.stringify(baseModel)} is not served now; start a server with --model, and the job goes on.`,
  );
}

/** Returns the error for a model whose folder is missing or empty, as on a disk that is not mounted. */
export function missingFilesError(baseModel: string): ServiceError {
  return missing(
    `The files of the base model ${JSON.stringify(baseModel)} are not where they were; put them back, and the job goes on.`,
  );
}

/**
 * Returns the end of a message that begins with a version's name. It says that the version was trained with other
 * weights.
 */
export function otherWeights(recorded: RecordedBase, weights: string): string {
  return (
    `was trained over other weights of its base model (${shownBase(recorded)}) than this server has under that name ` +
    `(${shownBase(weights)}), and would answer otherwise with them. Serve the earlier weights, or accept those of now for ` +
    "the model (`hone models accept-base`)."
  );
}

/** Returns the error with which an engine refuses the adapter of a version that was trained with other weights. */
export function overOtherWeights(recorded: RecordedBase, weights: string): ServiceError {
  return new ServiceError({ code: "conflict", message: `It ${otherWeights(recorded, weights)}` });
}

/** Returns the error of a job that waits because the version from which it starts was trained with other weights. */
export function waitsForWeights(
  { step, base }: Pick<ModelVersion, "step" | "base">,
  weights: string,
): ServiceError {
  const what = `Version ${step}, which the job starts from, ${otherWeights(base ?? "", weights)}`;
  return missing(`${what} The job then goes on.`);
}

function missing(message: string): ServiceError {
  return new ServiceError({ code: "unavailable", message, obstacle: "missing-base" });
}
