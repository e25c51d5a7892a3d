// The contract of a logits processor: the exports of its module, its inputs, and its effect on logits.
// docs/guides/logits-processors.md describes it for operators.
import type { Json, JsonObject } from "../../../base/domain/text/json.ts";
import type { ProcessorModel } from "./processor-model.ts";

/** Exports of a processor's module. */
export interface ProcessorModule {
  /**
   * Called once for each request that names the processor. If it throws, the request is refused with the error's
   * message.
   */
  readonly createProcessor: (call: ProcessorCall) => TokenProcessor;
}

/** A request's arguments for a processor, and data of the model. */
export interface ProcessorCall {
  readonly args: readonly Json[];
  readonly kwargs: JsonObject;
  /** The request's extra arguments, which all of its processors get. */
  readonly extra: JsonObject;
  readonly model: ProcessorModel;
}

/**
 * Changes the logits of a choice's next token in place. If the function throws, the request fails.
 *
 * The changes must depend only on the context: all choices of a request share the function, and a token may be drawn
 * again.
 */
export type TokenProcessor = (context: TokenContext) => void;

export interface TokenContext {
  readonly promptTokenIds: readonly number[];
  readonly answerTokenIds: readonly number[];
  /**
   * Logits, one per token, with the logit bias already added. If the processor sets a logit to negative infinity,
   * nothing that changes these logits afterwards can allow the token again.
   */
  readonly logits: Float32Array;
}
