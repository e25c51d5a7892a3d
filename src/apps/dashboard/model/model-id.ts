// Ids of models. Has no side effects.

/** True if a filter names a model by its id instead of by its name. */
export function isModelId(text: string | undefined): text is string {
  return text !== undefined && /^[0-9a-f-]{36}$/i.test(text);
}
