// Type of a function that measures how likely a model finds a text. Code inside the server uses it instead of the API.

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
