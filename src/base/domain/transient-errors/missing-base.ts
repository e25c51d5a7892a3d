// What is said where a base model is missing, or has other weights than those that a version was trained over: the same name
// for another base would be another answer.
import { type ModelVersion, type RecordedBase, shownBase } from "../model.ts";
import { ServiceError } from "../service-error.ts";

/** What a job waits for where no server was started with its base. */
export function missingBaseError(baseModel: string): ServiceError {
  return missing(
    `The base model ${JSON.stringify(baseModel)} is not served now; start a server with --model, and the job goes on.`,
  );
}

/** Where its folder is empty or gone, as that of a disk that is not mounted. */
export function missingFilesError(baseModel: string): ServiceError {
  return missing(
    `The files of the base model ${JSON.stringify(baseModel)} are not where they were; put them back, and the job goes on.`,
  );
}

/** What is wrong with such a version; goes on behind its name. */
export function otherWeights(recorded: RecordedBase, weights: string): string {
  return (
    `was trained over other weights of its base model (${shownBase(recorded)}) than this server has under that name ` +
    `(${shownBase(weights)}), and would answer otherwise with them. Serve the earlier weights, or accept those of now for ` +
    "the model (`hone models accept-base`)."
  );
}

/** What an engine says of an adapter that is such a version's. */
export function overOtherWeights(recorded: RecordedBase, weights: string): ServiceError {
  return new ServiceError({ code: "conflict", message: `It ${otherWeights(recorded, weights)}` });
}

/** What a job waits for that starts from such a version. */
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
