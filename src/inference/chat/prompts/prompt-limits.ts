// Default limits for writing a prompt, the same on every server; embedders may override them.

export const promptLimits = {
  /** Time to render a conversation with a model's template; a long context takes a tenth of it. */
  renderMs: 800,
  /** Time to tokenize a rendered prompt: enough for ten megabytes of text, but not for one endless word. */
  encodeMs: 10_000,
  /** Longest text or list that rendering may make, in characters or items: the size of a chat's largest body. */
  renderedCharacters: 16 * 1024 ** 2,
  /** Longest template that a request may bring; models' templates have up to 20,000 characters. */
  templateCharacters: 256 * 1024,
  /** Longest text that may be truncated to its last tokens, since all of it is tokenized first. */
  cutCharacters: 1024 ** 2,
  /** Prompts of one base model that may wait for rendering, equal to the engine's queue. */
  waitingMax: 1024,
  waitMs: 30_000,
};

export type PromptLimits = Readonly<typeof promptLimits>;
