// Calls that process a text or a constraint without generating: tokenization, embeddings, and constraint checks.
import { CallGroup } from "./call-group.ts";

const isRepeatable = true;

/** The call group `hone.texts`. */
export class TextCalls extends CallGroup {
  /** Tokenizes a text, or a conversation after applying the chat template. */
  readonly tokenize = this.send("POST /tokenize", { isRepeatable });
  /** Converts tokens to text. */
  readonly detokenize = this.send("POST /detokenize", { isRepeatable });
  /** Checks whether the server enforces a constraint exactly, and which values match it. */
  readonly checkConstraint = this.send("POST /v1/preview/structured-outputs/check", { isRepeatable });
}

/** The call group `hone.embeddings`. */
export class EmbeddingCalls extends CallGroup {
  /** Returns the embedding of each input, as a unit vector. */
  readonly create = this.send("POST /v1/embeddings", { isRepeatable });
}
