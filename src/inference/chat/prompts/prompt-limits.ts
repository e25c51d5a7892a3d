// Default limits for rendering a prompt from a chat template and for tokenizing it. They are the same on every server;
// programs that embed this module may override them.

export const promptLimits = {
  /**
   * Maximum time in milliseconds to render a conversation; for a template in a request, it is processor time. A
   * conversation that fills a long context takes a tenth of this time.
   */
  renderMs: 800,
  /**
   * Maximum time in milliseconds to tokenize a rendered prompt. It is enough for ten megabytes of ordinary text, but
   * not for a single word of that length.
   */
  encodeMs: 10_000,
  /**
   * Maximum length of a text or list that rendering may create, in characters or items. It equals the maximum body size
   * of a chat request.
   */
  renderedCharacters: 16 * 1024 ** 2,
  /** Maximum length of a template in a request, in characters; templates of models have up to 20,000 characters. */
  templateCharacters: 256 * 1024,
  /**
   * Maximum length in characters of a text that may be truncated to its last tokens. It is limited because truncation
   * must first tokenize the whole text.
   */
  cutCharacters: 1024 ** 2,
  /**
   * Maximum number of prompts of one base model that wait to be rendered. It equals the length of the engine's queue.
   */
  waitingMax: 1024,
  waitMs: 30_000,
};

export type PromptLimits = Readonly<typeof promptLimits>;
