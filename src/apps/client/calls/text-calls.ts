// Calls about a text or a constraint that need no answer: tokens, embeddings, and constraint checks.
import { CallGroup } from "./call-group.ts";

const isRepeatable = true;

/** `hone.texts` */
export class TextCalls extends CallGroup {
  /** Tokenizes a text, or a conversation as a chat renders it. */
  readonly tokenize = this.send("POST /tokenize", { isRepeatable });
  /** Converts tokens to text. */
  readonly detokenize = this.send("POST /detokenize", { isRepeatable });
  /** Checks whether a constraint is served exactly, and whether values match it. */
  readonly checkConstraint = this.send("POST /v1/preview/structured-outputs/check", { isRepeatable });
}

/** `hone.embeddings` */
export class EmbeddingCalls extends CallGroup {
  /** Returns a vector of length 1 for each input. */
  readonly create = this.send("POST /v1/embeddings", { isRepeatable });
}
