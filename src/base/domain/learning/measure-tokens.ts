// A way to measure how likely a model finds a text, for code that is no client.

/**
 * Returns the natural logarithm of each token's probability given the tokens before it; null for the first token.
 *
 * @param model name of a model, with its version
 * @throws ServiceError as the chat service does
 */
export type MeasureTokens = (
  model: string,
  tokenIds: readonly number[],
  options: { readonly signal: AbortSignal },
) => Promise<readonly (number | null)[]>;
