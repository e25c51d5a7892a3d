// What can be known of a text or a constraint without an answer: its tokens, its embedding, and whether it is served.
import type { ConstraintCheck, ConstraintCheckRequest, Detokenized, DetokenizeRequest } from "../api.ts";
import type { EmbeddingRequest, Embeddings } from "../api.ts";
import type { Tokenized, TokenizeRequest } from "../api.ts";
import type { RequestOptions } from "../connection.ts";
import { CallGroup } from "./call-group.ts";

const isRepeatable = true;

/** `hone.texts` */
export class TextCalls extends CallGroup {
  /** The tokens of a text, or of a conversation as a chat renders it. */
  tokenize(body: TokenizeRequest, options?: RequestOptions): Promise<Tokenized> {
    return this.calls.value("POST /tokenize", { body }, { isRepeatable, ...options });
  }

  /** The text of tokens. */
  detokenize(body: DetokenizeRequest, options?: RequestOptions): Promise<Detokenized> {
    return this.calls.value("POST /detokenize", { body }, { isRepeatable, ...options });
  }

  /** Whether a constraint is served exactly, and whether values could be an answer. */
  checkConstraint(body: ConstraintCheckRequest, options?: RequestOptions): Promise<ConstraintCheck> {
    const route = "POST /v1/preview/structured-outputs/check";
    return this.calls.value(route, { body }, { isRepeatable, ...options });
  }
}

/** `hone.embeddings` */
export class EmbeddingCalls extends CallGroup {
  /** A vector of length 1 for each input. */
  create(body: EmbeddingRequest, options?: RequestOptions): Promise<Embeddings> {
    return this.calls.value("POST /v1/embeddings", { body }, { isRepeatable, ...options });
  }
}
