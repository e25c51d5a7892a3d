// The contract of a logits processor: what a module exports, what it is given, and what it does to scores. The same in
// words for operators is docs/guides/logits-processors.md.
import type { Json, JsonObject } from "../../../base/domain/text/json.ts";
import type { ProcessorModel } from "./processor-model.ts";

/** What a module exports. */
export interface ProcessorModule {
  /** Called once for each request that asks for it; an error that it throws refuses the request with its message. */
  readonly createProcessor: (call: ProcessorCall) => TokenProcessor;
}

/** What a request says of a processor, and which model it is for. */
export interface ProcessorCall {
  readonly args: readonly Json[];
  readonly kwargs: JsonObject;
  /** What the request hands to all its processors. */
  readonly extra: JsonObject;
  readonly model: ProcessorModel;
}

/**
 * Changes the scores of the next token of a choice in place. What it does follows from the context alone: choices of one
 * request share it, and a token may be drawn again. An error that it throws ends the request.
 */
export type TokenProcessor = (context: TokenContext) => void;

export interface TokenContext {
  readonly promptTokenIds: readonly number[];
  readonly answerTokenIds: readonly number[];
  /** One for each token, with the logit bias; negative infinity where the token may not come, which is final. */
  readonly logits: Float32Array;
}
