// What can be known of a text or a constraint without an answer: its tokens, its embedding, and whether it is served.
import { CallGroup } from "./call-group.ts";

const isRepeatable = true;

/** `hone.texts` */
export class TextCalls extends CallGroup {
  /** The tokens of a text, or of a conversation as a chat renders it. */
  readonly tokenize = this.send("POST /tokenize", { isRepeatable });
  /** The text of tokens. */
  readonly detokenize = this.send("POST /detokenize", { isRepeatable });
  /** Whether a constraint is served exactly, and whether values could be an answer. */
  readonly checkConstraint = this.send("POST /v1/preview/structured-outputs/check", { isRepeatable });
}

/** `hone.embeddings` */
export class EmbeddingCalls extends CallGroup {
  /** A vector of length 1 for each input. */
  readonly create = this.send("POST /v1/embeddings", { isRepeatable });
}
