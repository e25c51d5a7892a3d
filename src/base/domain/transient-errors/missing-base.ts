// Errors for a missing base model, and for one whose weights differ from those that a version was trained over.
// Serving the version over other weights would change its answers.
import { type ModelVersion, type RecordedBase, shownBase } from "../model.ts";
import { ServiceError } from "../service-error.ts";

/** Error while a job waits for a server with its base model. */
export function missingBaseError(baseModel: string): ServiceError {
  return missing(
    `The base model ${JSON.stringify(baseModel)} is not served now; start a server with --model, and the job goes on.`,
  );
}

/** Error if the model's folder is missing or empty, such as that of an unmounted disk. */
export function missingFilesError(baseModel: string): ServiceError {
  return missing(
    `The files of the base model ${JSON.stringify(baseModel)} are not where they were; put them back, and the job goes on.`,
  );
}

/** Returns what is wrong with such a version; follows its name. */
export function otherWeights(recorded: RecordedBase, weights: string): string {
  return (
    `was trained over other weights of its base model (${shownBase(recorded)}) than this server has under that name ` +
    `(${shownBase(weights)}), and would answer otherwise with them. Serve the earlier weights, or accept those of now for ` +
    "the model (`hone models accept-base`)."
  );
}

/** Error of an engine for an adapter of such a version. */
export function overOtherWeights(recorded: RecordedBase, weights: string): ServiceError {
  return new ServiceError({ code: "conflict", message: `It ${otherWeights(recorded, weights)}` });
}

/** Error while a job that starts from such a version waits. */
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
