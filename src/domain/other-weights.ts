// The refusal of a version whose base model has other weights now: under the same name, it would answer as it never did.
import { type ModelVersion, type RecordedBase, shownBase } from "./model.ts";
import { ServiceError } from "./service-error.ts";

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
  return new ServiceError({
    code: "unavailable",
    message: `${what} The job then goes on.`,
    obstacle: "missing-base",
  });
}
