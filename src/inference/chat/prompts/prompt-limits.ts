// Default limits for writing a prompt, the same on every server; programs that embed this module may override them.

export const promptLimits = {
  /**
   * Maximum time to render a conversation with a model's template; a conversation that fills a long context takes a
   * tenth of it.
   */
  renderMs: 800,
  /**
   * Maximum time to tokenize a rendered prompt: enough for ten megabytes of ordinary text, but not for a single word
   * of that length.
   */
  encodeMs: 10_000,
  /**
   * Maximum length of a text or list that rendering may create, in characters or items; equal to the maximum size of a
   * chat request's body.
   */
  renderedCharacters: 16 * 1024 ** 2,
  /** Maximum length of a template in a request; models' templates have up to 20,000 characters. */
  templateCharacters: 256 * 1024,
  /**
   * Maximum length of a text that may be truncated to its last tokens. Limited because all of the text is tokenized
   * before it is truncated.
   */
  cutCharacters: 1024 ** 2,
  /** Maximum number of one base model's prompts that wait for rendering, equal to the length of the engine's queue. */
  waitingMax: 1024,
  waitMs: 30_000,
};

export type PromptLimits = Readonly<typeof promptLimits>;
