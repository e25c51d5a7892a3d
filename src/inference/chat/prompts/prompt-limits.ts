// What bounds the making of a prompt. The same on every server; whoever makes prompt threads in code may give others.

export const promptLimits = {
  /** A model's template renders a conversation in so many milliseconds; one that fills a long context takes a tenth. */
  renderMs: 800,
  /** A rendered prompt is tokenized within so long: ten megabytes of text are, one endless word is not. */
  encodeMs: 10_000,
  /** Longest text or list that rendering may make, in characters or items: what the largest body of a chat holds. */
  renderedCharacters: 16 * 1024 ** 2,
  /** Longest template that a request may bring; those of models have up to 20,000. */
  templateCharacters: 256 * 1024,
  /** Longest text of which only the last tokens are kept, since all of it is tokenized first. */
  cutCharacters: 1024 ** 2,
  /** Prompts of one base model that wait to be rendered, as many as may wait for its engine. */
  waitingMax: 1024,
  waitMs: 30_000,
};

export type PromptLimits = Readonly<typeof promptLimits>;
