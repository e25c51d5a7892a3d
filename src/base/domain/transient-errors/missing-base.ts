// Errors for a missing base model, and for a version that was trained on other weights than those of the base model.
// Serving such a version would change its answers.
import { type ModelVersion, type RecordedBase, shownBase } from "../model.ts";
import { ServiceError } from "../service-error.ts";

/** Returns the error while a job waits for a server that has its base model. */
export function missingBaseError(baseModel: string): ServiceError {
  return missing(
    `The base model ${JSON.stringify(baseModel)} is not served now; start a server with --model, and the job goes on.`,
  );
}

/** Returns the error if the model's folder is missing or empty, as on an unmounted disk. */
export function missingFilesError(baseModel: string): ServiceError {
  return missing(
    `The files of the base model ${JSON.stringify(baseModel)} are not where they were; put them back, and the job goes on.`,
  );
}

/**
 * Returns the part of a message that says what is wrong with a version on other weights; it follows the version's
 * name.
 */
export function otherWeights(recorded: RecordedBase, weights: string): string {
  return (
    `was trained over other weights of its base model (${shownBase(recorded)}) than this server has under that name ` +
    `(${shownBase(weights)}), and would answer otherwise with them. Serve the earlier weights, or accept those of now for ` +
    "the model (`hone models accept-base`)."
  );
}

/** Returns an engine's error for the adapter of a version on other weights. */
export function overOtherWeights(recorded: RecordedBase, weights: string): ServiceError {
  return new ServiceError({ code: "conflict", message: `It ${otherWeights(recorded, weights)}` });
}

/** Returns the error while a job waits that starts from a version on other weights. */
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
