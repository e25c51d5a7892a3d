// Error for a model with unusable logits, such as NaN after an overflow in its weights or adapter. An engine does not
// know the model's name, so services above the engine add the name to the error.
import { quoted, ServiceError } from "./service-error.ts";

const type = "broken_model";

/**
 * Returns an `unsupported` error whose fault is at the field `model`.
 *
 * @param name the model's name in the request; null in an engine
 */
export function brokenModel(name: string | null = null, cause?: unknown): ServiceError {
  const model = name === null ? "The model" : `The model ${quoted(name)}`;
  const message = `${model} computed numbers that are not finite, so it cannot answer: its weights or its adapter overflow float32. Use another model or version, or import the adapter again with smaller numbers.`;
  return new ServiceError({
    code: "unsupported",
    faults: [{ location: ["model"], message, type }],
    cause,
  });
}

/** True if the error is a {@link brokenModel}, even after it was sent between processes. */
export function isBrokenModel(error: unknown): error is ServiceError {
  return error instanceof ServiceError && error.faults.some((fault) => fault.type === type);
}
