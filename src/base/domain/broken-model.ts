// Error for a model whose logits are unusable, such as NaN after an overflow in its weights or adapter. Engines throw
// it without a model name, because they do not know the name. Services that resolved the name add it.
import { quoted, ServiceError } from "./service-error.ts";

const type = "broken_model";

/**
 * Returns the `unsupported` error, at the field `model`.
 *
 * @param name as in the request; null in an engine
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

/** True if an engine threw {@link brokenModel}; also works after the error has passed between processes. */
export function isBrokenModel(error: unknown): error is ServiceError {
  return error instanceof ServiceError && error.faults.some((fault) => fault.type === type);
}
